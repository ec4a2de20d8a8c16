import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants, hostname } from 'node:os';
import { join } from 'node:path';
import { readJson, readText } from '../files/regular-file.ts';
import { bootId, isAlive, type ProcessIdentity } from '../processes.ts';

export interface JobSpec {
  dir: string;
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** What the command reads on stdin; null is an empty one. Also kept as prompt.md. */
  stdin: string | null;
  files?: Record<string, string>;
  /** Who it is, for readers of the output. */
  agent?: { name: string; adapter: string };
  /** The adapter's gentle signal. */
  stopSignal: 'SIGTERM' | 'SIGINT';
}

/** Why a job ended; the first reason wins. */
export type EndReason = 'exited' | 'timeout' | 'idle' | 'budget' | 'stopped' | 'lost';

export interface JobExit {
  code: number | null;
  signal: string | null;
}

export type JobState =
  /** Nothing was started, or its process has not recorded itself yet. */
  | { state: 'none' }
  | { state: 'running'; identity: ProcessIdentity; startedAt: Date }
  | { state: 'ended'; exit: JobExit; reason: EndReason; startedAt: Date; endedAt: Date }
  /** It ran and is gone without an exit record: power cut, or killed from outside. */
  | { state: 'lost'; startedAt: Date };

export const MARKER = 'SIGNALBOX_JOB';

/** Starts a job's process in its own session. It outlives this process; `exited` resolves when it ends before. */
export function startJob(spec: JobSpec): { exited: Promise<void> } {
  rmSync(spec.dir, { recursive: true, force: true });
  mkdirSync(spec.dir, { recursive: true, mode: 0o700 });
  const files = { ...spec.files, ...(spec.stdin === null ? {} : { 'prompt.md': spec.stdin }) };
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(spec.dir, name), text, { mode: 0o600 });
  const { argv, cwd, stopSignal } = spec;
  const record = {
    argv,
    cwd,
    env: Object.keys(spec.env).sort(),
    marker: spec.dir,
    stopSignal,
    ...(spec.agent ? { agent: spec.agent } : {}),
    host: hostname(),
    boot: bootId(),
  };
  writeFileSync(join(spec.dir, 'command.json'), JSON.stringify(record), { mode: 0o600 });
  const input = spec.stdin === null ? '/dev/null' : join(spec.dir, 'prompt.md');
  const umask = process.umask().toString(8);
  const words = ['-c', SUPERVISOR, 'signalbox-job', spec.dir, input, umask, ...argv];
  const env = { ...spec.env, [MARKER]: spec.dir };
  const child = withoutInherited((stdio) => spawn('/bin/sh', words, { cwd, env, detached: true, stdio }));
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      // Neither the directory nor a shell: there is no supervisor to say so.
      const why = existsSync(cwd) ? error.message : `the directory ${cwd} does not exist`;
      writeFileSync(join(spec.dir, 'stderr'), `cannot start: ${why}\n`, { mode: 0o600 });
      writeFileSync(join(spec.dir, 'exit.json'), '{"code":126}\n', { mode: 0o600 });
      resolve();
    });
    child.once('exit', () => resolve());
  });
  child.unref();
  return { exited };
}

/** What the files of a job say about it. */
export function readJob(dir: string): JobState {
  const command = readJson<{ engine?: ProcessIdentity }>(join(dir, 'command.json'));
  const startedAt = timeOf(join(dir, 'command.json'));
  if (!command || !startedAt) return { state: 'none' };
  const exit = readExit(dir);
  if (exit) {
    const reason = readStop(dir)?.reason ?? 'exited';
    return { state: 'ended', exit, reason, startedAt, endedAt: timeOf(join(dir, 'exit.json')) ?? startedAt };
  }
  const identity = readIdentity(dir) ?? command.engine;
  // Without a pid file the supervisor has not begun yet, or never will: only its parent knows.
  if (!identity) return { state: 'lost', startedAt };
  if (isAlive(identity) === false) return readExit(dir) ? readJob(dir) : { state: 'lost', startedAt };
  return { state: 'running', identity, startedAt };
}

/** When a job that is over ended; of one without an exit record, when it was last heard of. */
export function lastSign(dir: string): Date | undefined {
  const job = readJob(dir);
  if (job.state === 'ended') return job.endedAt;
  if (job.state !== 'lost') return undefined;
  const heard = ['stdout', 'stderr'].flatMap((name) => timeOf(join(dir, name)) ?? []);
  return new Date(Math.max(...[job.startedAt, ...heard].map(Number)));
}

/** The process of a job; undefined until its supervisor has recorded itself. */
export function readIdentity(dir: string): ProcessIdentity | undefined {
  const command = readJson<{ host: string; boot: string }>(join(dir, 'command.json'));
  const [pid, started] = readText(join(dir, 'pid'))?.split('\n') ?? [];
  if (!command || !pid || started === undefined) return undefined;
  return { host: command.host, boot: command.boot, pid: Number(pid), started: started.trim() };
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

function readExit(dir: string): JobExit | undefined {
  const text = readText(join(dir, 'exit.json'));
  if (!text?.endsWith('}\n')) return undefined;
  const { code, signal } = JSON.parse(text) as { code: number | null; signal?: string };
  if (code !== null && code > 128 && SIGNALS.has(code - 128)) {
    return { code, signal: SIGNALS.get(code - 128) ?? null };
  }
  return { code, signal: signal ?? null };
}

export function readStop(dir: string): { reason: EndReason } | undefined {
  return readJson(join(dir, 'stop.json'));
}

function timeOf(path: string): Date | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtime;
}

/**
 * The supervisor of every job: plain sh, so that it starts in a millisecond and has nothing that can fail.
 * It leads its own session, notes who it is, runs the command in the foreground (a background one would ignore
 * SIGINT), lives through the signals meant for the command, and leaves the exit record last. `exec` in a subshell
 * makes the command a program whatever its name, never a word of the shell.
 * Its files are for their owner alone; the command gets back the umask it would have had.
 * A record counts only when its closing brace and newline are there, so half a write is no record.
 */
const SUPERVISOR = `
d=$1; in=$2; u=$3; shift 3
umask 077
trap : TERM INT HUP QUIT
field20() { shift 19; t=$1; }
if [ -r /proc/$$/stat ]; then read -r s < /proc/$$/stat; field20 \${s##*) }; else t=$(ps -o lstart= -p $$); fi
printf '%s\\n%s\\n' "$$" "$t" > "$d/pid"
(exec < "$in" > "$d/stdout" 2> "$d/stderr"; umask "$u"; exec "$@")
c=$?
printf '{"code":%d}\\n' "$c" > "$d/exit.json"
`;

const OWN = '/proc/self/fd';
/** Set on every file that Node itself opens. */
const CLOSED_ON_EXEC = 0o2000000;
const room = Buffer.alloc(64);

/**
 * Files that the parent of this process left open, such as a lock or a directory, would reach what it starts: a way around
 * the walls of a sandbox. Node takes care of the first few alone, and elsewhere than on Linux of all.
 */
function inheritedFiles(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync(OWN)
    .map(Number)
    .filter((fd) => fd > 2 && !closesOnExec(fd));
}

let inherited: number[] | undefined;

/** Starts something whose three usual files are as empty as every other that it would have inherited. */
function withoutInherited<T>(start: (stdio: ('ignore' | number)[]) => T): T {
  // What comes later is opened by Node, which closes it for those it starts.
  inherited ??= inheritedFiles();
  const stdio = Array.from({ length: Math.max(2, ...inherited) + 1 }, (): 'ignore' | number => 'ignore');
  if (inherited.length === 0) return start(stdio);
  const nothing = openSync('/dev/null', 'r+');
  try {
    for (const fd of inherited) stdio[fd] = nothing;
    return start(stdio);
  } finally {
    closeSync(nothing);
  }
}

function closesOnExec(fd: number): boolean {
  let info: number | undefined;
  try {
    info = openSync(`${OWN}info/${fd}`, 'r');
    const text = room.toString('latin1', 0, readSync(info, room));
    const flags = /^flags:\s*([0-7]+)/m.exec(text)?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) !== 0;
  } catch (error) {
    // The listing itself was open while it was read.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  } finally {
    if (info !== undefined) closeSync(info);
  }
}
