import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readJob, secondsWithSleep, startJob } from '../../../src/machine/jobs/start-and-read-job.ts';
import { stopJob } from '../../../src/machine/jobs/stop-job.ts';
import { markedProcesses } from '../../../src/machine/process-identity-and-signals.ts';
import { waitFor } from '../../support/wait-for.ts';

function jobWithLease(seconds: number, script: string) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-watchdog-')));
  const [job, lease] = [join(dir, 'job'), join(dir, 'lease')];
  writeFileSync(lease, `${Math.floor(secondsWithSleep() + seconds)}\n`);
  startJob({
    dir: job,
    argv: ['sh', '-c', script],
    cwd: dir,
    env: { PATH: process.env.PATH ?? '' },
    stdin: null,
    stopSignal: 'SIGTERM',
    lease,
  });
  onTestFinished(async () => {
    await stopJob(job, 'stopped', 0);
    rmSync(dir, { recursive: true, force: true });
  });
  return { dir, job, lease };
}

it('a job ends with the lease of its worker, and with it everything that it started', async () => {
  const { dir, job } = jobWithLease(2, 'setsid sleep 600 & echo $! > child; trap "" TERM; sleep 600');
  await waitFor('the end of the job', () => readJob(job).state === 'ended');
  expect(readJob(job)).toMatchObject({ state: 'ended', reason: 'lease', exit: { signal: 'SIGKILL' } });
  await waitFor(
    'the end of its child',
    async () => (await markedProcesses(`SIGNALBOX_JOB=${job}`)).length === 0,
  );
  expect(Number(readFileSync(join(dir, 'child'), 'utf8'))).toBeGreaterThan(0);
});

it('a job whose worker renews its lease ends by itself, and leaves no watchdog', async () => {
  const { job } = jobWithLease(3_600, 'exit 3');
  await waitFor('the end of the job', () => readJob(job).state === 'ended');
  expect(readJob(job)).toMatchObject({ reason: 'exited', exit: { code: 3 } });
  await waitFor(
    'the end of its watchdog',
    async () => (await markedProcesses(`SIGNALBOX_JOB=${job}`)).length === 0,
  );
});

it('a job that a worker starts after its lease does not begin', async () => {
  const { dir, job } = jobWithLease(0, 'touch begun');
  await waitFor('the end of the job', () => readJob(job).state === 'ended');
  expect(readJob(job)).toMatchObject({ reason: 'lease', exit: { signal: 'SIGKILL' } });
  expect(existsSync(join(dir, 'begun'))).toBe(false);
});
