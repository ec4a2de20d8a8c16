import { spawn } from 'node:child_process';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { MARKER, readJob } from '../../../src/machine/jobs/start-and-read-job.ts';
import { killLeftovers, stopJob } from '../../../src/machine/jobs/stop-job.ts';
import { markedProcesses } from '../../../src/machine/process-identity-and-signals.ts';
import { Fixture } from '../../support/fixture.ts';
import { waitFor } from '../../support/wait-for.ts';
import { within } from '../../support/within.ts';
import { Bench, escapee, isRunning } from './bench.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

const IGNORE = `trap '' TERM INT; echo up; while :; do sleep 0.05; done`;

/** A process outside the job that carries its marker, as a tool does whose parent is gone. */
async function marked(dir: string): Promise<number> {
  const child = spawn('sleep', ['1000'], {
    env: { PATH: process.env.PATH, [MARKER]: dir },
    detached: true,
    stdio: 'ignore',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const pid = child.pid ?? 0;
  await waitFor('its marker', async () => (await markedProcesses(`${MARKER}=${dir}`)).includes(pid));
  return pid;
}

describe('stopping', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'is gentle first: %s, and the command may end as it likes',
    async (stopSignal) => {
      const name = stopSignal.slice(3);
      const job = new Bench().sh(`trap 'echo bye; exit 3' ${name}; echo up; while :; do sleep 0.05; done`, {
        stopSignal,
      });
      await job.prints('up');
      const end = job.follow();
      await stopJob(job.dir, 'stopped');
      expect(await end).toMatchObject({
        reason: 'stopped',
        exit: { code: 3, signal: null },
        stdoutTail: 'up\nbye\n',
      });
    },
  );

  it('kills a process that ignores the gentle signal', async () => {
    const job = new Bench().sh(IGNORE);
    await job.prints('up');
    const end = job.follow();
    await stopJob(job.dir, 'stopped', 150);
    expect(await job.left()).toEqual([]);
    expect(await end).toMatchObject({ reason: 'stopped', exit: { code: null } });
    expect(readJob(job.dir)).toMatchObject({
      state: 'ended',
      reason: 'stopped',
      exit: { code: null, signal: 'SIGKILL' },
    });
  });

  it('reaches tools in sessions of their own, by the marker they carry', { tags: 'full' }, async () => {
    const job = new Bench().sh(`${escapee()}; echo up; sleep 1000`);
    await job.prints('up');
    const tool = Number(/tool (\d+)/.exec(job.read('stdout'))?.[1]);
    expect(isRunning(tool)).toBe(true);
    expect(await job.left()).toContain(tool);
    await stopJob(job.dir, 'stopped', 1000);
    expect(await job.left()).toEqual([]);
    await waitFor('the end of the tool', () => !isRunning(tool));
  });

  it('reaches them in a directory with a name that is not ASCII', { tags: 'full' }, async () => {
    const job = new Bench('bäü 😀 [x]').sh(`${escapee()}; echo up; sleep 1000`);
    await job.prints('up');
    const tool = Number(/tool (\d+)/.exec(job.read('stdout'))?.[1]);
    expect(await job.left()).toContain(tool);
    await stopJob(job.dir, 'stopped', 1000);
    await waitFor('the end of the tool', () => !isRunning(tool));
  });

  it('reaches them when process numbers have started again from the bottom', async () => {
    const job = new Bench();
    const tool = await marked(job.dir);
    expect(await markedProcesses(`${MARKER}=${job.dir}`, 2 ** 30)).toEqual([tool]);
  });

  it.each([stopJob, killLeftovers])(
    '%o reaches tools of an old job whose numbers are lower than its own',
    async (end) => {
      const job = new Bench();
      const tool = await marked(job.dir);
      job.sh('true');
      await waitFor('its end', () => readJob(job.dir).state === 'ended');
      const hourAgo = Date.now() / 1000 - 3600;
      utimesSync(join(job.dir, 'command.json'), hourAgo, hourAgo);
      await end(job.dir, 'stopped');
      await waitFor('the end of the tool', () => !isRunning(tool));
    },
  );

  it('does not touch this process, though it may carry the marker', async () => {
    const job = new Bench();
    expect(await markedProcesses(`${MARKER}=${job.dir}`)).toEqual([]);
  });

  it('a job that never was, and one that has ended, changes nothing', async () => {
    const job = new Bench();
    await stopJob(job.dir, 'stopped');
    expect(readJob(job.dir)).toEqual({ state: 'none' });
    await job.sh('exit 4').follow();
    await stopJob(job.dir, 'stopped');
    expect(readJob(job.dir)).toMatchObject({ state: 'ended', reason: 'exited', exit: { code: 4 } });
  });

  it('as soon as it is started is still a stop, not an exit, and need not wait for the last resort', {
    tags: 'full',
  }, async () => {
    const began = performance.now();
    for (let round = 0; round < 8; round++) {
      const job = new Bench(`round.${round}`);
      const abort = new AbortController();
      const end = job.sh('echo up; sleep 1000').follow({ signal: abort.signal });
      abort.abort();
      expect(await end).toMatchObject({ reason: 'stopped' });
      expect(await job.left()).toEqual([]);
    }
    expect(performance.now() - began).toBeLessThan(within(15_000));
  });
});

describe('the first reason wins', () => {
  it('when two want it at once', async () => {
    const job = new Bench().sh(IGNORE);
    await job.prints('up');
    await Promise.all([
      stopJob(job.dir, 'timeout', 100),
      stopJob(job.dir, 'stopped', 100),
      stopJob(job.dir, 'idle', 100),
    ]);
    await stopJob(job.dir, 'stopped', 100);
    expect(readJob(job.dir)).toMatchObject({ state: 'ended', reason: 'timeout' });
  });

  it('when two processes want it', { tags: 'full' }, async () => {
    const job = new Bench().sh(IGNORE);
    await job.prints('up');
    const other = worker.start(['stop', job.dir, 'idle']);
    const first = await other.line(0);
    await stopJob(job.dir, 'stopped', 100);
    await other.ended;
    expect(first).toBe('"idle"');
    expect(readJob(job.dir)).toMatchObject({ state: 'ended', reason: 'idle' });
  });
});
