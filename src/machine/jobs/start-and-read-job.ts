import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  constants as fileModes,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { shortageOf } from '../../model/errors.ts';
import { ifWritable } from '../files/make-directory-and-handle-storage-errors.ts';
import { ifPossible, readJson, readText, unlessCode } from '../files/read-and-remove-files.ts';
import { signalOf } from '../launch-program-by-kept-shell.ts';
import {
  isAlive,
  ownNamespace,
  type ProcessIdentity,
  type ProcessNamespace,
} from '../process-identity-and-signals.ts';

export interface JobSpec {
  dir: string;
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** What the command reads on stdin; null is an empty one. Also kept as prompt.md. */
  stdin: string | null;
  files?: Record<string, string>;
  /** The agent, for readers of the output. */
  agent?: { name: string; adapter: string };
  /** The signal that the adapter's CLI ends gracefully with. */
  stopSignal: 'SIGTERM' | 'SIGINT';
  /** The file with the time until which this machine may run jobs; undefined: it always may. */
  lease?: string | undefined;
}

/** Why a job ended; the first reason wins. `lease`: its worker did not renew its lease. */
export type EndReason = 'exited' | 'timeout' | 'idle' | 'budget' | 'stopped' | 'lost' | 'lease';

export interface JobExit {
  code: number | null;
  signal: string | null;
}

/**
 *     none ──► reserved ──► running ──► ended
 *                 │            ├──────► lost: it is gone, and left no exit record
 *                 └──► lost    └──────► unknown: it is or was where it cannot be seen from here
 *
 * Reserved: its directory is complete, but its supervisor has not recorded itself; to others it looks lost.
 */
export type JobState =
  /** Nothing was started, or its process has not recorded itself yet. */
  | { state: 'none' }
  | { state: 'running'; identity: ProcessIdentity; startedAt: Date }
  | { state: 'ended'; exit: JobExit; reason: EndReason; startedAt: Date; endedAt: Date }
  /** It ran and is gone without an exit record: power cut, or killed from outside. */
  | { state: 'lost'; startedAt: Date }
  /** Whether it runs cannot be seen from here. It is never signalled, and nothing is recorded for it. */
  | { state: 'unknown'; identity: ProcessIdentity; startedAt: Date };

export const MARKER = 'SIGNALBOX_JOB';

/** Room for the exit record: overwritten in place, which a full disk allows, and renamed. */
const RESERVE = 'exit.reserve';
const RESERVE_BYTES = 64;

/**
 * Starts a job's process in its own session. It outlives this process; `exited` resolves when it ends before, with the exit
 * that the supervisor itself reported where it could not record it, or with the shortage for which the command did not begin.
 */
export function startJob(spec: JobSpec): { exited: Promise<JobExit | Error | undefined> } {
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
    ...ownNamespace(),
  };
  reserveRoom(spec.dir, 'pid');
  writeFileSync(join(spec.dir, 'command.json'), JSON.stringify(record), { mode: 0o600 });
  const input = spec.stdin === null ? '/dev/null' : join(spec.dir, 'prompt.md');
  const umask = process.umask().toString(8);
  const words = ['-c', SUPERVISOR, 'signalbox-job', spec.dir, input, umask, spec.lease ?? '', ...argv];
  const env = { ...spec.env, [MARKER]: spec.dir };
  let child: ChildProcess;
  try {
    child = withoutInherited((stdio) => spawn('/bin/sh', words, { cwd, env, detached: true, stdio }));
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'EINVAL' ? ABOVE_LIMIT : (error as Error);
    if (!shortageOf(why)) throw error;
    return { exited: Promise.resolve(notBegun(spec.dir, why)) };
  }
  const exited = new Promise<JobExit | Error | undefined>((resolve) => {
    child.once('error', (error) => {
      if (shortageOf(error)) return resolve(notBegun(spec.dir, error));
      // Neither the directory nor a shell: there is no supervisor to say so.
      const why = existsSync(cwd) ? error.message : `the directory ${cwd} does not exist`;
      writeFileSync(join(spec.dir, 'stderr'), `cannot start: ${why}\n`, { mode: 0o600 });
      recordExit(spec.dir, { code: 126 });
      resolve(undefined);
    });
    child.stdout?.once('data', (code: Buffer) =>
      resolve(exitOf({ code: Number.parseInt(String(code), 10) })),
    );
    // A supervisor that ends by itself leaves a record, unless it could not fork.
    child.once('close', (code) => {
      const isShort = code && code !== NO_OUTPUT && readJob(spec.dir).state === 'lost';
      resolve(isShort ? notBegun(spec.dir, CANNOT_FORK) : undefined);
    });
  });
  (child.stdout as Socket | null)?.unref();
  child.unref();
  return { exited };
}

const CANNOT_FORK = new Error('The supervisor of the job cannot fork.');
/** The system can replace an inherited file in a new process only if its number is below the limit. */
const ABOVE_LIMIT = new Error(
  'spawn EMFILE: a file that Signalbox was started with has a number above the limit on open files (ulimit -n).',
);
/** The exit code of a supervisor that cannot write what the command prints. */
const NO_OUTPUT = 125;

function notBegun(dir: string, why: Error): Error {
  ifWritable(() => forgetJob(dir));
  return why;
}

/** Makes it look as if the work had never begun. This works also where no file can be opened and on a full disk. */
export function forgetJob(dir: string): void {
  rmSync(join(dir, 'command.json'), { force: true });
}

/** Allocates disk space for these files before the start. */
export function reserveRoom(dir: string, ...names: string[]): void {
  for (const name of [RESERVE, ...names])
    writeFileSync(join(dir, name), ' '.repeat(RESERVE_BYTES), { mode: 0o600 });
}

/** Writes the exit record as the supervisor does. Jobs of version 0.1 have nothing reserved. */
export function recordExit(dir: string, exit: { code: number | null; signal?: string }): void {
  const reserve = join(dir, RESERVE);
  const fd = openSync(reserve, fileModes.O_WRONLY | fileModes.O_CREAT, 0o600);
  try {
    writeSync(
      fd,
      `${JSON.stringify(exit)
        .slice(0, -1)
        .padEnd(RESERVE_BYTES - 2)}}\n`,
    );
  } finally {
    closeSync(fd);
  }
  renameSync(reserve, join(dir, 'exit.json'));
}

/** Reads the state of a job from its files. */
export function readJob(dir: string): JobState {
  const command = readJson<{ engine?: ProcessIdentity }>(join(dir, 'command.json'));
  const startedAt = timeOf(join(dir, 'command.json'));
  if (!command || !startedAt) return { state: 'none' };
  const exit = readExit(dir);
  if (exit) {
    const reason = readStop(dir)?.reason ?? 'exited';
    const endedAt = timeOf(join(dir, 'exit.json')) ?? timeOf(join(dir, RESERVE)) ?? startedAt;
    return { state: 'ended', exit, reason, startedAt, endedAt };
  }
  const identity = readIdentity(dir) ?? command.engine;
  // Without a pid file the supervisor has not begun yet, or never will: only its parent knows.
  if (!identity) return { state: 'lost', startedAt };
  const alive = isAlive(identity);
  if (alive === false) return readExit(dir) ? readJob(dir) : { state: 'lost', startedAt };
  return { state: alive ? 'running' : 'unknown', identity, startedAt };
}

/** When a job ended; without an exit record, when it last printed something. */
export function endOrLastOutputAt(dir: string): Date | undefined {
  const job = readJob(dir);
  if (job.state === 'ended') return job.endedAt;
  return job.state === 'lost' ? lastOutputAt(dir) : undefined;
}

/** When a job was started, or printed something later. */
export function lastOutputAt(dir: string): Date {
  const times = ['command.json', 'stdout', 'stderr'].flatMap((name) => timeOf(join(dir, name)) ?? []);
  return new Date(Math.max(...times.map(Number)));
}

/**
 * Seconds by a clock that also counts the time in which the machine sleeps, which every process of the machine can read. On Linux since its
 * start; elsewhere it is the wall clock.
 */
export function secondsWithSleep(): number {
  const [, seconds] =
    /^(\d+(?:\.\d+)?) /.exec(ifPossible(() => readFileSync('/proc/uptime', 'latin1')) ?? '') ?? [];
  return seconds === undefined ? Date.now() / 1000 : Number(seconds);
}

/** Whether the time in the file of a worker's lease is over, as the supervisor of a job checks it. */
export function isLeaseOver(file: string): boolean {
  return Math.floor(secondsWithSleep()) >= Number.parseInt(readText(file) ?? '0', 10);
}

/** The process of a job; undefined until its supervisor has recorded itself. */
export function readIdentity(dir: string): ProcessIdentity | undefined {
  const command = readJson<ProcessNamespace>(join(dir, 'command.json'));
  const [pid, started] = readText(join(dir, 'pid'))?.split('\n') ?? [];
  if (!command || !pid?.trim() || started === undefined) return undefined;
  const { host, machine, boot, pids } = command;
  return { host, machine, boot, pids, pid: Number(pid), started: started.trim() };
}

function readExit(dir: string): JobExit | undefined {
  // The reserve holds the record where the supervisor was killed before it could rename it.
  for (const name of ['exit.json', RESERVE]) {
    const text = readText(join(dir, name));
    // A record counts only when its closing brace and newline are there, so half a write is no record.
    if (text?.endsWith('}\n')) return exitOf(JSON.parse(text) as { code: number | null; signal?: string });
  }
  return undefined;
}

function exitOf({ code, signal }: { code: number | null; signal?: string }): JobExit {
  return { code, signal: (code === null ? null : signalOf(code)) ?? signal ?? null };
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
 * Without room for its pid and output it does not begin; without a disk for the exit record it keeps that in memory, reports
 * it to the engine that started it and tries again until it is written, it is stopped or the directory is gone. The pauses carry
 * no mark, since that engine ends what the command left running.
 * On a fleet it has a watchdog beside the command, which lives through the same signals. Once the time in the lease's file is over, by a clock
 * that counts the time in which the machine sleeps, everything with the mark of the job is killed but the supervisor, which records the exit. A
 * worker that slept between the record of an attempt and its start finds the lease over: then the command does not begin.
 */
const SUPERVISOR = `
d=$1; in=$2; u=$3; l=$4; x=; w=; shift 4
umask 077
trap x=1 TERM INT HUP QUIT
trap : PIPE
field20() { shift 19; t=$1; }
if [ -r /proc/$$/stat ]; then read -r s < /proc/$$/stat; field20 \${s##*) }; else t=$(ps -o lstart= -p $$); fi
printf '%s\\n%s\\n' "$$" "$t" 1<> "$d/pid" && true > "$d/stdout" && true > "$d/stderr" || exit ${NO_OUTPUT}
clock() { if [ -r /proc/uptime ]; then read -r n n2 < /proc/uptime; n=\${n%.*}; else n=$(date +%s); fi; }
marked() {
  if [ -d /proc/self ]; then grep -lszFx "${MARKER}=$d" /proc/[0-9]*/environ | tr -dc '0-9\\n'
  else ps -Eww -ax -o pid=,command= | grep -F "${MARKER}=$d " | while read -r p n; do echo "$p"; done; fi
}
late() { until=0; read -r until n < "$l"; clock; [ "$n" -ge "\${until%.*}" ]; }
lose() { true > "$d/lost"; (set -C; printf '{"reason":"lease"}' > "$d/stop.json"); }
watchdog() {
  trap '' TERM INT HUP QUIT
  cd /
  if [ -r /proc/self/stat ]; then read -r me n < /proc/self/stat; else me=$(exec sh -c 'echo $PPID'); fi
  while ${MARKER}= sleep 1; do
    late || continue
    lose
    for i in 1 2 3 4 5 6 7 8 9; do
      for p in $(marked); do [ "$p" = "$$" ] || [ "$p" = "$me" ] || kill -9 "$p"; done
      ${MARKER}= sleep 0.1
    done
    exit
  done
}
if [ -n "$l" ] && late; then lose; c=137
else
  if [ -n "$l" ]; then watchdog > /dev/null 2>&1 & w=$!; fi
  (exec < "$in" > "$d/stdout" 2> "$d/stderr"; umask "$u"; exec "$@")
  c=$?
fi
if [ -e "$d/lost" ]; then wait $w; elif [ -n "$w" ]; then kill -9 "$w" 2> /dev/null; fi
until printf '{"code":%-54d}\\n' "$c" 1<> "$d/${RESERVE}"; do
  printf '%d\\n' "$c"
  [ -d "$d" ] && [ -z "$x" ] || exit 0
  ${MARKER}= sleep 1 > /dev/null
done
PATH=$PATH:/usr/bin:/bin
exec mv -f "$d/${RESERVE}" "$d/exit.json"
`;

const OWN = '/proc/self/fd';
/** The flag `O_CLOEXEC`, which Node sets on every file that it opens. */
const CLOSED_ON_EXEC = 0o2000000;

/**
 * Files that the parent of this process left open, such as a lock or a directory, would reach what it starts: a way out of
 * a sandbox. On Linux Node closes only the first few of them, on other systems all.
 */
function inheritedFiles(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync(OWN)
    .map(Number)
    .filter((fd) => fd > 2 && !closesOnExec(fd));
}

let inherited: number[] | undefined;

type Stdio = 'ignore' | 'pipe' | number;

/** Starts something that can report to this process, and whose other files are empty, also those that it would inherit. */
function withoutInherited<T>(start: (stdio: Stdio[]) => T): T {
  // What comes later is opened by Node, which closes it for those it starts.
  inherited ??= inheritedFiles();
  const stdio = Array.from({ length: Math.max(2, ...inherited) + 1 }, (): Stdio => 'ignore');
  stdio[1] = 'pipe';
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
  const text = unlessCode(['ENOENT'], () => readFileSync(`${OWN}info/${fd}`, 'latin1'));
  // The listing itself was open while it was read.
  if (text === undefined) return true;
  const flags = /^flags:\s*([0-7]+)/m.exec(text)?.[1] ?? '0';
  return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) !== 0;
}
