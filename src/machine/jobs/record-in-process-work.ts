import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ifWritable } from '../files/make-directory-and-handle-storage-errors.ts';
import { readJson } from '../files/read-and-remove-files.ts';
import { markedProcesses, ownIdentity, ownNamespace } from '../process-identity-and-signals.ts';
import type { ProgramResult } from '../run-process.ts';
import { type EndReason, MARKER, readJob, recordExit, reserveRoom } from './start-and-read-job.ts';
import { stopJob } from './stop-job.ts';

/** Programs that a killed engine had started get this long to end by themselves: a killed git leaves lock files behind. */
const LEFTOVER_MS = 2_000;

/** Records work that this process does itself as a job, so that `logs` and the next engine find it like any other. */
export function beginInProcess(dir: string, { argv, cwd }: { argv: readonly string[]; cwd: string }): void {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const record = { argv, cwd, env: [], marker: dir, stopSignal: 'SIGTERM', ...ownNamespace() };
  write(dir, 'prompt.md', '');
  reserveRoom(dir);
  write(dir, 'command.json', JSON.stringify({ ...record, engine: ownIdentity() }));
}

/** Writes the exit record last, as the supervisor does. If the disk is full, only this process has the result. */
export function endInProcess(dir: string, { code, stdout, stderr }: ProgramResult): void {
  ifWritable(() => write(dir, 'stdout', stdout));
  ifWritable(() => write(dir, 'stderr', stderr));
  ifWritable(() => recordExit(dir, { code }));
}

/** Whether a job's work is or was done by an engine itself. */
export function isInProcess(dir: string): boolean {
  return readJson<{ engine?: object }>(join(dir, 'command.json'))?.engine !== undefined;
}

/** Ends processes of in-process work whose engine is gone or no longer waits for it. */
export async function stopInProcess(dir: string, reason: EndReason): Promise<void> {
  if (readJob(dir).state === 'unknown') return;
  const deadline = performance.now() + (reason === 'lost' ? LEFTOVER_MS : 0);
  while (performance.now() < deadline && (await markedProcesses(`${MARKER}=${dir}`)).length > 0)
    await delay(20);
  await stopJob(dir, reason);
}

function write(dir: string, name: string, text: string): void {
  writeFileSync(join(dir, name), text, { mode: 0o600 });
}
