// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point
const CONTROLS = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point
const FOREIGN = /\u001b(?!\[(?:0|1|2|22|31|32|33|36|39)m)/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point
const ESCAPE = /\u001b/g;

/** Text of any origin as a terminal may get it: line ends, tabs and our own colours are all that can act on it. */
export function forTerminal(text: string, color: boolean): string {
  return text.replace(CONTROLS, '').replace(color ? FOREIGN : ESCAPE, '');
}
