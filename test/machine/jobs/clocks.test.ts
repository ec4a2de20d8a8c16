import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { within } from '../../support/within.ts';
import { Bench } from './bench.ts';

afterEach(() => void vi.useRealTimers());

/** Sets the wall clock, and only that: timers and the monotonic clock go on. */
function setClock(toMs: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: toMs });
}

describe('the wall-clock limit', () => {
  it('ends a job that takes too long', async () => {
    const job = new Bench().sh('echo up; sleep 1000');
    const result = await job.follow({ wallMs: within(300) });
    expect(result).toMatchObject({ reason: 'timeout', stdoutTail: 'up\n', exit: { signal: 'SIGTERM' } });
    expect(result.ms).toBeGreaterThanOrEqual(300);
    expect(await job.left()).toEqual([]);
  });

  it('counts from the start of the job, also for one that was taken over', async () => {
    const job = new Bench().sh('echo up; sleep 1000');
    await job.prints('up');
    const minuteAgo = Date.now() / 1000 - 60;
    utimesSync(join(job.dir, 'command.json'), minuteAgo, minuteAgo);
    const began = performance.now();
    const result = await job.adopt({ wallMs: 50_000 });
    expect(result.reason).toBe('timeout');
    expect(result.ms).toBeGreaterThan(59_000);
    expect(performance.now() - began).toBeLessThan(within(20_000));
  });

  it.each([
    ['forwards', 86_400_000],
    ['backwards', -86_400_000],
  ])('is not moved by a clock that jumps %s', async (_name, jump) => {
    const job = new Bench();
    const go = join(job.home, 'go');
    job.sh(`echo up; while [ ! -e '${go}' ]; do sleep 0.02; done`);
    await job.prints('up');
    const end = job.follow({ wallMs: 20_000, idleMs: 20_000 });
    setClock(Date.now() + jump);
    await delay(250);
    writeFileSync(go, '');
    const result = await end;
    expect(result).toMatchObject({ reason: 'exited', exit: { code: 0 } });
    expect(result.ms).toBeGreaterThanOrEqual(0);
  });

  it('still ends a job after the clock jumped back', { tags: 'full' }, async () => {
    const job = new Bench().sh('echo up; sleep 1000');
    await job.prints('up');
    const end = job.follow({ wallMs: 500 });
    setClock(Date.now() - 86_400_000);
    expect(await end).toMatchObject({ reason: 'timeout' });
  });
});

describe('the idle limit', () => {
  it('ends a job that prints nothing any more', async () => {
    const job = new Bench().sh('echo up; sleep 1000');
    expect(await job.follow({ idleMs: within(300) })).toMatchObject({ reason: 'idle', stdoutTail: 'up\n' });
    expect(await job.left()).toEqual([]);
  });

  it.each([
    ['standard output', ''],
    ['standard error', ' >&2'],
  ])('leaves one alone that prints to %s', { tags: 'full' }, async (_name, where) => {
    const script = `i=0; while [ $i -lt 24 ]; do echo $i${where}; sleep 0.1; i=$((i+1)); done`;
    const readers = [{}, { onOutput: () => undefined }];
    const ends = readers.map((reader) => new Bench().sh(script).follow({ idleMs: within(1600), ...reader }));
    for (const end of ends) expect(await end).toMatchObject({ reason: 'exited', exit: { code: 0 } });
  });

  it('does not count while a tool is at work', { tags: 'full' }, async () => {
    const job = new Bench();
    const go = join(job.home, 'go');
    job.sh(`while [ ! -e '${go}' ]; do sleep 0.02; done; sleep 1000`);
    let busy = true;
    let ended = false;
    const end = job.follow({ idleMs: 200, isBusy: () => busy }).finally(() => {
      ended = true;
    });
    await delay(700);
    expect(ended).toBe(false);
    busy = false;
    expect(await end).toMatchObject({ reason: 'idle' });
  });
});

describe('aborting', () => {
  it('stops the job, and the reason says so', async () => {
    const job = new Bench().sh('echo up; sleep 1000');
    const abort = new AbortController();
    const end = job.follow({ signal: abort.signal });
    await job.prints('up');
    abort.abort();
    expect(await end).toMatchObject({ reason: 'stopped', stdoutTail: 'up\n' });
  });

  it('leaves no listener and no timer behind', { tags: 'full' }, async () => {
    const abort = new AbortController();
    const add = vi.spyOn(abort.signal, 'addEventListener');
    const remove = vi.spyOn(abort.signal, 'removeEventListener');
    await new Bench().sh('sleep 0.5').follow({ signal: abort.signal });
    expect(add.mock.calls.length).toBeGreaterThan(1);
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length);
  });
});
