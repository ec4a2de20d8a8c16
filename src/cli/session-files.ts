import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { LaunchFile } from '../agents/planning/index.ts';
import { type Env, repositoryOf } from '../config/paths.ts';

/** A directory for one session that only its owner can read, and that no repository can take for its own. */
export function sessionDir(home: string, env: Env): string {
  const root = join(repositoryOf(home) === null ? home : env.TMPDIR || tmpdir(), 'planner');
  sweep(root);
  const dir = join(root, `${process.pid}-${randomBytes(4).toString('hex')}`);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return dir;
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

/** What sessions left behind that could not end by themselves. */
function sweep(root: string): void {
  let names: string[];
  try {
    names = readdirSync(root);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  for (const name of names) {
    const pid = /^(\d+)-[0-9a-f]{8}$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) removeDir(join(root, name));
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
