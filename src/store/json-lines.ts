import { closeSync, existsSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { notAFile, stateText } from './state-text.ts';

/** Appends each value as a line. Half a line that a crash or a full disk left is ended first, so that it swallows nothing. */
export function appendLines(path: string, values: readonly object[]): void {
  if (values.length === 0) return;
  const text = values.map((value) => `${JSON.stringify(value)}\n`).join('');
  const fd = openSync(path, 'a+', 0o600);
  try {
    const stat = fstatSync(fd);
    // A pipe that no process reads would take some bytes and then block for ever.
    if (!stat.isFile()) throw notAFile(path);
    const last = Buffer.alloc(1);
    if (stat.size > 0) readSync(fd, last, 0, 1, stat.size - 1);
    writeFileSync(fd, stat.size === 0 || last.toString() === '\n' ? text : `\n${text}`);
  } finally {
    closeSync(fd);
  }
}

/** The values of all whole lines. */
export function readLines<T>(path: string): T[] {
  if (!existsSync(path)) return [];
  return stateText(path)
    .split('\n')
    .flatMap((line) => parseLine<T>(line) ?? []);
}

function parseLine<T>(line: string): T | undefined {
  if (!line.endsWith('}')) return undefined;
  try {
    return JSON.parse(line) as T;
  } catch {
    return undefined;
  }
}
