import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import type { Program, Started, Watcher } from './launch-program-by-kept-shell.ts';
import { killGroup, launch } from './launch-program-by-kept-shell.ts';
import type { Env } from './paths-and-user-home.ts';

export interface RunOptions {
  cwd?: string | undefined;
  /** Default: the environment of this process. */
  env?: Env | undefined;
  /** What the program reads on stdin; without it, nothing. */
  input?: string | undefined;
  /** Null: no limit. */
  timeoutMs?: number | null | undefined;
  signal?: AbortSignal | undefined;
  /** How long the program may continue after an abort. */
  abortGraceMs?: number | undefined;
  /** A program that prints more than this on one stream is ended. */
  maxBytes?: number | undefined;
  /** Keeps only the end of what it prints, however much that is. */
  tailBytes?: number | undefined;
  /** How its output is read; `latin1` has a character for every byte. Default: UTF-8. */
  encoding?: 'latin1' | undefined;
  /** Puts stderr into `stdout`, in the order in which it came. */
  mergeOutput?: boolean | undefined;
  /**
   * What happens to processes that the program leaves in its group when it ends. Without it, only those are killed that keep its
   * output open.
   */
  leftovers?: 'keep' | 'kill' | undefined;
  /** The program is started often, so a shell that is kept starts it if that makes no difference. */
  isFrequent?: boolean | undefined;
}

/** What a program that ended by itself has printed. */
export interface ProgramResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunEnd extends Omit<ProgramResult, 'code'> {
  /** Null when it did not end by itself. */
  code: number | null;
  /** The signal that ended it. */
  signal: NodeJS.Signals | null;
  /** Why it was killed. */
  stopped?: 'timeout' | 'output' | 'abort' | undefined;
  /** Why it could not be started. */
  error?: NodeJS.ErrnoException | undefined;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 32 * 1024 * 1024;
/** How long to read the rest of a program's output after it has ended. */
const DRAIN_MS = 500;

/**
 * Runs a short program without a shell and returns what it printed; never rejects. It has a process group of its own, so that an
 * abort or a timeout ends its helpers, too.
 */
export function run(file: string, args: readonly string[], options: RunOptions = {}): Promise<RunEnd> {
  const { signal, abortGraceMs = 0, leftovers, mergeOutput = false } = options;
  if (signal?.aborted && abortGraceMs === 0)
    return Promise.resolve({ code: null, signal: null, stdout: '', stderr: '', stopped: 'abort' });
  return new Promise((resolve) => {
    const timers = new Set<NodeJS.Timeout>();
    const after = (ms: number, fn: () => void) => void timers.add(setTimeout(fn, ms));
    const settle = () => {
      for (const timer of timers) clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    let end: Pick<RunEnd, 'code' | 'signal'> = { code: null, signal: null };
    let stopped: RunEnd['stopped'];
    let isFinished = false;
    const finish = (error?: NodeJS.ErrnoException) => {
      isFinished = true;
      settle();
      program.release();
      if (leftovers === 'kill') killGroup(program.pid);
      resolve({ ...end, stdout: stdout.text(), stderr: mergeOutput ? '' : stderr.text(), stopped, error });
    };
    const stop = (why: RunEnd['stopped']) => {
      stopped ??= why;
      killGroup(program.pid);
      after(DRAIN_MS * 2, finish);
    };
    const onAbort = () => after(abortGraceMs, () => stop('abort'));
    const stdout = outputOf(options, () => stop('output'));
    const stderr = mergeOutput ? stdout : outputOf(options, () => stop('output'));
    const watcher: Watcher = {
      stdout: (chunk) => stdout.add(chunk),
      stderr: (chunk) => stderr.add(chunk),
      exit(code, killedBy) {
        settle();
        end = { code: stopped ? null : code, signal: killedBy };
        // A process that it left behind may keep the pipes open for ever. If this process was blocked during that time,
        // output is still unread. `setImmediate` runs after it has been read.
        after(DRAIN_MS, () =>
          setImmediate(() => {
            // Its shell may have the next program already.
            if (isFinished) return;
            if (leftovers !== 'keep') killGroup(program.pid);
            finish();
          }),
        );
      },
      close: () => finish(),
      refused() {
        if (stopped) return finish();
        program = startChild(wanted, { ...watcher, fail: finish });
      },
    };
    const { cwd, env, input } = options;
    const wanted: Program = { file, args, cwd, env, input };
    let program =
      (options.isFrequent && launch(wanted, watcher)) || startChild(wanted, { ...watcher, fail: finish });
    const { timeoutMs = TIMEOUT_MS } = options;
    if (timeoutMs !== null) after(timeoutMs, () => stop('timeout'));
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Starts a program as a child of this process. */
function startChild(
  { file, args, cwd, env, input }: Program,
  watcher: Watcher & { fail(error: NodeJS.ErrnoException): void },
): Started {
  let child: ChildProcess;
  try {
    child = spawn(file, args, {
      cwd,
      ...(env ? { env: { ...env } } : {}),
      detached: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    // Some errors, such as ENOMEM, are thrown instead of reported.
    setImmediate(() => watcher.fail(error as NodeJS.ErrnoException));
    return { pid: undefined, release: () => undefined };
  }
  child.stdout?.on('data', watcher.stdout);
  child.stderr?.on('data', watcher.stderr);
  child.on('error', watcher.fail);
  child.once('exit', watcher.exit);
  child.once('close', watcher.close);
  // A program that does not read its input closes the pipe; its exit code says whether that matters.
  child.stdin?.on('error', () => child.stdin?.destroy());
  child.stdin?.end(input);
  const release = () => {
    child.stdout?.destroy();
    child.stderr?.destroy();
  };
  return { pid: child.pid, release };
}

export interface ShownOptions {
  cwd: string;
  env: Env;
  /** Open files of this process. */
  stdout: number | 'ignore';
  stderr: number | 'ignore';
  /** Whether the program reports something to this process on file descriptor 3. */
  report?: boolean;
}

/** Runs a program that prints to open files of this process. It stays in this process's group, so that Ctrl-C reaches it. */
export function runShown(
  file: string,
  args: readonly string[],
  { cwd, env, stdout, stderr, report = false }: ShownOptions,
): Promise<{ code: number | null; report: string }> {
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', stdout, stderr, report ? 'pipe' : 'ignore'] as const;
    const child = spawn(file, args, { cwd, env: { ...env }, stdio: [...stdio] });
    let reported = '';
    child.stdio[3]?.on('data', (chunk: Buffer) => {
      reported += chunk;
    });
    child.once('error', reject);
    // What the program leaves running may keep the report open: it is waited for only where one is wanted.
    child.once(report ? 'close' : 'exit', (code: number | null) => resolve({ code, report: reported }));
  });
}

export type Helper = NonNullable<ReturnType<typeof startHelper>>;

/** Starts a program that answers on stdout what it is asked on stdin, and ends when that is closed, as when this process is gone. */
export function startHelper(file: string, args: readonly string[], { cwd, env }: { cwd: string; env: Env }) {
  const start = () =>
    spawn(file, args, { cwd, env: { ...env }, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  let child: ReturnType<typeof start>;
  try {
    child = start();
  } catch {
    return undefined;
  }
  child.on('error', () => undefined);
  return child.pid === undefined ? undefined : child;
}

/** The output of a quick system command that is needed at once; empty when it fails. */
export function runSync(file: string, args: readonly string[]): string {
  const { status, stdout } = spawnSync(file, args, { encoding: 'utf8', timeout: 2_000 });
  return status === 0 ? stdout : '';
}

/** Keeps what a program prints, within its limits. */
function outputOf({ tailBytes, maxBytes = MAX_BYTES, encoding }: RunOptions, tooMuch: () => void) {
  let chunks: Buffer[] = [];
  let size = 0;
  return {
    add(chunk: Buffer): void {
      size += chunk.length;
      if (tailBytes !== undefined) chunks = [Buffer.concat([...chunks, chunk]).subarray(-tailBytes)];
      else if (size > maxBytes) tooMuch();
      else chunks.push(chunk);
    },
    text: () => Buffer.concat(chunks).toString(encoding ?? 'utf8'),
  };
}
