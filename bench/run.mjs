// Measures Signalbox against a bare shell loop that does the same work in the same run.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { memoryDisk } from '../tools/memory-disk.mjs';
import { measureColdStart } from './cases/cold-start.mjs';
import { measureDispatch } from './cases/dispatch.mjs';
import { measureFleet } from './cases/fleet.mjs';
import { measureLocal } from './cases/local.mjs';
import { measureMemory } from './cases/memory.mjs';
import { comparePhases } from './cases/phases.mjs';
import { measureScale, SCALE_PARTS } from './cases/scale.mjs';
import { compareTickets } from './cases/tickets.mjs';
import { measureViews } from './cases/views.mjs';
import { measureTop } from './cases/views-top.mjs';
import { createBench } from './lib/bench.mjs';
import { endRunning } from './lib/process.mjs';
import { table } from './lib/rows.mjs';

const HELP = `Usage: npm run bench -- [options] [case...]

Cases: w1 (20 tickets), w2 (100 tickets), w3 (10 phases), local (all phases of that workflow), dispatch, start, memory, scale
(up to 10,000 tickets, 2,000 plans and 5,000 finished ones) or a part of it: scale-tickets, scale-plans, scale-finished,
scale-issues, scale-status. Default: all, with smaller sizes of scale. views, if it is named, measures
\`signalbox top\` in a terminal and the page of \`signalbox web\` in Chromium; fleet, a fleet on PostgreSQL.

  --quick         fewer rounds and smaller sizes: a smoke test, not a measurement
  --rounds <n>    rounds of w1, w2, w3 and local
  --dir <path>    work here; otherwise on a memory disk, or in the temporary directory where there is none
  --cli <file>    measure this build instead of dist/cli.cjs
  --json          print the result as JSON
`;

const here = dirname(fileURLToPath(import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    dir: { type: 'string', default: memoryDisk() ?? tmpdir() },
    cli: { type: 'string', default: join(here, '..', 'dist', 'cli.cjs') },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const { quick } = values;
const rounds = (usual, few) => Number(values.rounds ?? (quick ? few : usual));
const W1 = {
  id: 'w1',
  count: 20,
  concurrency: 4,
  goal: { goal: '≤ floor + 0.36 s', limit: (floor) => floor + 360 },
};
const W2 = {
  id: 'w2',
  count: quick ? 16 : 100,
  concurrency: 8,
  goal: { goal: '≤ 1.5x', limit: (floor) => floor * 1.5 },
};
const CASES = {
  w1: (bench) => compareTickets(bench, { ...W1, rounds: rounds(6, 2) }),
  w2: (bench) => compareTickets(bench, { ...W2, rounds: rounds(4, 1) }),
  w3: (bench) => comparePhases(bench, { rounds: rounds(7, 2) }),
  local: (bench) => measureLocal(bench, { rounds: rounds(7, 2) }),
  dispatch: (bench) => measureDispatch(bench, { times: quick ? 3 : 20 }),
  start: (bench) => measureColdStart(bench, { rounds: quick ? 3 : 15 }),
  memory: (bench) => measureMemory(bench, { sizes: quick ? [10, 30] : [20, 100, 200] }),
  scale: (bench) => measureScale(bench, SCALE),
  fleet: (bench) => measureFleet(bench, FLEET),
  views: async (bench) => [
    ...(await measureTop(bench, { ...VIEWS, seconds: quick ? 5 : 60 })),
    ...(await measureViews(bench, VIEWS)),
  ],
};
const FLEET = quick
  ? { count: 16, rounds: 1, refills: 6, idleSeconds: 5, sleep: 2 }
  : { count: 100, rounds: rounds(3, 1), refills: 30, idleSeconds: 20, sleep: 10 };
const VIEWS = quick
  ? { tickets: 100, megabytes: 2, events: 10_000, rounds: 1 }
  : { tickets: 1000, megabytes: 50, events: 200_000, rounds: rounds(5, 1) };
for (const part of SCALE_PARTS) CASES[`scale-${part}`] = (bench) => measureScale(bench, SCALE, [part]);

/** Named on the command line it has its full sizes. */
const SCALE = quick
  ? { tickets: [24, 300], plans: [4, 40], finished: 100, measured: 24, rounds: 1 }
  : positionals.some((name) => name.startsWith('scale'))
    ? { tickets: [100, 10_000], plans: [10, 2000], finished: 5000, measured: 200, rounds: rounds(3, 1) }
    : { tickets: [100, 1000], plans: [10, 200], finished: 500, measured: 100, rounds: 1 };

const unknown = positionals.find((name) => !(name in CASES));
if (values.help) process.stdout.write(HELP);
else if (unknown) complain(`There is no case "${unknown}".\n\n${HELP}`);
else if (!existsSync(values.cli)) complain(`${values.cli} is not there: run npm run build first.\n`);
else
  await main(
    positionals.length > 0
      ? positionals
      : Object.keys(CASES).filter((name) => !/^scale-|^views$|^fleet$/.test(name)),
  );

function complain(text) {
  process.stderr.write(text);
  process.exitCode = 2;
}

async function main(names) {
  const bench = createBench({
    cli: values.cli,
    dir: values.dir,
    secondsPerCase: quick ? 3 : 40,
    secondsInAll: quick ? 12 : 130,
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop(bench));
  const rows = [];
  try {
    for (const name of names) {
      try {
        rows.push(...(await CASES[name](bench)));
      } catch (error) {
        bench.fail(`${name}: ${error.message}`);
      }
    }
  } finally {
    bench.close();
  }
  show(rows, bench.result());
}

/** Leaves nothing behind: first the processes, then their files. */
function stop(bench) {
  endRunning();
  setTimeout(() => {
    bench.close();
    process.exit(130);
  }, 1000);
}

function show(rows, result) {
  const { runs, tickets, lost, floorLost, failures } = result;
  if (values.json) {
    process.stdout.write(
      `${JSON.stringify({ node: process.version, dir: values.dir, quick, rows, ...result }, null, 2)}\n`,
    );
  } else {
    process.stdout.write(`\n${table(rows)}\n\n`);
    process.stdout.write(`Both worked in ${values.dir}; --dir takes another place.\n`);
    process.stdout.write(
      'A goal is met when the median or the minimum meets it: on a busy machine only the minimum tells.\n',
    );
    const mark = lost.length === 0 ? '✓' : '✗';
    process.stdout.write(
      `${mark} ${lost.length} of ${tickets} tickets lost in ${runs} runs; the floor lost ${floorLost}\n`,
    );
    for (const line of [...lost.slice(0, 10), ...failures]) process.stdout.write(`✗ ${line}\n`);
  }
  if (lost.length + failures.length > 0) process.exitCode = 1;
}
