import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { LaunchFile } from '../agents/planning.ts';
import { repositoryOf } from '../config/paths.ts';
import type { Env } from '../machine/environment.ts';
import { InputError } from '../model/errors.ts';

/** A directory for one session that only its owner can read, and that no repository can take for its own. */
export function sessionDir(home: string, env: Env): string {
  const own = !isInRepository(home);
  const root = own ? ownDirectory(join(home, 'planner')) : sharedDirectory(env);
  const prefix = own ? '' : 'signalbox-planner-';
  sweep(root, prefix);
  // Made anew under a name that nobody could have foreseen, for its owner alone.
  return mkdtempSync(join(root, `${prefix}${process.pid}-`));
}

/** Ours, and closed to others: whoever can write there could put another program in our command's place. */
function ownDirectory(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(path);
  if (uid !== process.getuid?.()) throw notOurs(path, 'belongs to somebody else');
  if ((mode & 0o022) !== 0) throw notOurs(path, 'can be written to by others');
  return path;
}

function notOurs(path: string, why: string): InputError {
  return new InputError('planner/directory', `The directory ${path} ${why}.`, {
    hint: 'Move it away: a planning session makes its own.',
    details: { path },
  });
}

/** A place for everybody's files, and in no repository. */
function sharedDirectory(env: Env): string {
  const places = [env.TMPDIR || tmpdir(), tmpdir(), '/tmp'];
  return places.find((place) => !isInRepository(place)) ?? tmpdir();
}

/** An empty `.git` is none: sandboxes leave one where they keep programs from making it, in /tmp for example. */
function isInRepository(dir: string): boolean {
  const root = repositoryOf(dir);
  if (root === null) return false;
  const dotGit = join(root, '.git');
  return !statSync(dotGit, { throwIfNoEntry: false })?.isDirectory() || existsSync(join(dotGit, 'HEAD'));
}

export function writeFiles(files: readonly LaunchFile[], directories: readonly string[]): void {
  for (const path of directories) mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const file of files) {
    mkdirSync(dirname(file.path), { recursive: true, mode: 0o700 });
    if ('to' in file) symlinkSync(file.to, file.path);
    else writeFileSync(file.path, file.text, { mode: file.mode, flag: 'wx' });
  }
}

export function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

/** What sessions of this user left behind that could not end by themselves. */
function sweep(root: string, prefix: string): void {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(prefix)) continue;
    const pid = /^(\d+)-\w{6,8}$/.exec(name.slice(prefix.length))?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const path = join(root, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() && found.uid === process.getuid?.()) removeDir(path);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
