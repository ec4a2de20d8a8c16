import { ticketIds, writeHome, writePlan } from '../lib/plans.mjs';
import { measure } from '../lib/process.mjs';
import { row } from '../lib/rows.mjs';
import { tailOf } from '../lib/sandbox.mjs';
import { summary } from '../lib/stats.mjs';
import { verifyFloor, verifyRun } from '../lib/verify.mjs';

/** Many tickets with one agent phase each, against the same work in a bare shell loop; turn by turn. */
export async function compareTickets(bench, { id, count, concurrency, rounds, goal }) {
  const ours = [];
  const floor = [];
  for (let turn = 0; turn < rounds && bench.hasTime(id, turn); turn += 1) {
    floor.push(await runFloor(bench, count, concurrency));
    ours.push(await runTickets(bench, count, concurrency));
    bench.progress(
      `${id} ${turn + 1}/${rounds}: ${seconds(ours.at(-1).ms)}, floor ${seconds(floor.at(-1).ms)}`,
    );
  }
  const [a, b] = [ours, floor].map((runs) => summary(runs.map((run) => run.ms)));
  return [
    row({ id, what: `${count} tickets, ${concurrency} at once`, unit: 's', ours: a, floor: b, ...goal }),
    row({
      id: `${id}-cpu`,
      what: '  CPU of all processes',
      unit: 'cpu s',
      ours: summary(ours.map((run) => run.cpu)),
      floor: summary(floor.map((run) => run.cpu)),
      note: `engine itself ${summary(ours.map((run) => run.selfCpu)).median.toFixed(2)}`,
    }),
  ];
}

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

export async function runFloor(bench, count, concurrency) {
  const place = bench.sandbox.place('floor');
  const loop = `printf '%s\\n' ${ticketIds(count).join(' ')} | xargs -P ${concurrency} -n 1 "$BENCH_SCRIPTS/floor-ticket.sh"`;
  const run = await measure(['bash', '-c', loop], { cwd: place.repo, env: bench.env, log: place.log });
  bench.floorLost += verifyFloor(bench.sandbox, place, { count }).length;
  return run;
}

export async function runTickets(bench, count, concurrency) {
  const home = writeHome(bench.sandbox.place('ours'), { phases: 1, concurrency, stub: bench.env.BENCH_STUB });
  writePlan(home, { count });
  const argv = [...bench.cli, 'run', 'bench', '-C', home.config];
  const run = await measure(argv, { cwd: home.repo, env: bench.env, log: home.log, sample: true });
  const lost = verifyRun(bench.sandbox, home, { count });
  bench.count(count, lost);
  if (run.code !== 0 || lost.length > 0) bench.fail(`run ended with ${run.code}:\n${tailOf(home.log)}`);
  return run;
}
