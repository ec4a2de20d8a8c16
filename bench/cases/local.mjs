import { writeFileSync } from 'node:fs';
import { writeHome, writePlan } from '../lib/plans.mjs';
import { measure } from '../lib/process.mjs';
import { row } from '../lib/rows.mjs';
import { tailOf } from '../lib/sandbox.mjs';
import { summary } from '../lib/stats.mjs';
import { verifyRun } from '../lib/verify.mjs';

const CHECK = 'test -f README.md';

/** One ticket through the bundled workflow `local`, checks included, against the same steps in a shell script. */
export async function measureLocal(bench, { rounds }) {
  const ours = [];
  const floor = [];
  for (let turn = 0; turn < rounds && bench.hasTime('local', turn); turn += 1) {
    floor.push(await runFloor(bench));
    ours.push(await runLocal(bench));
    bench.progress(
      `local ${turn + 1}/${rounds}: ${Math.round(ours.at(-1).ms)} ms, floor ${Math.round(floor.at(-1).ms)} ms`,
    );
  }
  const of = (runs, pick) => summary(runs.map(pick));
  return [
    row({
      id: 'local',
      what: 'one ticket through local',
      unit: 's',
      ours: of(ours, (run) => run.ms),
      floor: of(floor, (run) => run.ms),
      goal: '≤ floor + 0.4 s',
      limit: (bare) => bare + 400,
    }),
    row({
      id: 'local-cpu',
      what: '  CPU of all processes',
      unit: 'cpu s',
      ours: of(ours, (run) => run.cpu),
      floor: of(floor, (run) => run.cpu),
    }),
  ];
}

const environment = ({ env }) => ({ ...env, BENCH_CHECK: CHECK, BENCH_REVIEW_STUB: stubOf(env) });

const stubOf = (env) => `${env.BENCH_SCRIPTS}/review-stub.sh`;

async function runFloor(bench) {
  const place = bench.sandbox.place('floor');
  const argv = [`${bench.env.BENCH_SCRIPTS}/floor-local.sh`];
  const run = await measure(argv, { cwd: place.repo, env: environment(bench), log: place.log });
  if (run.code !== 0) bench.fail(`floor of local ended with ${run.code}:\n${tailOf(place.log)}`);
  return run;
}

async function runLocal(bench) {
  const place = bench.sandbox.place('ours');
  const home = writeHome(place, { phases: 1, concurrency: 1, stub: stubOf(bench.env) });
  writeFileSync(home.config, `checks: [${JSON.stringify(CHECK)}]\n`, { flag: 'a' });
  writePlan(home, { count: 1, extra: () => ({ workflow: 'local' }) });
  const argv = [...bench.cli, 'run', 'bench', '-C', home.config];
  const run = await measure(argv, { cwd: home.repo, env: environment(bench), log: home.log });
  const lost = verifyRun(bench.sandbox, home, { count: 1 });
  bench.count(1, lost);
  if (run.code !== 0 || lost.length > 0) bench.fail(`local ended with ${run.code}:\n${tailOf(home.log)}`);
  return run;
}
