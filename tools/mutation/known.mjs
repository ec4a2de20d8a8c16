/** Changes that no test can or should notice, as the tool names them, with the reason. */
export const KNOWN = {};
