import type { Stats } from 'node:fs';
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { withOpened } from '../machine/files/read-and-remove-files.ts';
import { InputError } from '../model/errors.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';

/** Far more than any plan, ticket or list of events needs. */
const MAX_FILE_MB = 256;
const LARGEST = MAX_FILE_MB * 1024 * 1024;

/** A constant, because creating this object for each of a thousand calls is slow. */
const AS_TEXT = { encoding: 'utf8', flag: 'r' } as const;

/**
 * The text of a file that planners and people write to. Opening a named pipe would wait for ever, and a device has no
 * end. `plain`: it is known to be a file, so the check is skipped, which saves time with a thousand of them.
 */
export function stateText(path: string, { plain = false } = {}): string {
  const text = plain ? reading(path, () => readFileSync(path, AS_TEXT)) : stateBytes(path).toString();
  // Some editors write a byte order mark.
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** The bytes of the same. */
export function stateBytes(path: string): Buffer {
  const read = (fd: number, stat: Stats) => {
    const odd = reasonNotReadable(stat);
    if (odd)
      throw refused('unreadable', path, `cannot be read: ${odd}`, 'Move it away, or put a file there.');
    return readFileSync(fd);
  };
  return reading(path, () => withOpened(path, read));
}

function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof InputError ? error : unreadable(path, error);
  }
}

/** Why it cannot be read; undefined if it is a regular file of acceptable size. */
function reasonNotReadable(stat: Stats): string | undefined {
  if (stat.isDirectory()) return 'it is a directory';
  if (stat.isFIFO()) return 'it is a named pipe';
  if (!stat.isFile()) return 'it is not a file';
  return stat.size > LARGEST ? `it is larger than ${MAX_FILE_MB} MB` : undefined;
}

export function missing(path: string): InputError {
  return new InputError('state/missing', `${path} does not exist`, { details: { path } });
}

const FREE = 'Move away what is in the way.';
const TROUBLE: Readonly<Record<string, readonly [reason: string, fix: string]>> = {
  EACCES: ['permission denied', 'Give yourself the permission to read and write it.'],
  EPERM: ['permission denied', 'Give yourself the permission to read and write it.'],
  EISDIR: ['it is a directory', FREE],
  ENOTEMPTY: ['it is a directory', FREE],
  ENOTDIR: ['a file is where a directory belongs', FREE],
  ENOENT: ['its directory is gone', 'Put the plan back, or delete what is left of it.'],
  ELOOP: ['its links lead in a circle', FREE],
  ENXIO: ['it is not a file', FREE],
  ENAMETOOLONG: ['its name is too long', 'Choose a shorter one.'],
};

/** The error for a plan's or ticket's file or directory that cannot be read. Only that plan or ticket is affected. */
export function unreadable(path: string, error: unknown): InputError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return missing(path);
  return troubled('unreadable', path, 'cannot be read', error);
}

/** The same for writing; undefined if the whole state directory may not be writable. */
export function unwritable(path: string, error: unknown): InputError | undefined {
  const { code = '' } = error as NodeJS.ErrnoException;
  return TROUBLE[code] && troubled('unwritable', path, 'cannot be written', error);
}

function troubled(kind: string, path: string, what: string, error: unknown): InputError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const [reason, fix] = TROUBLE[code] ?? [code || message, FREE];
  return refused(kind, path, `${what}: ${reason}`, fix);
}

/** Puts the fix into the message, too, because a list of problems shows only messages. */
function refused(kind: string, path: string, what: string, fix: string): InputError {
  return new InputError(`state/${kind}`, `${path} ${what}. ${fix}`, {
    hint: 'Other plans and tickets are not affected.',
    details: { path },
  });
}

/** Appends each value as a line. Ends an incomplete last line first, which a crash or a full disk may have left. */
export function appendLines(path: string, values: readonly object[]): void {
  if (values.length === 0) return;
  const text = values.map((value) => `${JSON.stringify(value)}\n`).join('');
  const fd = openSync(path, 'a+', 0o600);
  try {
    const stat = fstatSync(fd);
    // A pipe that no process reads would take some bytes and then block for ever.
    if (!stat.isFile()) throw refused('unwritable', path, 'cannot be written: it is not a file', FREE);
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
  return valuesOf(stateText(path));
}

function valuesOf<T>(text: string): T[] {
  return text
    .split('\n')
    .flatMap((line) => (line.endsWith('}') ? ((parseJson(line) as T | undefined) ?? []) : []));
}

/** Read at once of a file of lines. */
const PIECE_BYTES = 256 * 1024;
/** A longer line is no event: it is skipped. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** The values of the next whole lines behind a cursor, which is a file and an offset in it. */
export function linesAfter<T>(path: string, cursor: string | undefined): { events: T[]; cursor: string } {
  if (!existsSync(path)) return { events: [], cursor: 'none 0' };
  return reading(path, () => withOpened(path, (fd, stat) => linesOf<T>(fd, stat, cursor)));
}

function linesOf<T>(fd: number, stat: Stats, cursor: string | undefined): { events: T[]; cursor: string } {
  const { ino, size } = stat;
  const [file, offset] = cursor?.split(' ') ?? [];
  // The file was not there when the reader began, or it was replaced: what it has now is new.
  const start = file === String(ino) ? Number(offset) : 0;
  const isKnown = file !== undefined && Number.isInteger(start) && start >= 0 && start <= size;
  if (!isKnown || !stat.isFile()) return { events: [], cursor: `${ino} ${size}` };
  for (let length = PIECE_BYTES; ; length *= 2) {
    const buffer = Buffer.allocUnsafe(Math.min(length, size - start));
    const piece = buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, start));
    const end = piece.lastIndexOf('\n') + 1;
    const isTooLong = end === 0 && piece.length >= MAX_LINE_BYTES;
    if (end === 0 && piece.length === length && !isTooLong) continue;
    const whole = isTooLong ? piece.length : end;
    const events = valuesOf<T>(piece.toString('utf8', 0, whole));
    return { events, cursor: `${ino} ${start + whole}` };
  }
}
