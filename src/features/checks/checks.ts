import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, messageOf } from '../../model/errors.ts';
import { scriptRunner } from '../../workspaces/setup/install.ts';
import { type Check, makeRun, wholeRuns } from './whole-runs.ts';

export interface CheckResult {
  command: string;
  code: number | null;
}

/** What is said where there is nothing to run. */
export const NO_CHECKS = 'No checks are configured and the project has none of its own.';

/**
 * What must pass: as configured, else the project's own scripts of these names and every test of the runners that it
 * has besides.
 */
export function checksOf(configured: readonly string[] | null, worktree: string): Check[] {
  if (configured) return configured.map(plainly);
  const found = [...packageScripts(worktree).map(plainly), ...wholeRuns(worktree)];
  return found.length > 0 || existsSync(join(worktree, 'package.json')) ? found : makeRun(worktree);
}

function plainly(command: string): Check {
  return { command, script: command };
}

function packageScripts(worktree: string): string[] {
  const file = join(worktree, 'package.json');
  if (!existsSync(file)) return [];
  const { scripts = {} } = readPackage(file);
  const wanted = ['lint', 'typecheck', 'type-check', 'test', 'build'].filter((name) => scripts[name]);
  return wanted.map((name) => `${scriptRunner(worktree)} run ${name}`);
}

function readPackage(file: string): { scripts?: Record<string, string> } {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> };
  } catch (error) {
    throw new InputError('checks/package', `${file} cannot be read: ${messageOf(error)}`, {
      hint: 'Put it right, or say in the setting checks what has to pass.',
    });
  }
}

export interface CheckRun {
  cwd: string;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  /** File descriptors for what the commands print. */
  stdout: number;
  stderr: number;
}

/** Runs them in order and stops at the first that fails. */
export async function runChecks(
  checks: readonly Check[],
  { cwd, env, say, stdout, stderr }: CheckRun,
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { command, script } of checks) {
    say(`$ ${command}`);
    const code = await new Promise<number | null>((resolve, reject) => {
      const child = spawn('/bin/sh', ['-c', script], { cwd, env, stdio: ['ignore', stdout, stderr] });
      child.once('error', reject);
      child.once('exit', (status) => resolve(status));
    });
    results.push({ command, code });
    if (code !== 0) break;
  }
  return results;
}
