import { cleanLine } from '../model/text/clean.ts';

export interface ProgressEntry {
  iteration: number;
  id: string;
  title: string;
  status: 'Completed' | 'Halted' | 'Failed' | 'Running' | 'Waiting';
  /** ISO time of its end, or of its beginning while it runs. */
  at: string;
  message: string;
}

export interface Progress {
  spec: string;
  /** Where the spec is. */
  path: string;
  startedAt: string;
  entries: readonly ProgressEntry[];
  /** Null while there is work left. */
  completedAt: string | null;
  /** Lines for the end: counts, changes, cost, time. */
  summary: readonly string[];
}

/** One spec's part of SEQUENTIAL_PROGRESS.md, all of it from what is known: nothing is ever appended twice. */
export function renderProgress(progress: Progress): string {
  const entries = progress.entries.map(({ iteration, id, title, status, at, message }) =>
    [
      `## Iteration ${iteration}`,
      '',
      `- **Task:** ${id} - ${cleanLine(title)}`,
      `- **Status:** ${status}`,
      `- **Time:** ${at}`,
      ...(message === '' ? [] : [`- **Message:** ${cleanLine(message, 500)}`]),
    ].join('\n'),
  );
  const end = [
    ...(progress.completedAt === null ? [] : [`**Completed:** ${progress.completedAt}`]),
    ...progress.summary.map((line) => `- ${cleanLine(line, 500)}`),
  ];
  return [
    `# Progress of ${cleanLine(progress.spec)}`,
    `**Spec:** ${cleanLine(progress.path, 1_000)}\n**Started:** ${progress.startedAt}`,
    '---',
    ...entries,
    ...(end.length === 0 ? [] : ['---', end.join('\n')]),
  ].join('\n\n');
}

/** The file with one spec's part replaced, or added at the end. The parts of others stay as they are. */
export function withProgress(text: string | null, name: string, part: string): string {
  const [begin, end] = [`<!-- spec: ${label(name)} -->`, `<!-- end of spec: ${label(name)} -->`];
  const block = `${begin}\n${part.replaceAll('<!--', '<!- -')}\n${end}\n`;
  const old = text ?? '';
  const from = old.indexOf(begin);
  const to = from < 0 ? -1 : old.indexOf(end, from);
  if (from < 0) return old.trim() === '' ? block : `${old.trimEnd()}\n\n${block}`;
  if (to < 0) return `${old.slice(0, from)}${block}`;
  return `${old.slice(0, from)}${block}${old.slice(to + end.length).replace(/^\n/, '')}`;
}

function label(name: string): string {
  return cleanLine(name).replaceAll('--', '- -');
}
