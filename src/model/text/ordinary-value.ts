/** Signs that stand between the words of a setting: `us-east-1`, `text/plain;charset=utf-8`. */
const BETWEEN = /[\s\-_.,:;/\\=@+#%&|()[\]{}"'<>!?*~$^]+/;

/** A word, also as part of a name in camel case; longer ones are no words. */
const WORD = /^(?:\p{Lu}{1,20}|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]{0,19}(?:\p{Lu}+[\p{Ll}\p{M}]{2,19})*)$/u;
/** A number, a date or a size, and what versions and models are called: `4o`, `v2`, `qwen3`, `8x7b`, `01T12`. */
const NUMBER = /^(?:\d{1,8}[a-z]{0,3}|[a-z]{1,5}\d{1,3}[a-z]?|\d{1,3}[a-z]{1,2}\d{1,3}[a-z]?)$/i;

const ONE_CASE = /^(?:[^A-Z]*|[^a-z]*|[A-Z][^A-Z]*)$/;

const MODEL =
  /^(?:[a-z-]+[/.])*(?:claude|gpt|gemini|codex|llama|mistral|mixtral|codestral|devstral|qwen|deepseek|grok|kimi|glm|gemma|phi)\d?[-.:\w@/]{0,60}$/i;
const PATH = /^(?:~|\.{0,2}\/|[A-Za-z]:\\|\$\{?[A-Z])/;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/[^\s@]*$/i;
const ASKED_WITH = /[?&][\w-]*(?:token|key|secret|sig|signature|password|auth|code)=/i;

/** Whether a setting is what anybody may read: a place, an address, a number, a model, or words and short numbers. */
export function isOrdinaryValue(value: string): boolean {
  if (/\s/.test(value) || PATH.test(value) || MODEL.test(value) || /^[\d.,+-]+$/.test(value)) return true;
  if (ADDRESS.test(value)) return !ASKED_WITH.test(value);
  return value
    .split(BETWEEN)
    .every((piece) => WORD.test(piece) || (NUMBER.test(piece) && ONE_CASE.test(piece)));
}
