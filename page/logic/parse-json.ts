/** Characters that change the order of what is beside them, in JSON as themselves or escaped. Escaped backslashes are stepped over. */
const ORDER = /\\\\|\\u(?:202[a-e]|206[6-9])|[\u202a-\u202e\u2066-\u2069]/gi;

/** JSON of the server. In titles, diffs and questions, what would show text in another order than it has is made visible. */
export function parseJson<T>(text: string): T {
  return JSON.parse(text.replace(ORDER, (found) => (found === '\\\\' ? found : '\ufffd'))) as T;
}
