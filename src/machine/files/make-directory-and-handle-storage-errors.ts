import {
  existsSync,
  lstatSync,
  mkdirSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SignalboxError } from '../../model/errors.ts';
import { ifPossible } from './read-and-remove-files.ts';

/**
 * Creates a directory and its parents, for its owner alone unless another mode is given. One by one: with `recursive`, Node
 * reports "no such file" on a read-only file system, and never returns in `/proc`.
 */
export function makeDirectory(path: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.push(at);
  for (const dir of missing.reverse()) makeOne(dir, path, mode);
}

function makeOne(dir: string, wanted: string, mode: number): void {
  try {
    mkdirSync(dir, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process created it first.
    if (code === 'EEXIST' && existsSync(dir)) return;
    if (code === 'EEXIST' && lstatSync(dir).isSymbolicLink())
      throw cannotCreate(wanted, `${dir} is a link that leads nowhere`, error);
    if (code === 'ENOENT') throw cannotCreate(wanted, `${dirname(dir)} takes no directories`, error);
    if (code === 'ENOTDIR') throw cannotCreate(wanted, `${dirname(dir)} is not a directory`, error);
    throw error;
  }
}

function cannotCreate(path: string, why: string, cause: unknown): SignalboxError {
  return new SignalboxError('state/storage', `Cannot create the directory ${path}: ${why}.`, {
    hint: 'Choose another directory in your settings, or another home with SIGNALBOX_HOME.',
    details: { path },
    cause,
  });
}

const REASONS: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the limit on file sizes is reached',
  EROFS: 'it is on a read-only file system',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  EIO: 'the disk reports an error',
  ESTALE: 'its file system does not answer',
  ENOTCONN: 'its file system does not answer',
};

/** Whether the permission to write is missing. */
export function isForbidden(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** What could not be written, and the setting that names another place for it. */
interface Place {
  name: string;
  setting: string;
}

const STATE: Place = { name: 'the state directory', setting: 'stateDir' };

/** Why nothing can be written: a full or read-only disk, missing rights, no file left to open; undefined for another error. */
export function storageReason(error: unknown): string | undefined {
  return REASONS[(error as NodeJS.ErrnoException).code ?? ''];
}

/** The same for an error that `asStorageError` has explained. */
export function isStorageError(error: unknown): error is SignalboxError {
  return error instanceof SignalboxError && error.code === 'state/storage';
}

/** Explains a full or read-only disk; returns any other error as it is. */
export function asStorageError(error: unknown, root: string, { name, setting } = STATE): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const reason = storageReason(error);
  if (!reason) return error;
  return new SignalboxError('state/storage', `Cannot write ${name} ${root}: ${reason}.`, {
    hint: `The previous state is intact. ${howToFix(code, setting)}, then start again.`,
    details: { path: root },
    cause: error,
  });
}

const shortOfFiles = (error: unknown) =>
  ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '');

function howToFix(code: string, setting: string): string {
  if (code.endsWith('FILE')) return 'Raise the limit on open files (ulimit -n) or close other programs';
  const isGone = ['EIO', 'ESTALE', 'ENOTCONN'].includes(code);
  const isRefused = ['EROFS', 'EACCES', 'EPERM'].includes(code);
  const way = isGone ? 'Check its disk' : isRefused ? 'Make it writable' : 'Make room';
  return `${way} or choose another ${setting}`;
}

/** Explains a write that failed inside a directory; returns any other error as it is. */
export function asStorageErrorIn(error: unknown, root: string): unknown {
  const { path } = error as NodeJS.ErrnoException;
  // Without a file to open, reading fails as well.
  return path?.startsWith(`${root}/`) && !shortOfFiles(error) ? asStorageError(error, root) : error;
}

/** Less room than this is none: programs that need more delete what they have begun when they fail. */
const LEAST_ROOM_BYTES = 1_000_000;

/** Says that the disk of one of these directories is full; undefined if none is, or if that cannot be known. */
export function fullDisk(...dirs: string[]): string | undefined {
  const full = dirs.find((dir) => {
    const disk = ifPossible(() => statfsSync(dir));
    if (!disk || disk.blocks === 0) return false;
    const blocks = process.getuid?.() === 0 ? disk.bfree : disk.bavail;
    return blocks * disk.bsize < LEAST_ROOM_BYTES || (disk.files > 0 && disk.ffree === 0);
  });
  return full && `the disk is full: there is no room for ${full}`;
}

/** Creates a missing directory, and throws if nothing can be written to it. Leaves no file behind. */
export function assertWritable(dir: string, place: Place = STATE): void {
  const file = join(dir, `.${process.pid}.tmp`);
  try {
    makeDirectory(dir);
    try {
      // Writes a whole block: an empty file may still fit on a full disk.
      writeFileSync(file, Buffer.alloc(4096), { mode: 0o600 });
    } finally {
      rmSync(file, { force: true });
    }
  } catch (error) {
    throw asStorageError(error, dir, place);
  }
}

/** Writes a small file. Where there is no room for its text, Node's own error does not name the file. */
export function writeSmallFile(path: string, text: string, flag: 'w' | 'wx' = 'w'): void {
  try {
    writeFileSync(path, text, { flag, mode: 0o600 });
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    throw syscall === 'write'
      ? Object.assign(error as Error, { message: `${message} '${path}'`, path })
      : error;
  }
}

/** A full or read-only disk must not keep a process running. */
export function ifWritable(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!storageReason(error) && !isStorageError(error)) throw error;
  }
}

/** Exit records of jobs are on the disk, so a database that is away takes none of them. */
const isOfDisk = ({ details }: SignalboxError) => details.isDatabase !== true;

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;
/** On a full disk a small write succeeds now and then. Trouble that comes back within this time is the same. */
const SAME_TROUBLE_MS = 5_000;
const STILL_FAILING = new Date('2100-01-01');

interface Patience {
  waitMs: number;
  /** Called once for every time in which nothing can be written. */
  onTrouble(error: SignalboxError): void;
}

/** Repeats writes to a state directory that cannot be written at the moment, so that no result is lost over a full disk. */
export class StorageWait {
  /** Its time is when it could be written again, or in the future while it cannot: the process that found that may have ended. */
  readonly #mark: string;
  #patience: Patience | undefined;
  #trouble: { error: SignalboxError; since: number } | undefined;
  #lastTrouble = { since: 0, endedAt: Number.NEGATIVE_INFINITY };
  #waiting = 0;
  #ending = new AbortController();

  constructor(mark: string) {
    this.#mark = mark;
  }

  /** Whether writes to this computer's disk are known to have failed at this time or later: now, or before the mark. */
  failedSince(time: number): boolean {
    if (this.#trouble && isOfDisk(this.#trouble.error)) return true;
    const markedAt = this.#markedAt();
    // Another engine ended while it could not write, and this one can: what fails from now on is no matter of storage.
    if (markedAt > Date.now() && this.#patience) this.#setMark(new Date());
    return markedAt >= time;
  }

  #markedAt(): number {
    return statSync(this.#mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  /** A full disk takes another time of a file. */
  #setMark(time: Date): void {
    ifPossible(() => {
      writeFileSync(this.#mark, '', { flag: 'a', mode: 0o600 });
      utimesSync(this.#mark, time, time);
    });
  }

  /** Why writes wait now. */
  get trouble(): SignalboxError | undefined {
    return this.#trouble?.error;
  }

  /** From now on, a write that fails with a storage error is repeated. */
  begin(patience: Patience): void {
    // It has to be there before the disk is full.
    if (!existsSync(this.#mark)) this.#setMark(new Date(0));
    else if (this.#markedAt() > Date.now()) this.#setMark(new Date());
    this.#patience = patience;
    this.#lastTrouble = { since: 0, endedAt: Number.NEGATIVE_INFINITY };
    this.#ending = new AbortController();
  }

  /** From now on such a write fails at once, and those that wait fail now. */
  end(): void {
    this.#patience = undefined;
    this.#ending.abort();
  }

  async write<T>(write: () => T | Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!isStorageError(error)) throw error;
      // A command has no jobs whose ends could be lost.
      const isOfEngine = this.#patience !== undefined || this.#ending.signal.aborted;
      if (isOfDisk(error) && isOfEngine) this.#setMark(STILL_FAILING);
      if (!this.#patience) throw error;
      return await this.#repeat(write, error, this.#patience);
    }
  }

  async #repeat<T>(write: () => T | Promise<T>, failed: SignalboxError, patience: Patience): Promise<T> {
    const { signal } = this.#ending;
    if (!this.#trouble) {
      const now = performance.now();
      const { since, endedAt } = this.#lastTrouble;
      const isSame = now - endedAt < SAME_TROUBLE_MS;
      this.#trouble = { error: failed, since: isSame ? since : now };
      if (!isSame) patience.onTrouble(failed);
    }
    this.#waiting++;
    try {
      for (let pause = FIRST_RETRY_MS; ; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
        const left = this.#trouble.since + patience.waitMs - performance.now();
        if (left <= 0 || signal.aborted) throw failed;
        await delay(Math.min(pause, left), undefined, { signal }).catch(() => undefined);
        try {
          const written = await write();
          if (isOfDisk(failed)) this.#setMark(new Date());
          return written;
        } catch (error) {
          if (!isStorageError(error)) throw error;
          // Another write may have succeeded meanwhile.
          if (isOfDisk(error)) this.#setMark(STILL_FAILING);
        }
      }
    } finally {
      this.#waiting--;
      if (this.#waiting === 0 && !signal.aborted) {
        this.#lastTrouble = { since: this.#trouble.since, endedAt: performance.now() };
        this.#trouble = undefined;
      }
    }
  }
}
