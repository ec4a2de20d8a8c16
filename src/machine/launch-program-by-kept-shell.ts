import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { shellQuote } from '../model/text/quote-values-for-shell.ts';
import type { Env } from './paths-and-user-home.ts';

export interface Program {
  file: string;
  args: readonly string[];
  cwd: string | undefined;
  env: Env | undefined;
  input: string | undefined;
}

/** What is reported of a program, in this order; nothing before `launch` has returned. */
export interface Watcher {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** It has ended. Processes that it left running may still print. */
  exit(code: number | null, signal: NodeJS.Signals | null): void;
  /** Its output is complete. */
  close(): void;
  /** It was certainly not started, and nothing else is reported. */
  refused(): void;
}

export interface Started {
  /** Also the id of its process group. */
  readonly pid: number | undefined;
  /** Reads no more of its output. */
  release(): void;
}

/** A command that starts fewer programs than this needs no shell for them. */
const PLAIN_STARTS = 6;
const MAX_SHELLS = 8;
const IDLE_MS = 10_000;
/** Longer arguments are left to the system, which has limits of its own. */
const MAX_REQUEST_CHARS = 64 * 1024;

const shells = new Set<Shell>();
let starts = 0;

/**
 * Starts a short program by a shell that is kept for the next one. A shell forks in a fraction of a millisecond; this process, with
 * its memory, needs several and is blocked meanwhile. Undefined where no shell could start it as Node does.
 */
export function launch(program: Program, watcher: Watcher): Started | undefined {
  starts += 1;
  const { cwd, env, file } = program;
  if (starts <= PLAIN_STARTS || !env || !cwd || !isAbsolute(cwd) || !isAbsolute(file)) return undefined;
  const idle = [...shells].find((shell) => shell.isIdle);
  if (!idle && shells.size >= MAX_SHELLS) return undefined;
  const shellEnv = idle?.env ?? withoutJob(env);
  const request = requestOf(program, { cwd, env, shellEnv });
  if (request === undefined) return undefined;
  try {
    return (idle ?? new Shell(shellEnv)).start(request, watcher);
  } catch {
    // No process can be started now; the caller gets the same error and reports it.
    return undefined;
  }
}

/** A shell outlives the job that it is started for: with that job's variables it would be killed as left over by the job. */
function withoutJob(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([key]) => !key.startsWith('SIGNALBOX_')));
}

const NAME = /^[A-Za-z_]\w*$/;
/** Variables that a shell changes by itself. */
const SHELL_VARIABLES = ['PWD', 'OLDPWD', 'SHLVL'];

/**
 * The program as a line of shell, every word of it quoted. Reports are written to fd 3: `s` before the start, `e` with the exit code, `f` when
 * no process is left that has fd 5, and so the output, open. Fd 4 is the shell's own stdout.
 */
function requestOf(
  { file, args, input }: Program,
  { cwd, env, shellEnv }: { cwd: string; env: Env; shellEnv: Env },
): string | undefined {
  const isOwn = (key: string) => env[key] !== shellEnv[key] || SHELL_VARIABLES.includes(key);
  const set = Object.keys(env).filter((key) => env[key] !== undefined && isOwn(key));
  const unset = [...SHELL_VARIABLES, ...Object.keys(shellEnv).filter((key) => env[key] === undefined)];
  // A shell does not pass on a variable that it could not have itself.
  if (![...Object.keys(shellEnv), ...set].every((key) => NAME.test(key))) return undefined;
  const words = [
    ...set.map((key) => `${key}=${shellQuote(env[key] ?? '')}`),
    ...[file, ...args].map(shellQuote),
  ];
  const isThere = `cd -P -- ${shellQuote(cwd)} 2>/dev/null && [ -x ${shellQuote(file)} ]`;
  const begin = `${isThere} && unset ${unset.join(' ')} && echo s >&3`;
  const command = `${words.join(' ')} 5>&1 >&4 3>&- 4>&-`;
  const fed = input === undefined ? `${command} </dev/null` : `printf %s ${shellQuote(input)} | ${command}`;
  const request = `: "$(${begin} && { ${fed}; echo "e $?" >&3; })"; echo f >&3\n`;
  return request.includes('\0') || request.length > MAX_REQUEST_CHARS ? undefined : request;
}

/** Runs one program at a time, in its own process group. It ends when its stdin is closed, as when this process is gone. */
class Shell {
  readonly env: Env;
  readonly #child;
  #call: { watcher: Watcher; state: 'asked' | 'running' | 'ended' } | undefined;
  #reports = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(env: Env) {
    this.env = env;
    // Not where the program runs: that directory may be deleted meanwhile.
    const options = { cwd: '/', env: { ...env }, detached: true };
    this.#child = spawn('/bin/sh', ['-s'], { ...options, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
    shells.add(this);
    this.#child.on('error', () => this.#lose());
    this.#child.on('exit', () => this.#lose());
    const [, stdout, stderr, reports] = this.#pipes;
    // What is printed while nothing runs comes from a process that a program has left.
    stdout?.on('data', (chunk: Buffer) => (this.#call ? this.#call.watcher.stdout(chunk) : this.#close()));
    stderr?.on('data', (chunk: Buffer) => (this.#call ? this.#call.watcher.stderr(chunk) : this.#close()));
    reports?.on('data', (chunk: Buffer) => this.#read(chunk.toString()));
    for (const pipe of this.#pipes) pipe.unref().on('error', () => shells.delete(this));
    this.#child.stdin?.write('exec 4>&1\n');
  }

  /** There are none when the process could not be started. */
  get #pipes() {
    return (this.#child.stdio ?? []) as unknown as (Readable & Writable & { unref(): Readable })[];
  }

  get isIdle(): boolean {
    return this.#call === undefined;
  }

  start(request: string, watcher: Watcher): Started {
    clearTimeout(this.#timer);
    const call = { watcher, state: 'asked' as const };
    this.#call = call;
    this.#child.ref();
    this.#child.stdin?.write(request);
    // What may still be printed must not reach the next program.
    const release = () => this.#call === call && this.#close();
    return { pid: this.#child.pid, release };
  }

  #read(text: string): void {
    const lines = (this.#reports + text).split('\n');
    this.#reports = lines.pop() ?? '';
    for (const line of lines) {
      if (line === 's' && this.#call) this.#call.state = 'running';
      else if (line === 'f') afterReading(() => this.#rest());
      else if (line !== 's') this.#exit(Number(line.slice(2)));
    }
  }

  #exit(code: number): void {
    if (!this.#call) return;
    this.#call.state = 'ended';
    // Git itself exits with 129 when it does not know an option.
    const signal = code === 129 ? null : signalOf(code);
    this.#call.watcher.exit(signal === null ? code : null, signal);
  }

  #rest(): void {
    if (!this.#call) return;
    this.#timer = setTimeout(() => this.#close(), IDLE_MS).unref();
    this.#child.unref();
    this.#settle();
  }

  /** Handles the end of the shell: without it, the end of a program would not be noticed. */
  #lose(): void {
    shells.delete(this);
    if (this.#call) killGroup(this.#child.pid);
    afterReading(() => {
      this.#settle();
      this.#close();
    });
  }

  #settle(): void {
    if (!this.#call) return;
    const { watcher, state } = this.#call;
    this.#call = undefined;
    if (state === 'running') watcher.exit(null, 'SIGKILL');
    if (state === 'asked') watcher.refused();
    else watcher.close();
  }

  #close(): void {
    shells.delete(this);
    this.#call = undefined;
    clearTimeout(this.#timer);
    for (const pipe of this.#pipes) pipe.destroy();
    this.#child.unref();
  }
}

/** Waits until everything is read that is in the pipes now: reads that are pending are delivered in the next round of the event loop. */
function afterReading(fn: () => void): void {
  setImmediate(() => setImmediate(fn));
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** The signal that a shell reports as this exit code; null when it is none. */
export function signalOf(code: number): NodeJS.Signals | null {
  return (SIGNALS.get(code - 128) ?? null) as NodeJS.Signals | null;
}

export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
