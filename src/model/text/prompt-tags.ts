/** Signs that a reader may take for the `<` and `/` of a tag. */
const OPENS = '[<\\uff1c\\ufe64\\u2039\\u3008]';
const SLASH = '[/\\\\\\uff0f\\u2044\\u2215\\u29f8]';
/** What can stand between them without being seen. */
const GAP = '[\\s\\p{Cf}\\p{Cc}]*';

/** Text of others that stands between marks such as `<ticket>` and `</ticket>`: it can neither close nor open one. */
export function within(text: string, marks: readonly string[]): string {
  if (marks.length === 0) return text;
  const names = marks.map((mark) => [...mark].map(literally).join('[\\p{Cf}\\p{Cc}]*'));
  const tag = new RegExp(`${OPENS}(?=${GAP}(?:${SLASH}${GAP})*(?:${names.join('|')}))`, 'giu');
  return text.replace(tag, '&lt;');
}

function literally(sign: string): string {
  return sign.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
