import { writeHome, writePlan } from '../lib/plans.mjs';
import { measure } from '../lib/process.mjs';
import { row } from '../lib/rows.mjs';
import { summary } from '../lib/stats.mjs';
import { verifyFloor, verifyRun } from '../lib/verify.mjs';

const MANY = 10;

/** One ticket with ten agent phases: what each phase costs beyond the agent itself. */
export async function comparePhases(bench, { rounds }) {
  const ours = { 1: [], [MANY]: [] };
  const floor = { 1: [], [MANY]: [] };
  for (let turn = 0; turn < rounds && (turn < 2 || bench.hasTime('w3', turn)); turn += 1) {
    for (const phases of [1, MANY]) {
      floor[phases].push(await runFloor(bench, phases));
      ours[phases].push(await runPhases(bench, phases));
    }
    bench.progress(
      `w3 ${turn + 1}/${rounds}: ${Math.round(ours[MANY].at(-1))} ms, floor ${Math.round(floor[MANY].at(-1))} ms`,
    );
  }
  const perPhase = (runs, pick) => (pick(summary(runs[MANY])) - pick(summary(runs[1]))) / (MANY - 1);
  const [own, bare] = [ours, floor].map((runs) => ({
    median: perPhase(runs, (each) => each.median),
    min: perPhase(runs, (each) => each.min),
  }));
  return [
    row({
      id: 'w3',
      what: `one ticket, ${MANY} phases`,
      unit: 's',
      ours: summary(ours[MANY]),
      floor: summary(floor[MANY]),
    }),
    row({
      id: 'w3-start',
      what: '  the same with 1 phase',
      unit: 's',
      ours: summary(ours[1]),
      floor: summary(floor[1]),
    }),
    row({
      id: 'w3-phase',
      what: '  each extra phase',
      unit: 'ms',
      ours: own,
      floor: bare,
      goal: '≤ floor + 10 ms',
      ok: own.median <= bare.median + 10 || own.min <= bare.min + 10,
      note: `floor ${signed(own.median - bare.median)} ms, by minima ${signed(own.min - bare.min)} ms`,
    }),
  ];
}

const signed = (ms) => `${ms < 0 ? '−' : '+'} ${Math.abs(ms).toFixed(1)}`;

async function runFloor(bench, phases) {
  const place = bench.sandbox.place('floor');
  const argv = [`${bench.env.BENCH_SCRIPTS}/floor-phases.sh`, String(phases)];
  const { ms } = await measure(argv, { cwd: place.repo, env: bench.env, log: place.log });
  bench.floorLost += verifyFloor(bench.sandbox, place, { count: 1, phases }).length;
  return ms;
}

async function runPhases(bench, phases) {
  const home = writeHome(bench.sandbox.place('ours'), { phases, concurrency: 1, stub: bench.env.BENCH_STUB });
  writePlan(home, { count: 1 });
  const argv = [...bench.cli, 'run', 'bench', '-C', home.config];
  const { ms } = await measure(argv, { cwd: home.repo, env: bench.env, log: home.log });
  bench.count(1, verifyRun(bench.sandbox, home, { count: 1, phases }));
  return ms;
}
