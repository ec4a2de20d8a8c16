import { closeSync, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { SignalboxError } from '../../model/errors.ts';
import { ifPossible, withOpened } from '../files/read-and-remove-files.ts';
import { type EndReason, type JobExit, readJob, readStop } from './start-and-read-job.ts';
import { killLeftovers, recordFollowed, stopJob } from './stop-job.ts';

const CHUNK = 16 * 1024;
/** Output is read in slices, so that other work continues in between, however much the job prints. */
const SLICE_MS = 10;
const TAIL = 16 * 1024;
const POLL_MS = 100;
const WAITING_MS = 10_000;

export interface FollowOptions {
  dir: string;
  /** From `startJob`, for a job that this process started; a job that was taken over is polled instead. */
  exited?: Promise<JobExit | Error | undefined>;
  wallMs: number;
  idleMs: number | null;
  /** Called with every chunk of stdout, in order, once. The buffer is used again: copy what is to be kept. */
  onOutput?: (chunk: Buffer) => void;
  /** The same for stderr. */
  onErrors?: (chunk: Buffer) => void;
  /** While true, silence does not count as idle: a tool is running. */
  isBusy?: () => boolean;
  /** While true, a short silence counts as idle: the agent has reported that it only waits. */
  isWaiting?: () => boolean;
  /** True stops the job: its budget is used up. */
  isOver?: () => boolean;
  /** Aborting stops the job. With a SignalboxError as the reason the job is left running, and the error is thrown. */
  signal: AbortSignal;
}

export interface JobResult {
  reason: EndReason;
  exit: JobExit;
  ms: number;
  stdoutTail: string;
  stderrTail: string;
}

/** Follows a job's files until it has ended and nothing of it is left. Memory use does not grow with its output. */
export async function followJob(options: FollowOptions): Promise<JobResult> {
  const { dir } = options;
  const done = recordFollowed(dir);
  const reader = outputReader(join(dir, 'stdout'), options.onOutput);
  const errors = outputReader(join(dir, 'stderr'), options.onErrors);
  try {
    return await untilGone(options, reader, errors);
  } finally {
    reader.close();
    errors.close();
    done();
  }
}

async function untilGone(
  options: FollowOptions,
  reader: OutputReader,
  errors: OutputReader,
): Promise<JobResult> {
  const { dir, signal } = options;
  const begin = startOf(dir);
  let lastOutput = performance.now();
  let ended = false;
  let wake = (): void => undefined;
  /** What the supervisor reported because it cannot record it. */
  let reported: JobExit | Error | undefined;
  options.exited?.then((exit) => {
    reported = exit;
    ended = true;
    wake();
  });
  let stop: EndReason | undefined;
  let more = false;
  while (!ended) {
    if (more) await turn();
    else
      await pause(POLL_MS, signal, (done) => {
        wake = done;
      });
    const { printed, rest } = reader.pull();
    more = rest;
    if (errors.pull().printed || printed) lastOutput = performance.now();
    if (!options.exited && readJob(dir).state !== 'running') break;
    if (ended) break;
    if (signal.aborted && signal.reason instanceof SignalboxError) throw signal.reason;
    stop = reasonToStop(options, begin, lastOutput);
    if (stop) break;
  }
  if (reported instanceof Error) throw reported;
  const cutOff = stop && readJob(dir).state !== 'ended' ? stop : undefined;
  if (stop) await stopJob(dir, stop);
  else await killLeftovers(dir);
  // The rest of the output matters only when the job ended by itself, and only until a stop is asked for.
  let cut = false;
  for (let read = reader.pull(); !stop && read.printed && !cut; read = reader.pull()) {
    await turn();
    cut = signal.aborted;
  }
  const job = readJob(dir);
  const record = job.state === 'ended' ? job : undefined;
  const exit = record?.exit ?? reported;
  // Without a record it was killed; a reason that was noted before says by whom.
  const noted = readStop(dir)?.reason;
  // On a full disk, only this process knows the reason of a stop.
  const by = noted ?? cutOff ?? (exit ? 'exited' : 'lost');
  return {
    reason: cut ? 'stopped' : by,
    exit: exit ?? { code: null, signal: null },
    ms: Math.max(0, (record?.endedAt.getTime() ?? Date.now()) - begin.wall),
    stdoutTail: tail(join(dir, 'stdout')),
    stderrTail: tail(join(dir, 'stderr')),
  };
}

/** Yields to timers, signals and other jobs. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function reasonToStop(
  options: FollowOptions,
  begin: { mono: number },
  lastOutput: number,
): EndReason | undefined {
  const now = performance.now();
  if (options.signal.aborted) return 'stopped';
  if (options.isOver?.()) return 'budget';
  if (now - begin.mono > options.wallMs) return 'timeout';
  if (options.idleMs === null || options.isBusy?.()) return undefined;
  const idleMs = options.isWaiting?.() ? Math.min(options.idleMs, WAITING_MS) : options.idleMs;
  return now - lastOutput > idleMs ? 'idle' : undefined;
}

/** When the job began, on the monotonic clock too: a wall clock that jumps must not end or extend anything. */
function startOf(dir: string): { wall: number; mono: number } {
  const wall = statSync(join(dir, 'command.json'), { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  const age = Math.max(0, Date.now() - wall);
  return { wall, mono: performance.now() - age };
}

/** Waits, until the signal or the given function ends it early. Removes its listener, because a job may run for hours. */
function pause(ms: number, signal: AbortSignal, giveWake: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    giveWake(done);
  });
}

type OutputReader = ReturnType<typeof outputReader>;

/** Reads what was appended to a file since the last time, through one small buffer. */
function outputReader(path: string, onChunk: ((chunk: Buffer) => void) | undefined) {
  const buffer = Buffer.alloc(onChunk ? CHUNK : 0);
  let fd: number | undefined;
  let offset = 0;
  return {
    /** Reads one slice: whether there was something new, and whether there may be more already. */
    pull(): { printed: boolean; rest: boolean } {
      fd ??= ifPossible(() => openSync(path, 'r'));
      if (fd === undefined) return { printed: false, rest: false };
      const before = offset;
      if (!onChunk) {
        offset = fstatSync(fd).size;
        return { printed: offset > before, rest: false };
      }
      const end = performance.now() + SLICE_MS;
      do {
        const count = readSync(fd, buffer, 0, CHUNK, offset);
        if (count === 0) return { printed: offset > before, rest: false };
        offset += count;
        onChunk(buffer.subarray(0, count));
      } while (performance.now() < end);
      return { printed: true, rest: true };
    },
    close(): void {
      if (fd !== undefined) closeSync(fd);
    },
  };
}

function tail(path: string): string {
  const read = (fd: number, { size }: Stats) => {
    const buffer = Buffer.alloc(Math.min(size, TAIL));
    readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    // The cut may go through a character: its rest is left out.
    const start = size > TAIL ? buffer.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0;
    return buffer.toString('utf8', start);
  };
  return ifPossible(() => withOpened(path, read)) ?? '';
}
