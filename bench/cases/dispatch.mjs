import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ticketIds, writeHome, writePlan } from '../lib/plans.mjs';
import { row } from '../lib/rows.mjs';
import { tailOf } from '../lib/sandbox.mjs';
import { summary } from '../lib/stats.mjs';

const GOAL_MS = 50;

/** How long after a ticket could start its agent's process is there: under a daemon whose timer never helps. */
export async function measureDispatch(bench, { times }) {
  const home = writeHome(bench.sandbox.place('daemon'), {
    phases: 1,
    concurrency: 2,
    stub: bench.env.BENCH_STUB,
  });
  const stamps = join(home.dir, 'times');
  const daemon = await startDaemon(bench, home, stamps);
  try {
    const written = await newTickets(bench, home, stamps, times);
    bench.progress(`dispatch: ${written.length} tickets written one by one`);
    const chain = await chainOfTickets(home, stamps, written.length);
    bench.count(written.length * 2 + 2, []);
    return [
      latencyRow('dispatch-new', 'new ticket file → agent runs', written),
      latencyRow('dispatch-next', 'blocker complete → agent runs', chain.ready),
      row({
        id: 'dispatch-gap',
        what: '  blocker’s agent ends → agent runs',
        unit: 'ms',
        ours: summary(chain.gap),
      }),
    ];
  } catch (error) {
    throw new Error(`${error.message}\n${tailOf(home.log)}`);
  } finally {
    daemon.kill('SIGTERM');
    await daemon.ended;
  }
}

function latencyRow(id, what, values) {
  const ours = summary(values);
  return row({
    id,
    what,
    unit: 'ms',
    ours,
    goal: `< ${GOAL_MS} ms`,
    ok: ours.median < GOAL_MS,
    note: `max ${ours.max.toFixed(0)} of ${ours.n}`,
  });
}

async function startDaemon(bench, home, stamps) {
  const out = openSync(home.log, 'a');
  const [command, ...args] = [...bench.cli, 'daemon', '-C', home.config];
  const child = spawn(command, args, {
    cwd: home.repo,
    env: { ...bench.env, BENCH_TIMES: stamps },
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  child.ended = new Promise((resolve) => child.once('exit', resolve));
  await until(() => existsSync(join(home.state, 'daemon.json')), 'the daemon to start');
  return child;
}

/** One plan after the other appears; each is complete before the next, so that the daemon has nothing else to do. */
async function newTickets(bench, home, stamps, times) {
  const latencies = [];
  // The first one makes the worktree and loads code; the others find both warm.
  for (let turn = 0; turn <= times && (turn < 4 || bench.hasTime('dispatch', turn)); turn += 1) {
    const id = `new-${turn}`;
    const began = now();
    writePlan(home, { id, count: 1 });
    const ready = now();
    await until(() => linesOf(stamps).length > turn, `the agent of ${id}`);
    if (turn > 0) latencies.push(linesOf(stamps)[turn].began - (began + ready) / 2);
    await until(() => completed(home, id).length > 0, `${id} to complete`);
  }
  return latencies;
}

/** A chain: each ticket waits for the one before. */
async function chainOfTickets(home, stamps, times) {
  const before = linesOf(stamps).length;
  writePlan(home, { id: 'chain', count: times + 1, blockedBy: (index) => (index > 0 ? [`t${index}`] : []) });
  await until(() => completed(home, 'chain').length > times, 'the chain to complete');
  const byTicket = new Map(
    linesOf(stamps)
      .slice(before)
      .map((line) => [line.ticket, line]),
  );
  const complete = new Map(completed(home, 'chain').map((event) => [event.ticketId, Date.parse(event.at)]));
  const links = ticketIds(times).map((id, index) => [id, `t${index + 2}`]);
  return {
    ready: links.map(([blocker, next]) => byTicket.get(next).began - complete.get(blocker)),
    gap: links.map(([blocker, next]) => byTicket.get(next).began - byTicket.get(blocker).ended),
  };
}

const now = () => performance.timeOrigin + performance.now();

function linesOf(stamps) {
  if (!existsSync(stamps)) return [];
  const lines = readFileSync(stamps, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const [ticket, began, ended] = line.split(' ');
    return { ticket, began: Number(began) * 1000, ended: Number(ended) * 1000 };
  });
}

function completed(home, id) {
  const file = join(home.state, 'plans', id, 'events.jsonl');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
    .filter((event) => event.type === 'ticket:status' && event.status === 'complete');
}

async function until(check, what) {
  const deadline = performance.now() + 20_000;
  while (!check()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await delay(5);
  }
}
