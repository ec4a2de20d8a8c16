/** What a ticket keeps of an attempt's output; all of it stays in the job's files. */
const MOST = 4096;

export function excerpt(text: string, keep: 'start' | 'end'): string {
  if (text.length <= MOST) return text;
  return keep === 'start' ? `${text.slice(0, MOST)}…` : `…${text.slice(-MOST)}`;
}
