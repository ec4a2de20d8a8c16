import { accessSync, constants, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Env } from './paths-and-user-home.ts';
import { type RunEnd, run } from './run-process.ts';

export type Probe = { ok: true; line: string } | { ok: false; reason: string };

/** The file of a command, or undefined. */
export function findExecutable(command: string, env: Env): string | undefined {
  return commandFiles(command, env).find(isExecutable);
}

/** Paths at which a command may be. A name with a slash is a path already. */
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

/** The environment that a program needs to start, without the user's keys. */
function environmentWithoutSecrets(env: Env): Record<string, string> {
  const kept = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TMPDIR'].flatMap((name) =>
    env[name] ? [[name, env[name]]] : [],
  );
  return { ...Object.fromEntries(kept), TERM: 'dumb', NO_COLOR: '1' };
}

/** Runs a command in an empty directory and returns the first line it prints, on stderr only when stdout has none. */
export async function probe(file: string, args: string[], env: Env, timeoutMs = 5_000): Promise<Probe> {
  const cwd = mkdtempSync(join(tmpdir(), 'signalbox-doctor-'));
  try {
    const end = await run(file, args, {
      cwd,
      env: environmentWithoutSecrets(env),
      timeoutMs,
      leftovers: 'kill',
    });
    const reason = whyFailed(end, timeoutMs);
    if (reason !== undefined) return { ok: false, reason };
    return { ok: true, line: firstLine(end.stdout) || firstLine(end.stderr) };
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function whyFailed({ error, stopped, code, signal }: RunEnd, timeoutMs: number): string | undefined {
  if (error) return error.message;
  if (stopped === 'timeout') return `gave no answer in ${timeoutMs / 1000} s`;
  if (stopped) return 'printed without end';
  return code === 0 ? undefined : `ended with ${signal ?? `code ${code}`}`;
}

function firstLine(output: string): string {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map((line) => line.trim());
  return (lines.find((line) => line !== '') ?? '').slice(0, 100);
}
