import { closeSync, existsSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import type { StoredEvent } from '../model/events.ts';
import { notAFile, stateText } from './state-text.ts';

/** Appends a line. Half a line that a crash or a full disk left is ended first, or it would swallow this one. */
export function appendEvent(path: string, event: StoredEvent): void {
  const line = `${JSON.stringify(event)}\n`;
  const fd = openSync(path, 'a+', 0o600);
  try {
    const stat = fstatSync(fd);
    // A pipe that nobody reads would take some, and then hold us up for ever.
    if (!stat.isFile()) throw notAFile(path);
    const { size } = stat;
    const last = Buffer.alloc(1);
    if (size > 0) readSync(fd, last, 0, 1, size - 1);
    writeFileSync(fd, size === 0 || last.toString() === '\n' ? line : `\n${line}`);
  } finally {
    closeSync(fd);
  }
}

export function readEvents(path: string): StoredEvent[] {
  if (!existsSync(path)) return [];
  return stateText(path)
    .split('\n')
    .flatMap((line) => parseEvent(line) ?? []);
}

/** Half a line was never an event. */
function parseEvent(line: string): StoredEvent | undefined {
  if (!line.endsWith('}')) return undefined;
  try {
    return JSON.parse(line) as StoredEvent;
  } catch {
    return undefined;
  }
}
