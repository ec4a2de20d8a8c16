import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ifWritable } from '../files/make-directory-and-handle-storage-errors.ts';
import { readJson, unlessCode } from '../files/read-and-remove-files.ts';
import { isAlive, killMarked, sendSignal } from '../process-identity-and-signals.ts';
import { type EndReason, MARKER, readIdentity, readJob, recordExit } from './start-and-read-job.ts';

const GRACE_MS = 5_000;
/** Pids do not wrap around in this time. */
const NO_PID_WRAP_MS = 10_000;
/** A job of this age may not have started its command yet, so that its first signal had no effect. */
const RESEND_SIGNAL_MS = 1_000;

/** Jobs that this process waits for. */
const followed = new Set<string>();
/** State directories of commands that are about to end. */
const endingStateDirs = new Set<string>();

/** Until the returned function is called, `killFollowed` ends this job, too. */
export function recordFollowed(dir: string): () => void {
  followed.add(dir);
  return () => void followed.delete(dir);
}

/**
 * Kills every job in this state directory that this process waits for, before it returns. From now on no stop there is
 * gentle: the command is about to end.
 */
export function killFollowed(stateDir: string): void {
  endingStateDirs.add(stateDir);
  for (const dir of followed) {
    if (!isIn(stateDir, dir)) continue;
    noteReason(dir, 'stopped');
    const identity = readIdentity(dir);
    if (identity && isAlive(identity)) sendSignal(-identity.pid, 'SIGKILL');
  }
}

function mustKillAtOnce(dir: string): boolean {
  return endingStateDirs.size > 0 && [...endingStateDirs].some((stateDir) => isIn(stateDir, dir));
}

function isIn(stateDir: string, dir: string): boolean {
  return dir.startsWith(`${stateDir}/`);
}

/**
 * Ends a job and everything it started: gentle signal to the group, SIGKILL after a grace time, then whatever still
 * carries the marker. Resolves when all of it is gone. May be called twice and by two processes: the first reason wins. One that
 * cannot be seen from here is left alone.
 */
export async function stopJob(dir: string, reason: EndReason, graceMs = GRACE_MS): Promise<void> {
  // A job that seems lost may have started just now, before it recorded its pid.
  const { state } = readJob(dir);
  if (state === 'unknown') return;
  if (state === 'running' || state === 'lost') noteReason(dir, reason);
  const command = readJson<{ engine?: object; stopSignal: NodeJS.Signals }>(join(dir, 'command.json'));
  if (!command) return;
  // Never signals the engine itself.
  const identity = command.engine ? undefined : await identityOf(dir);
  if (identity && isAlive(identity)) {
    sendSignal(-identity.pid, command.stopSignal);
    // A signal that was sent before the command started had no effect.
    if (ageOf(dir) < RESEND_SIGNAL_MS && !(await gone(() => isAlive(identity) !== true, 150)))
      sendSignal(-identity.pid, command.stopSignal);
    await gone(() => mustKillAtOnce(dir) || isAlive(identity) !== true, graceMs);
    if (isAlive(identity)) {
      sendSignal(-identity.pid, 'SIGKILL');
      await gone(() => isAlive(identity) !== true, 10_000);
    }
  }
  await killMarked(`${MARKER}=${dir}`, identity ? firstPidOf(dir, identity.pid) : 0);
  if (!existsSync(join(dir, 'exit.json')) && readJob(dir).state !== 'ended')
    ifWritable(() => recordExit(dir, { code: null, signal: 'SIGKILL' }));
}

/** Kills processes that a command left running after it ended. */
export async function killLeftovers(dir: string): Promise<void> {
  const identity = readIdentity(dir);
  // The supervisor continues until it has recorded the exit.
  if (identity) await killMarked(`${MARKER}=${dir}`, firstPidOf(dir, identity.pid), identity.pid);
}

/** The lowest pid that a child of the job can have; 0 for an old job, because pids wrap around. */
function firstPidOf(dir: string, pid: number): number {
  return ageOf(dir) < NO_PID_WRAP_MS ? pid : 0;
}

/** Milliseconds since the job was started; infinite when the clock jumped back. */
function ageOf(dir: string): number {
  const began = statSync(join(dir, 'command.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const age = Date.now() - began;
  return age >= 0 ? age : Number.POSITIVE_INFINITY;
}

function noteReason(dir: string, reason: EndReason): void {
  const write = () =>
    writeFileSync(join(dir, 'stop.json'), JSON.stringify({ reason }), { flag: 'wx', mode: 0o600 });
  ifWritable(() => unlessCode(['EEXIST'], write));
}

/** Waits a moment for the pid of a supervisor that has just started. */
async function identityOf(dir: string) {
  for (let i = 0; i < 20; i++) {
    const identity = readIdentity(dir);
    if (identity || existsSync(join(dir, 'exit.json'))) return identity;
    await delay(5);
  }
  return undefined;
}

async function gone(check: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (let wait = 2; !check() && performance.now() < deadline; wait = Math.min(wait * 2, 50))
    await delay(wait);
  return check();
}
