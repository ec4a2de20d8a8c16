import type { ChildProcess } from 'node:child_process';
import { readSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Lines, printable, safeJson } from '../report/printable-text.ts';
import type { Style } from '../report/style-and-phrases.ts';
import { wrapLines } from '../report/tables-and-text-wrapping.ts';

/** The word that a completion script calls this program with. It is no command. */
export const ASK = '__complete';

/** Where a command writes. */
export interface OutputStream {
  /** For the programs that a command starts. */
  readonly fd: number;
  /** The terminal behind it; undefined if the text goes to a file or a pipe. */
  readonly terminal: Terminal | undefined;
  /** Exactly this. Dropped once the stream is closed. */
  write(text: string | Buffer): void;
  /** The reader is gone (no error), or nothing can be written (the error). Called at most once. */
  onClosed(listener: (error?: Error) => void): void;
}

export interface Terminal {
  columns(): number;
  rows(): number;
  /** Returns a function that stops listening. */
  onResize(listener: () => void): () => void;
}

export interface Signals {
  /** As long as there is a listener, the signal does nothing else. Returns a function that stops listening. */
  on(signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): () => void;
  /** Does to this process what the signal does without a listener. */
  raise(signal: NodeJS.Signals): void;
}

/** What a call of the command line needs of its process. `main.ts` takes the real one, tests pass their own. */
export interface ProcessIo {
  /** Missing if it was deleted. */
  readonly cwd: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: {
    readonly fd: number;
    readonly isTTY: () => boolean;
    /** Calls the listener with what is typed, without echo, until the returned function is called. Only in the foreground. */
    readonly readKeys?: (listener: (keys: string) => void) => (isInForeground: boolean) => void;
  };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly signals: Signals;
  /** Ends the process although work is left; missing if the process is not the command's own. */
  readonly exit?: (code: number) => void;
  /** Calls the listener before an error that nothing catches ends the process. Returns a function that stops listening. */
  readonly onCrash?: (listener: () => void) => () => void;
  /** Called by a command that may run for weeks. */
  readonly keepHeapSmall?: () => void;
}

/** What the commands use. One per call of `runCli`. */
export interface Io extends Pick<ProcessIo, 'env' | 'stdin' | 'stdout' | 'stderr' | 'signals' | 'onCrash'> {
  readonly cwd: string;
  /** The words after the program's name. */
  readonly argv: readonly string[];
  /** Prints whole lines. Text of any origin is safe here: see `printable`. */
  out(lines: Lines): void;
  err(lines: Lines): void;
  /** Whether standard output is a terminal. */
  tty: boolean;
  /** Width of the terminal now; missing if there is none. */
  columns?: () => number;
  color: boolean;
  /** For standard output. */
  style: Style;
  /** Sets the exit code; the command continues. */
  exit(code: number): void;
  /** Ends the call with this exit code although work is left. */
  leave(code: number): void;
  keepHeapSmall(): void;
  /** Has something done when the command has ended, before the call does: connections are closed then. */
  atEnd(close: () => Promise<void>): void;
  /** Called when standard output is closed. Without it the call ends then. */
  onUnread?: () => void;
  /** Set by a command that resumes a spec: its exit codes 1 and 2 have a meaning, so that errors get another one. */
  resumesSpec?: boolean;
}

/** The words of a command line that are neither flags nor values of the flags that every command has. */
export function wordsOf(argv: readonly string[]): string[] {
  const isValue = (index: number) => ['-C', '--config', '--store'].includes(argv[index - 1] ?? '');
  return argv.filter((word, index) => !word.startsWith('-') && !isValue(index));
}

/** Standard input, output and error for a program that takes the command's place. */
export function inherited({ stdin, stdout, stderr }: Io): [number, number, number] {
  return [stdin.fd, stdout.fd, stderr.fd];
}

/** Does something again and again, until it returns true or a person stops it. */
export async function untilSignal(
  { signals }: Pick<Io, 'signals'>,
  pauseMs: number,
  step: () => boolean | Promise<boolean>,
): Promise<void> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const unhook = signals.on(['SIGINT', 'SIGTERM'], () => stopped.abort());
  try {
    while (!signal.aborted && !(await step()))
      await delay(pauseMs, undefined, { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
  } finally {
    unhook();
  }
}

/** The exit code of a program that has the terminal, as a shell reports it. */
export function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((done, failed) => {
    child.once('error', failed);
    child.once('exit', (code, signal) => done(code ?? 128 + (signal ? constants.signals[signal] : 1)));
  });
}

export function outJson(io: Io, value: unknown): void {
  io.out(safeJson(value, 2).split('\n'));
}

/** Prints lines, broken between words where the terminal is too narrow. */
export function outWrapped(io: Pick<Io, 'out' | 'columns'>, lines: Lines): void {
  io.out(wrapLines(lines, io.columns?.()));
}

/** Asks on the terminal; without one the answer is no. */
export function confirmed(io: Io, question: string): boolean {
  if (!io.tty || !io.stdin.isTTY()) return false;
  const columns = io.columns?.();
  // The answer is typed on the last line, behind the question.
  const lines = wrapLines([`${question} [y/N]`], columns && columns - ANSWER_COLUMNS);
  if (lines.length > 1) io.out(lines.slice(0, -1));
  return /^y(es)?$/i.test(answerOf(io, lines.at(-1) ?? '') ?? '');
}

const ANSWER_COLUMNS = 5;

/** The line that a person types behind a prompt, trimmed; null at the end of input. */
export function answerOf({ stdin, stdout }: Io, prompt: string): string | null {
  stdout.write(`${printable(prompt)} `);
  const bytes: number[] = [];
  const byte = Buffer.alloc(1);
  while (readSome(stdin.fd, byte) > 0) {
    if (byte[0] === LINE_FEED) return Buffer.from(bytes).toString('utf8').trim();
    bytes.push(byte[0] ?? 0);
  }
  // At the end of input, no line feed of the person ends the prompt's line.
  stdout.write('\n');
  return bytes.length > 0 ? Buffer.from(bytes).toString('utf8').trim() : null;
}

const LINE_FEED = 10;
const RETRY_MS = 20;

/** All of standard input. */
export function readStandardInput({ stdin }: Io): string {
  const parts: Buffer[] = [];
  const part = Buffer.alloc(65_536);
  for (let count = readSome(stdin.fd, part); count > 0; count = readSome(stdin.fd, part))
    parts.push(Buffer.from(part.subarray(0, count)));
  return Buffer.concat(parts).toString('utf8');
}

/** Waits for input, also where Node has opened a terminal or pipe for reading without waiting; 0 at the end of it. */
function readSome(fd: number, buffer: Buffer): number {
  for (;;) {
    try {
      return readSync(fd, buffer);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** Prints the result: as JSON if that was asked for, else as text. */
export function answer(io: Io, { json }: { json?: boolean }, value: unknown, text: Lines): void {
  if (json) outJson(io, value);
  else outWrapped(io, text);
}

/** After this time, a terminal shows that something is being done. */
const SILENT_MS = 500;

/** Says on a terminal what is being done, unless that is over at once. Returns what ends it. */
export function saySoon(io: Io, { json }: { json?: boolean }, text: string): () => void {
  const say = () => io.err(io.style.dim(`· ${text}`));
  const timer = io.tty && !json ? setTimeout(say, SILENT_MS) : undefined;
  const end = () => clearTimeout(timer);
  io.atEnd(async () => end());
  return end;
}

/** An error as people see it: everything below the first line is indented. */
export function errorLines(message: Lines, hint?: string): string[] {
  const [first = '', ...more] = [message, hint?.split('\n') ?? []].flat();
  return [`❌ ${first}`, ...more.map((line) => `   ${line}`)];
}
