import { spawn } from 'node:child_process';
import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliCall } from '../support/cli-call.ts';
import { GIT_CONFIG } from '../support/repo.ts';
import { ROOT } from './markdown.ts';

export const CLI = join(ROOT, 'dist', 'cli.cjs');

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** A directory of its own for a test; the caller removes it. */
export function scratch(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-docs-')));
}

/** An environment in which nothing of the user's is found but the programs. */
export function environment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: home,
    GIT_CONFIG_GLOBAL: GIT_CONFIG,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Docs',
    GIT_AUTHOR_EMAIL: 'docs@example.org',
    GIT_COMMITTER_NAME: 'Docs',
    GIT_COMMITTER_EMAIL: 'docs@example.org',
  };
}

export function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended: Ended = { code: null, out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      ended.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      ended.err += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ended, code }));
  });
}

/** A command, inside this process. */
export function signalbox(
  args: readonly string[],
  home: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  return new CliCall(args, { cwd: home, env: { ...environment(home), ...env } }).ended;
}
