import { accessSync, constants, existsSync, lstatSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** `bad` is something required that is missing; `warn` is worth knowing. */
export interface Finding {
  level: 'ok' | 'warn' | 'bad';
  what: string;
  detail: string;
  fix: string | null;
}

const MB = 1024 ** 2;
const GB = 1024 ** 3;

export function stateFinding(stateDir: string): Finding {
  const there = existing(stateDir);
  try {
    if (!existsSync(there)) throw new Error('it is a link that leads nowhere');
    if (!statSync(there).isDirectory())
      throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    accessSync(there, constants.W_OK | constants.X_OK);
    // File systems of the kernel's own say yes to root, and take nothing all the same.
    rmdirSync(mkdtempSync(join(there, '.signalbox-doctor-')));
    const detail = there === stateDir ? stateDir : `${stateDir} (will be made)`;
    return { level: 'ok', what: 'state', detail, fix: null };
  } catch (error) {
    return {
      level: 'bad',
      what: 'state',
      detail: `${there} cannot be written (${reasonOf(error as NodeJS.ErrnoException)})`,
      fix: 'Make it writable, or set stateDir to another directory.',
    };
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === 'ENOENT' ? 'it takes no directories' : (code ?? message);
}

export async function diskFinding(stateDir: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(existing(stateDir, existsSync));
  const free = bavail * bsize;
  const level = free < 100 * MB ? 'bad' : free < GB ? 'warn' : 'ok';
  return {
    level,
    what: 'disk',
    detail: `${(free / GB).toFixed(1)} GB free at ${stateDir}`,
    fix: level === 'ok' ? null : 'Free some space, lower retention.gigabytes, or move stateDir.',
  };
}

/** Links that lead nowhere count: nothing can be made below them. */
const isThere = (path: string) =>
  existsSync(path) || (existsSync(dirname(path)) && isDirectory(dirname(path)) && isLink(path));
const isDirectory = (path: string) => statSync(path).isDirectory();
const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** The path, or the nearest directory above it that exists. */
function existing(path: string, exists = isThere): string {
  return exists(path) || path === dirname(path) ? path : existing(dirname(path), exists);
}
