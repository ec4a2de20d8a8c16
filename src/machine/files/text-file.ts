import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { InputError } from '../../model/errors.ts';

const MAX_FILE = 4 * 1024 * 1024;

interface Purpose {
  /** Of the error when the file cannot be used. */
  code: string;
  /** What it is to an agent: "an issue". */
  what: string;
}

/** A text that a person wrote for an agent: UTF-8, bounded, byte order mark kept. */
export async function readTextFile(path: string, purpose: Purpose): Promise<string> {
  const unreadable = (why: string, hint: string, cause?: unknown) =>
    new InputError(purpose.code, `${path} ${why}.`, { hint, cause, details: { file: path } });
  let bytes: Uint8Array;
  try {
    bytes = await readBytes(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? 'unknown error'})`;
    throw unreadable(why, `Check it: ls -l ${path}`, error);
  }
  if (bytes.length > MAX_FILE)
    throw unreadable('is larger than 4 MB', `Shorten it: ${purpose.what} is what an agent has to read.`);
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch (error) {
    throw unreadable('is not UTF-8 text', 'Save it as UTF-8.', error);
  }
  throw unreadable('is not a text file', 'Name a Markdown file.');
}

async function readBytes(path: string): Promise<Uint8Array> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, MAX_FILE) + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file?.close();
  }
}

/** The text of a file of our own; empty while it does not exist. */
export function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
