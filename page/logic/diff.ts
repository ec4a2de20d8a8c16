export interface DiffLine {
  kind: 'same' | 'added' | 'removed' | 'hunk' | 'note';
  text: string;
  before: number | null;
  after: number | null;
}

export interface DiffFile {
  name: string;
  /** How git calls the change: `new file`, `deleted file`, `renamed`; empty for a plain one. */
  change: string;
  added: number;
  removed: number;
  lines: DiffLine[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The files of a unified diff as git prints it. */
export function filesOf(text: string): DiffFile[] {
  const files: DiffFile[] = [];
  let file: DiffFile | undefined;
  let [before, after, left, right] = [0, 0, 0, 0];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  for (const line of text.replaceAll(/\u001b\[[\d;]*m/g, '').split('\n')) {
    if (left === 0 && right === 0 && line.startsWith('diff --git ')) {
      file = { name: nameIn(line), change: '', added: 0, removed: 0, lines: [] };
      files.push(file);
      continue;
    }
    if (!file) continue;
    const hunk = left === 0 && right === 0 ? HUNK.exec(line) : null;
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[3])];
      [left, right] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      file.lines.push({ kind: 'hunk', text: line, before: null, after: null });
    } else if (line.startsWith('\\')) {
      file.lines.push({ kind: 'note', text: line.slice(2), before: null, after: null });
    } else if (left > 0 || right > 0) {
      const sign = line[0] ?? ' ';
      const body = line.slice(1);
      if (sign === '+') {
        file.lines.push({ kind: 'added', text: body, before: null, after: after++ });
        file.added++;
        right--;
      } else if (sign === '-') {
        file.lines.push({ kind: 'removed', text: body, before: before++, after: null });
        file.removed++;
        left--;
      } else {
        file.lines.push({ kind: 'same', text: body, before: before++, after: after++ });
        left--;
        right--;
      }
    } else readHead(file, line);
  }
  return files;
}

/** Lines between the first one of a file and its first hunk. */
function readHead(file: DiffFile, line: string): void {
  if (line.startsWith('new file')) file.change = 'new';
  else if (line.startsWith('deleted file')) file.change = 'deleted';
  else if (line.startsWith('rename from ')) file.change = `was ${line.slice('rename from '.length)}`;
  else if (line.startsWith('rename to ')) file.name = line.slice('rename to '.length);
  else if (line.startsWith('Binary files'))
    file.lines.push({ kind: 'note', text: 'A binary file.', before: null, after: null });
}

function nameIn(line: string): string {
  const quoted = /"b\/(.*)"$/.exec(line);
  return quoted?.[1] ?? / b\/(.*)$/.exec(line)?.[1] ?? line;
}
