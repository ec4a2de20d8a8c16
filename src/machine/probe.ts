import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, type Stats, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Env } from './environment.ts';

export type Probe = { ok: true; line: string } | { ok: false; reason: string };

const LIMIT = 64 * 1024;
const GRACE_MS = 300;

/** The file a command name stands for, or undefined. */
export function findExecutable(command: string, env: Env): string | undefined {
  return commandFiles(command, env).find(isExecutable);
}

/** Where a command is looked for. A name with a slash is a path already. */
export function commandFiles(command: string, env: Env): string[] {
  if (command.includes('/')) return [command];
  const dirs = (env.PATH ?? '').split(':').filter((dir) => dir.startsWith('/'));
  return dirs.map((dir) => join(dir, command));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** What is known of a file; undefined where there is none, or none that one may see. */
export function statIfSeen(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** What a program needs to find itself, and none of the user's keys. */
export function scrubbed(env: Env): Record<string, string> {
  const kept = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TMPDIR'].flatMap((name) =>
    env[name] ? [[name, env[name]]] : [],
  );
  return { ...Object.fromEntries(kept), TERM: 'dumb', NO_COLOR: '1' };
}

/** Runs a command in an empty directory and gives back the first line it prints, on stderr only when stdout has none. */
export async function probe(file: string, args: string[], env: Env, timeoutMs = 5_000): Promise<Probe> {
  const cwd = mkdtempSync(join(tmpdir(), 'signalbox-doctor-'));
  try {
    return await ask(file, args, { env, cwd, timeoutMs });
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** Ends the command, and all it started in its process group, after the timeout. */
function ask(
  file: string,
  args: string[],
  { env, cwd, timeoutMs }: { env: Env; cwd: string; timeoutMs: number },
): Promise<Probe> {
  return new Promise((resolve) => {
    // An own process group, so that what the command started can be ended with it.
    const child = spawn(file, args, {
      cwd,
      env: scrubbed(env),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const printed = { out: '', err: '' };
    const collect = (stream: 'out' | 'err') => (chunk: Buffer) => {
      if (printed[stream].length < LIMIT) printed[stream] += chunk.toString('utf8');
    };
    child.stdout.on('data', collect('out'));
    child.stderr.on('data', collect('err'));
    let reason: string | undefined;
    const finish = (result: Probe) => {
      child.removeAllListeners();
      child.on('error', () => undefined);
      clearTimeout(timer);
      endGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(result);
    };
    let timer = setTimeout(
      () => finish({ ok: false, reason: `gave no answer in ${timeoutMs / 1000} s` }),
      timeoutMs,
    );
    const answer = () =>
      finish(
        reason === undefined
          ? { ok: true, line: firstLine(printed.out) || firstLine(printed.err) }
          : { ok: false, reason },
      );
    child.on('error', (error) => finish({ ok: false, reason: error.message }));
    child.on('exit', (code, signal) => {
      if (code !== 0) reason = `ended with ${signal ?? `code ${code}`}`;
      clearTimeout(timer);
      // A process it left behind may hold the pipes open for ever.
      timer = setTimeout(answer, GRACE_MS);
    });
    child.on('close', answer);
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function firstLine(output: string): string {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trim());
  return (lines.find((line) => line !== '') ?? '').slice(0, 100);
}
