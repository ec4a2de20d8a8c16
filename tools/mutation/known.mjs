const MEMORY = 'It only decides how much of a long output is kept in memory, and how often that is cut.';
const ALWAYS_THERE = 'The type checker asks for another value, but there always is one.';
const CUT = 'if (tail.length > TAIL * 2) tail = tail.slice(-TAIL);';

/** Changes that no test can or should notice, as the tool names them, with the reason. */
export const KNOWN = {
  'src/agents/custom.ts: tail.length > TAIL * 2 → true': MEMORY,
  'src/agents/custom.ts: tail.length > TAIL * 2 → false': MEMORY,
  'src/agents/custom.ts: tail.length > TAIL * 2 → tail.length >= (TAIL * 2)': MEMORY,
  [`src/agents/custom.ts: TAIL * 2 → TAIL / 2 in ${CUT}`]: MEMORY,
  [`src/agents/custom.ts: 2 → 3 in ${CUT}`]: MEMORY,
  [`src/agents/custom.ts: tail.slice(-TAIL) → tail in ${CUT}`]: MEMORY,
  [`src/agents/custom.ts: -TAIL → TAIL in ${CUT}`]: MEMORY,
  'src/agents/reading/result-block-and-signal.ts: 0 → 1 in const [, ...parts] = text.slice(0, Math.max(0, text.lastIndexOf(CLOSE))).split(OPEN);':
    'The first character of a text is no opening tag.',
  'src/agents/reading/reset-time.ts: …Math.max([0, ]...[...text.matchAll(RATE_LIMI… → []':
    'Without it a text that names no wait gives minus infinity, which is no wait either.',
  'src/agents/reading/reset-time.ts: 0 → 1 in const get = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;':
    ALWAYS_THERE,
};
