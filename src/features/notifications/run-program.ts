import { spawn } from 'node:child_process';
import { killGroup } from '../../git/git.ts';

export interface ProgramOptions {
  cwd: string;
  env: Record<string, string>;
  input: string;
  timeoutMs: number;
  signal: AbortSignal;
}

const TAIL = 1_000;
const LAST_WORDS_MS = 500;

/** Runs a program to its end; throws when it fails, with the last that it said, or takes too long. */
export function runProgram(argv: readonly string[], options: ProgramOptions): Promise<void> {
  const [program = '', ...args] = argv;
  const { cwd, env, input, timeoutMs, signal } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'ignore', 'pipe'] });
    let tail = '';
    let why: string | undefined;
    const stop = (reason: string) => {
      why ??= reason;
      killGroup(child);
    };
    const onAbort = () => stop('it was stopped');
    const timer = setTimeout(() => stop(`it took longer than ${timeoutMs / 1000} s`), timeoutMs);
    signal.addEventListener('abort', onAbort);
    const settle = (error?: Error) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      // What it left in the background may hold the pipe for ever.
      child.stderr.destroy();
      if (error) reject(error);
      else resolve();
    };
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-TAIL);
    });
    // A program that does not read its input closes the pipe; its exit code tells the story.
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') stop(error.message);
    });
    child.once('error', (error: NodeJS.ErrnoException) =>
      settle(new Error(error.code === 'ENOENT' ? `${program} is not installed` : error.message)),
    );
    child.once('exit', (code, killed) => {
      if (code === 0) return settle();
      // Its last words may still be in the pipe.
      child.once('close', () => failed(code, killed));
      setTimeout(() => child.stderr.destroy(), LAST_WORDS_MS);
    });
    const failed = (code: number | null, killed: NodeJS.Signals | null) => {
      const how = why ?? (killed ? `it was killed by ${killed}` : `it exited with code ${code}`);
      const said = tail.trim().split('\n').at(-1);
      settle(new Error(said ? `${how}: ${said}` : how));
    };
    child.stdin.end(input);
  });
}
