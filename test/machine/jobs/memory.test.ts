import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fixture } from '../../support/fixture.ts';
import { Bench } from './bench.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

const BYTES = 100_000_000;

describe('a job that prints 100 MB', () => {
  it.each([
    ['in one line', `head -c ${BYTES} /dev/zero | tr '\\0' x`],
    ['in many lines', `yes 'a line of an agent that talks too much' | head -c ${BYTES}`],
  ])('%s costs whoever follows it next to no memory', async (_name, script) => {
    const job = new Bench();
    const spec = join(job.home, 'spec.json');
    writeFileSync(spec, JSON.stringify(job.spec(['sh', '-c', script])));
    const report = await worker.run<{ bytes: number; growth: number; tail: number; reason: string }>([
      'measure',
      spec,
    ]);
    expect(report).toMatchObject({ bytes: BYTES, tail: 16 * 1024, reason: 'exited' });
    expect(report.growth).toBeLessThan(40_000_000);
  });
});
