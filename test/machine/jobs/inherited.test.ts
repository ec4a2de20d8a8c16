import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../../support/fixture.ts';
import { Bench } from './bench.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

it('a job gets no file that its engine was started with', async () => {
  const job = new Bench();
  const spec = join(job.home, 'spec.json');
  const look =
    'for fd in 20 200 201; do readlink /proc/self/fd/$fd || echo none; done; ls /proc/self/fd/200/';
  writeFileSync(spec, JSON.stringify(job.spec(['sh', '-c', look])));
  const dir = openSync(job.home, 'r');
  const file = openSync(join(job.home, 'lock'), 'a');
  const left: Record<number, number> = { 0: file, 1: file, 2: file, 20: file, 200: dir, 201: file };
  const stdio = Array.from({ length: 202 }, (_, fd) => left[fd] ?? 'ignore');
  const engine = spawn(process.execPath, [worker.file, 'start', spec], { stdio });
  closeSync(dir);
  closeSync(file);
  try {
    await job.prints('\n');
    const result = await job.adopt();
    expect(result.stdoutTail).toBe('/dev/null\n/dev/null\n/dev/null\n');
    expect(result.stderrTail).toContain('Not a directory');
  } finally {
    engine.kill('SIGKILL');
  }
});

it.runIf(process.platform === 'linux')(
  'a job that would get one above the limit on open files waits for it',
  () => {
    const job = new Bench();
    const spec = join(job.home, 'spec.json');
    writeFileSync(spec, JSON.stringify(job.spec(['true'])));
    const dir = openSync(job.home, 'r');
    const stdio = Array.from({ length: 202 }, (_, fd) => (fd === 201 ? dir : fd < 3 ? 'pipe' : 'ignore'));
    const args = [worker.file, 'crowded', spec, '--nofile=150'];
    const { stdout, stderr } = spawnSync(process.execPath, args, { stdio, encoding: 'utf8' });
    closeSync(dir);
    expect(JSON.parse(stdout || stderr)).toEqual({
      shortage: expect.stringMatching(/^too many files are open: .* above the limit on open files/),
      state: 'none',
    });
  },
);
