import { spawn } from 'node:child_process';
import { WorkspaceError } from '../model/errors.ts';
import { killGroup } from './git.ts';
import { cleanEnv } from './git-env.ts';

const TIMEOUT_MS = 10 * 60_000;
const TAIL = 8 * 1024;

export interface HookOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  timeoutMs?: number;
}

/** Runs the user's setup commands one after the other; the first that fails is an error with what it printed last. */
export async function runHooks(commands: string[], options: HookOptions): Promise<void> {
  for (const command of commands) await runHook(command, options);
}

async function runHook(command: string, options: HookOptions): Promise<void> {
  const ms = options.timeoutMs ?? TIMEOUT_MS;
  const { end, output } = await runShell(command, options, ms);
  if (end === 'exit code 0') return;
  const tail = output.trim();
  throw new WorkspaceError(
    'workspace/hook',
    `The setup command ${JSON.stringify(command)} ended with ${end}.`,
    {
      hint: `Correct hooks.afterCreate, or what it needs in ${options.cwd}.${tail === '' ? '' : ` It printed:\n${tail}`}`,
      details: { command, path: options.cwd, output: tail },
    },
  );
}

function runShell(
  command: string,
  options: HookOptions,
  ms: number,
): Promise<{ end: string; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: options.cwd,
      env: cleanEnv(options.env),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let tail = Buffer.alloc(0);
    const keep = (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-TAIL);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      killGroup(child);
    }, ms);
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(
        new WorkspaceError('workspace/hook', `A setup command cannot be started: ${error.message}`, {
          cause: error,
        }),
      );
    });
    let end = '';
    const finish = () => {
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ end, output: tail.toString('utf8') });
    };
    child.on('close', finish);
    child.on('exit', (code, signal) => {
      clearTimeout(timer);
      end = late ? `no end after ${ms / 1000} s` : signal ? `signal ${signal}` : `exit code ${code}`;
      // What it left in the background may hold the pipes open for ever.
      setTimeout(finish, 500).unref();
    });
  });
}
