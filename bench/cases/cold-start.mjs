import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { writeHome, writePlan } from '../lib/plans.mjs';
import { row } from '../lib/rows.mjs';
import { summary } from '../lib/stats.mjs';

const TICKETS = 1000;

/** How long a command takes from its start to its last line, against a node that does nothing; turn by turn. */
export async function measureColdStart(bench, { rounds }) {
  const home = homeOfThousand(bench);
  const commands = {
    node: [process.execPath, '-e', '0'],
    version: [...bench.cli, '--version'],
    help: [...bench.cli, '--help'],
    status: [...bench.cli, 'status'],
    'status-config': [...bench.cli, 'status', '-C', home.config],
  };
  const env = { ...bench.env, SIGNALBOX_HOME: join(home.dir, 'home') };
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  // The first turn only warms up.
  for (let turn = -1; turn < rounds && (turn < 2 || bench.hasTime('start', turn)); turn += 1) {
    for (const [name, argv] of Object.entries(commands)) {
      const ms = spawnTime(argv, { cwd: home.dir, env }, name.startsWith('status') ? '500 tickets' : '');
      if (turn >= 0) times[name].push(ms);
    }
  }
  bench.progress(`start: ${times.node.length} rounds`);
  const floor = summary(times.node);
  const line = (id, what, factor) => {
    const goal = factor ? { goal: `≤ ${factor}x`, limit: (least) => least * factor } : {};
    return row({ id, what, unit: 'ms', ours: summary(times[id]), floor, ...goal });
  };
  return [
    line('version', '--version', 1.3),
    line('help', '--help'),
    line('status', `status of ${TICKETS} tickets`, 2.5),
    line('status-config', '  with a config.yaml'),
  ];
}

/** Half of the tickets are complete, half have not begun. */
function homeOfThousand(bench) {
  const place = bench.sandbox.place('status');
  const home = writeHome(place, {
    phases: 1,
    concurrency: 1,
    stub: bench.env.BENCH_STUB,
    state: 'home/state',
  });
  const at = '2026-01-01T00:00:00.000Z';
  const attempt = { phase: 'p1', status: 'success', startedAt: at, completedAt: at, outcome: 'success' };
  const done = { status: 'complete', currentPhase: 'complete', since: at, phaseHistory: [attempt] };
  writePlan(home, { id: 'done', count: TICKETS / 2, extra: () => done });
  writePlan(home, { id: 'open', count: TICKETS / 2 });
  return home;
}

function spawnTime([command, ...args], options, expected) {
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(command, args, {
    ...options,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  const ms = performance.now() - began;
  if (status !== 0 || !stdout.includes(expected))
    throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return ms;
}
