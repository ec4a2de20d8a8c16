import { type ChildProcess, spawn } from 'node:child_process';
import type { Env } from './environment.ts';

export interface ProgramOptions {
  cwd: string;
  env: Env;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  input?: string | undefined;
  maxBytes?: number | undefined;
}

export interface ProgramEnd {
  /** Null when it did not end by itself. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** Why we ended it, or why it could not be started. */
  stopped?: 'timeout' | 'output' | undefined;
  error?: NodeJS.ErrnoException | undefined;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 32 * 1024 * 1024;
const GRACE_MS = 500;

/**
 * Runs a program without a shell and gathers what it prints, within bounds. It has a group of its own, so that an
 * abort or a timeout ends its helpers too. Rejects only with the reason of an abort.
 */
export function runProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    options.signal?.throwIfAborted();
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: { ...options.env },
      detached: true,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let stopped: ProgramEnd['stopped'];
    let code: number | null = null;
    let grace: NodeJS.Timeout | undefined;
    const stop = (why: ProgramEnd['stopped']) => {
      stopped ??= why;
      killGroup(child);
    };
    const onAbort = () => {
      killGroup(child);
      finish(() => reject(options.signal?.reason));
    };
    const timer = setTimeout(() => stop('timeout'), options.timeoutMs ?? TIMEOUT_MS);
    const max = options.maxBytes ?? MAX_BYTES;
    const stdout = collect(child.stdout, max, () => stop('output'));
    const stderr = collect(child.stderr, max, () => stop('output'));
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      clearTimeout(grace);
      options.signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const end = (error?: NodeJS.ErrnoException) =>
      finish(() =>
        resolve({ code: stopped ? null : code, stdout: stdout(), stderr: stderr(), stopped, error }),
      );
    options.signal?.addEventListener('abort', onAbort, { once: true });
    child.on('error', end);
    child.on('exit', (exit) => {
      code = exit;
      // A helper it left behind may hold the pipes open for ever.
      grace = setTimeout(() => {
        killGroup(child);
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, GRACE_MS);
    });
    child.on('close', () => end());
    // A program that ends early closes the pipe; its exit code tells the story.
    child.stdin?.on('error', () => child.stdin?.destroy());
    child.stdin?.end(options.input);
  });
}

function collect(stream: NodeJS.ReadableStream | null, max: number, tooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > max) tooMuch();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
