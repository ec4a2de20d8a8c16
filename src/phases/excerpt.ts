/** What a ticket keeps of an attempt's output; all of it stays in the job's files. */
const MOST = 4096;

export function excerpt(text: string, keep: 'start' | 'end'): string {
  if (text.length <= MOST) return text;
  return keep === 'start' ? `${text.slice(0, MOST)}…` : `…${text.slice(-MOST)}`;
}

/** The last thing that a command said: its last line with the one it belongs to, as errors have their hint below them. */
export function lastWords(text: string): string {
  const lines = text.trimEnd().split('\n');
  const said = lines.slice(
    Math.max(
      lines.findLastIndex((line) => /^\S/.test(line)),
      lines.length - 3,
    ),
  );
  const whole = /^\S/.test(said[0] ?? '') ? said : said.slice(-1);
  return whole
    .map((line) => line.trim())
    .join(' ')
    .replace(/^❌ /, '')
    .slice(0, 300);
}
