/** Of plan and ticket files; newer ones are refused. */
export const SCHEMA_VERSION = 1;
