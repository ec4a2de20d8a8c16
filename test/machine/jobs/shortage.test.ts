import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../../support/fixture.ts';
import { Bench } from './bench.ts';

/** A user without other processes, since their number is limited by user. */
const USER = 54_321;
const AS_USER = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'];
const can =
  spawnSync(AS_USER[0] ?? '', [...AS_USER.slice(1), 'prlimit', '--nproc=9', process.execPath, '--version'])
    .status === 0;

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

it.skipIf(!can)('a supervisor that cannot fork has met a shortage: its command did not begin', async () => {
  const { home, spec } = bench();
  chmodSync(dirname(worker.file), 0o755);
  chownSync(home, USER, USER);
  const file = join(home, 'spec.json');
  writeFileSync(file, JSON.stringify(spec));
  expect(await worker.run(['crowded', file], AS_USER)).toEqual({
    shortage: 'no further process can be started: The supervisor of the job cannot fork.',
    state: 'none',
  });
});

function bench() {
  const job = new Bench();
  return { home: job.home, spec: job.spec(['true']) };
}
