import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readJob } from '../../../src/machine/jobs/start-and-read-job.ts';
import { Fixture } from '../../support/fixture.ts';
import { waitFor } from '../../support/wait-for.ts';
import { within } from '../../support/within.ts';
import { Bench } from './bench.ts';

/** A job that waits; from now on its exit record cannot be written, until `cure` is called. */
async function unrecordable(script: string): Promise<{ job: Bench; go(): void; cure(): void }> {
  const job = new Bench();
  const flag = join(job.home, 'go');
  job.sh(`echo up; while [ ! -e '${flag}' ]; do sleep 0.02; done; ${script}`);
  await job.prints('up');
  const reserve = join(job.dir, 'exit.reserve');
  rmSync(reserve);
  mkdirSync(reserve);
  const cure = () => rmSync(reserve, { recursive: true, force: true });
  onTestFinished(cure);
  return { job, go: () => writeFileSync(flag, ''), cure };
}

/** Whether Node has reaped a process that it started. */
function hasEnded(pid: number): boolean {
  try {
    return !process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

describe('an exit record that cannot be written', () => {
  it('is reported by the supervisor itself to the engine that started the job', async () => {
    const { job, go } = await unrecordable('echo done; exit 7');
    go();
    expect(await job.follow()).toMatchObject({
      reason: 'exited',
      exit: { code: 7, signal: null },
      stdoutTail: 'up\ndone\n',
    });
    expect(readJob(job.dir).state).toBe('running');
  });

  it('is written as soon as that is possible, for an engine that takes the job over', async () => {
    const { job, go, cure } = await unrecordable('sleep 1000 & exit 143');
    go();
    expect(await job.follow()).toMatchObject({ reason: 'exited', exit: { code: 143, signal: 'SIGTERM' } });
    const supervisor = await job.supervisor();
    expect(await job.left()).toContain(supervisor);
    const adopted = job.adopt();
    cure();
    expect(await adopted).toMatchObject({ reason: 'exited', exit: { code: 143, signal: 'SIGTERM' } });
    await waitFor('the end of the supervisor', async () => (await job.left()).length === 0);
    expect(job.read('exit.json')).toMatch(/^\{"code":143 +\}\n$/);
  });

  it('is not waited for once the directory of the job is gone', async () => {
    const { job, go } = await unrecordable('exit 3');
    rmSync(job.dir, { recursive: true });
    go();
    expect(await job.follow()).toMatchObject({ reason: 'exited', exit: { code: 3 } });
    await waitFor('the end of the supervisor', async () => (await job.left()).length === 0);
  });

  it('does not make the work look as if it had not begun, when its supervisor is stopped', async () => {
    const { job, go } = await unrecordable('exit 3');
    const supervisor = await job.supervisor();
    process.kill(supervisor, 'SIGTERM');
    go();
    expect(await job.follow()).toMatchObject({ reason: 'exited', exit: { code: 3 } });
    // Node reports the end of a process right after it has reaped it.
    await waitFor('the end of the supervisor', () => hasEnded(supervisor));
    await new Promise((resolve) => setImmediate(resolve));
    expect(readJob(job.dir).state).toBe('lost');
  });

  it('counts where the supervisor was killed before it could rename it', async () => {
    const { job, cure } = await unrecordable('exit 0');
    process.kill(await job.supervisor(), 'SIGKILL');
    await waitFor('the loss', () => readJob(job.dir).state === 'lost');
    cure();
    writeFileSync(join(job.dir, 'exit.reserve'), `{"code":5${' '.repeat(54)}`);
    expect(readJob(job.dir)).toMatchObject({ state: 'lost' });
    writeFileSync(join(job.dir, 'exit.reserve'), `{"code":5${' '.repeat(53)}}\n`);
    expect(readJob(job.dir)).toMatchObject({ state: 'ended', reason: 'exited', exit: { code: 5 } });
  });
});

/** A mount namespace of its own; undefined where the system forbids it. */
const NAMESPACE = [
  ['unshare', '--mount'],
  ['unshare', '--mount', '--map-root-user'],
].find(([command = '', ...args]) => {
  const probe = 'mount -t tmpfs -o size=64k tmpfs /tmp && mount -o remount,ro /tmp';
  return spawnSync(command, [...args, 'sh', '-c', probe]).status === 0;
});

describe.skipIf(!NAMESPACE)('a disk of 128 KB', () => {
  let worker: Fixture;
  beforeAll(async () => {
    worker = await Fixture.build(new URL('worker.ts', import.meta.url));
  });
  afterAll(() => worker.remove());

  /** Starts a job there, brings about the trouble, and lets the job end. */
  function run<T>(trouble: 'full' | 'read-only'): Promise<T> {
    const { home } = new Bench();
    const mount = `mount -t tmpfs -o size=128k tmpfs '${home}' && exec "$@"`;
    return worker.run<T>(['trouble', home, trouble], [...(NAMESPACE ?? []), 'sh', '-c', mount, 'sh']);
  }

  it('that is full when a job ends: the exit record is written all the same', async () => {
    expect(await run('full')).toMatchObject({
      followed: { reason: 'exited', exit: { code: 9, signal: null } },
      now: { state: 'ended', exit: { code: 9 } },
      stopped: { reason: 'timeout' },
      files: ['command.json', 'exit.json', 'pid', 'stderr', 'stdout'],
    });
  });

  it('that is read-only when a job ends: its engine knows the exit code, and others once it is recorded', {
    tags: 'full',
  }, async () => {
    const seen = await run<{ waitedMs: number }>('read-only');
    expect(seen).toMatchObject({
      followed: { reason: 'exited', exit: { code: 9, signal: null } },
      now: { state: 'running' },
      stopped: { reason: 'timeout' },
      later: { state: 'ended', exit: { code: 9 } },
    });
    expect(seen.waitedMs).toBeLessThan(within(5000));
  });
});
