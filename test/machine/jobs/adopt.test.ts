import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readJob } from '../../../src/machine/jobs/start-and-read-job.ts';
import { stopJob } from '../../../src/machine/jobs/stop-job.ts';
import { Fixture } from '../../support/fixture.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Bench } from './bench.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

/** Lets another process start the job and follow it, then kills that process. */
async function orphan(job: Bench, script: string): Promise<void> {
  const spec = join(job.home, 'spec.json');
  writeFileSync(spec, JSON.stringify(job.spec(['sh', '-c', script], { stdin: 'the prompt' })));
  const engine = worker.start(['start', spec]);
  await engine.line(0);
  engine.kill('SIGKILL');
  expect(await engine.ended).toMatchObject({ signal: 'SIGKILL' });
}

describe('after kill -9 of the process that started a job', () => {
  it('the job lives on and is followed to its end by another, output and exit record included', async () => {
    const job = new Bench();
    const go = join(job.home, 'go');
    await orphan(job, `echo first; while [ ! -e '${go}' ]; do sleep 0.02; done; cat; echo; exit 5`);
    await job.prints('first');
    expect(readJob(job.dir).state).toBe('running');
    let text = '';
    const end = job.adopt({
      onOutput: (chunk) => {
        text += chunk.toString();
      },
    });
    await waitFor('what was printed before', () => text === 'first\n');
    writeFileSync(go, '');
    expect(await end).toMatchObject({
      reason: 'exited',
      exit: { code: 5 },
      stdoutTail: 'first\nthe prompt\n',
    });
    expect(text).toBe('first\nthe prompt\n');
  });

  it('a job that ended while nobody looked is read from its record', async () => {
    const job = new Bench();
    await orphan(job, 'echo done; exit 6');
    await waitFor('its end', () => readJob(job.dir).state === 'ended');
    let text = '';
    const onOutput = (chunk: Buffer) => {
      text += chunk.toString();
    };
    expect(await job.adopt({ onOutput })).toMatchObject({
      reason: 'exited',
      exit: { code: 6 },
      stdoutTail: 'done\n',
    });
    expect(text).toBe('done\n');
  });

  it('another can stop it, with everything it started', async () => {
    const job = new Bench();
    await orphan(job, 'sleep 1000 & echo up; sleep 1000');
    await job.prints('up');
    const abort = new AbortController();
    const end = job.adopt({ signal: abort.signal });
    abort.abort();
    expect(await end).toMatchObject({ reason: 'stopped' });
    expect(await job.left()).toEqual([]);
  });

  it('two may follow it at the same time', { tags: 'full' }, async () => {
    const job = new Bench();
    const go = join(job.home, 'go');
    await orphan(job, `echo up; while [ ! -e '${go}' ]; do sleep 0.02; done; exit 8`);
    await job.prints('up');
    const ends = [job.adopt(), job.adopt()];
    const third = worker.run<{ exit: unknown }>(['follow', job.dir]);
    writeFileSync(go, '');
    for (const end of ends) expect(await end).toMatchObject({ reason: 'exited', exit: { code: 8 } });
    expect(await third).toMatchObject({ reason: 'exited', exit: { code: 8 } });
  });
});

describe('kill -9 of the supervisor itself', () => {
  it('loses the job: what is left of it is ended, and nobody claims to know how it went', async () => {
    const job = new Bench().sh('echo up; sleep 1000');
    await job.prints('up');
    const end = job.follow();
    process.kill(await job.supervisor(), 'SIGKILL');
    expect(await end).toMatchObject({
      reason: 'lost',
      exit: { code: null, signal: null },
      stdoutTail: 'up\n',
    });
    expect(readJob(job.dir)).toMatchObject({ state: 'lost' });
    expect(await job.left()).toEqual([]);
  });

  it('is noticed by one that took the job over', { tags: 'full' }, async () => {
    const job = new Bench();
    await orphan(job, 'echo up; sleep 1000');
    await job.prints('up');
    const end = job.adopt();
    process.kill(await job.supervisor(), 'SIGKILL');
    expect(await end).toMatchObject({ reason: 'lost' });
    expect(await job.left()).toEqual([]);
  });

  it('stays on record as lost after the rest was cleared', async () => {
    const job = new Bench().sh('echo up; sleep 1000');
    await job.prints('up');
    process.kill(await job.supervisor(), 'SIGKILL');
    await waitFor('the loss', () => readJob(job.dir).state === 'lost');
    expect(await job.left()).not.toEqual([]);
    await stopJob(job.dir, 'lost');
    expect(await job.left()).toEqual([]);
    expect(readJob(job.dir)).toMatchObject({ state: 'ended', reason: 'lost', exit: { code: null } });
  });
});

describe('a job of an earlier boot', () => {
  it('is lost, though a process has its number now', async () => {
    const job = new Bench().sh('echo up; sleep 1000');
    await job.prints('up');
    const command = JSON.parse(job.read('command.json')) as Record<string, unknown>;
    const pid = job.read('pid');
    writeFileSync(join(job.dir, 'command.json'), JSON.stringify({ ...command, boot: 'an earlier one' }));
    expect(readJob(job.dir)).toMatchObject({ state: 'lost' });
    writeFileSync(join(job.dir, 'command.json'), JSON.stringify(command));
    expect(readJob(job.dir)).toMatchObject({ state: 'running' });
    writeFileSync(join(job.dir, 'pid'), pid.replace(/\n.*\n/, '\n1\n'));
    expect(readJob(job.dir)).toMatchObject({ state: 'lost' });
    writeFileSync(join(job.dir, 'pid'), pid);
  });
});
