import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readTicket, ticketIds, writeHome, writePlan } from '../lib/plans.mjs';
import { cpuOf, forget, peakOf, remember } from '../lib/process.mjs';
import { row } from '../lib/rows.mjs';
import { tailOf } from '../lib/sandbox.mjs';
import { summary } from '../lib/stats.mjs';

const CONCURRENCY = 8;
const MOST_CPU = 1.25;
const MOST_WALL = 1.5;
const MOST_MB = 150;
const MOST_START_MS = 300;
const MOST_STATUS = 2.5;
const AT = '2026-01-01T00:00:00.000Z';

/** What `minimal` leaves of a ticket that is complete. */
const DONE = {
  status: 'complete',
  currentPhase: 'complete',
  since: AT,
  base: { ref: 'origin/main', commit: '0'.repeat(40) },
  visits: { implement: 1, complete: 1 },
  phaseHistory: [
    {
      phase: 'implement',
      status: 'success',
      startedAt: AT,
      completedAt: AT,
      agent: 'stub',
      outcome: 'success',
      output: 'committed work.txt',
      evidence: { commits: 1, dirty: 0 },
    },
  ],
};

export const SCALE_PARTS = ['tickets', 'plans', 'finished', 'issues', 'status'];

/**
 * Whether cost stays the same as work and age grow. Large sizes are written as finished files; the last tickets are run and
 * measured. CPU is that of the engine and of the supervisors of its jobs, from the first agents' ends to the last one's.
 */
export async function measureScale(bench, sizes, parts = SCALE_PARTS) {
  const rows = [];
  for (const part of parts) rows.push(...(await PARTS[part](bench, sizes)));
  return rows;
}

const PARTS = {
  async tickets(bench, { tickets: [few, many], measured, rounds }) {
    const { ours, floor } = await compare(bench, rounds, {
      floor: () => runTickets(bench, { count: few, measured }),
      ours: () => runTickets(bench, { count: many, measured }),
    });
    const peak = summary(ours.map((run) => run.peakMb));
    return [
      ...flatRows('tickets', `${many} tickets : ${few}`, ours, floor),
      row({
        id: 'scale-memory',
        what: `  peak memory, ${many} tickets`,
        unit: 'MB',
        ours: peak,
        goal: `< ${MOST_MB} MB`,
        ok: peak.median < MOST_MB,
      }),
    ];
  },
  async plans(bench, { plans: [few, many], measured, rounds }) {
    const { ours, floor } = await compare(bench, rounds, {
      floor: () => runPlans(bench, { plans: few, measured }),
      ours: () => runPlans(bench, { plans: few, waiting: many - few, measured }),
    });
    return flatRows('plans', `${many} plans : ${few}`, ours, floor);
  },
  async finished(bench, { plans: [plans], finished, measured, rounds }) {
    const { ours, floor } = await compare(bench, rounds, {
      floor: () => runPlans(bench, { plans, measured }),
      ours: () => runPlans(bench, { plans, finished, measured }),
    });
    return [
      ...flatRows('finished', `beside ${finished} finished plans : none`, ours, floor),
      row({
        id: 'scale-start',
        what: '  from the start to the first agent',
        unit: 'ms',
        ours: summary(ours.map((run) => run.start)),
        floor: summary(floor.map((run) => run.start)),
        goal: `≤ floor + ${MOST_START_MS} ms`,
        limit: (none) => none + MOST_START_MS,
      }),
    ];
  },
  issues: (bench, { finished, rounds }) => [measureIssueRun(bench, { finished, rounds: rounds * 5 })],
  status: (bench, { finished, rounds }) => [measureStatus(bench, { finished, rounds: rounds * 5 })],
};

/** Turn by turn, since the machine is never quiet. */
async function compare(bench, rounds, variants) {
  const runs = { floor: [], ours: [] };
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const [name, run] of Object.entries(variants)) {
      const { cpu, wall, start, peakMb } = await run();
      runs[name].push({ cpu, wall, start, peakMb });
      const each = `${cpu.toFixed(1)} CPU ms and ${wall.toFixed(1)} ms per ticket`;
      const more = `first agent after ${start.toFixed(0)} ms, ${peakMb.toFixed(0)} MB`;
      bench.progress(`scale ${turn + 1}/${rounds}, ${name === 'ours' ? 'many' : 'few'}: ${each}, ${more}`);
    }
  }
  return runs;
}

function flatRows(id, what, ours, floor) {
  const line = (kind, text, most) => {
    const of = (runs) => summary(runs.map((run) => run[kind]));
    const goal = { goal: `≤ ${most}x`, limit: (small) => small * most };
    return row({
      id: `scale-${id}-${kind}`,
      what: text,
      unit: 'ms',
      ours: of(ours),
      floor: of(floor),
      ...goal,
    });
  };
  return [
    line('cpu', `CPU per ticket, ${what}`, MOST_CPU),
    line('wall', '  wall time per ticket', MOST_WALL),
  ];
}

/** One plan in a foreground run. Of a large one the first tickets are complete. */
async function runTickets(bench, { count, measured }) {
  const home = scaleHome(bench, 'tickets');
  const open = Math.min(count, measured);
  writePlan(home, { count, extra: (index) => (index < count - open ? DONE : {}) });
  return timed(
    bench,
    home,
    ['run', 'bench'],
    ticketIds(count)
      .slice(-open)
      .map((id) => ['bench', id]),
  );
}

/** A daemon with plans of several tickets each, beside plans that wait for a person and plans that are finished. */
async function runPlans(bench, { plans, waiting = 0, finished = 0, measured }) {
  const home = scaleHome(bench, 'plans');
  const each = Math.max(1, Math.round(measured / plans));
  for (let number = 0; number < waiting; number += 1) {
    const blockedBy = (index) => (index > 0 ? ['t1'] : []);
    const held = { status: 'needs_attention', since: AT, error: 'a person has to look' };
    const extra = (index) => (index > 0 ? {} : held);
    writePlan(home, { id: `wait-${number}`, count: 2, blockedBy, extra });
  }
  writeFinished(home, finished);
  const ids = Array.from({ length: plans }, (_, number) => `work-${number}`);
  for (const id of ids) writePlan(home, { id, count: each });
  const tickets = ids.flatMap((id) => ticketIds(each).map((ticketId) => [id, ticketId]));
  return timed(bench, home, ['daemon'], tickets);
}

function scaleHome(bench, name) {
  const settings = { concurrency: CONCURRENCY, workflow: 'minimal', pollInterval: 10 };
  return writeHome(bench.sandbox.place(name), { ...settings, stub: bench.env.BENCH_STUB });
}

/** Every other one is archived. */
function writeFinished(home, count) {
  for (let number = 0; number < count; number += 1) {
    const status = number % 2 > 0 ? 'archived' : 'complete';
    writePlan(home, { id: `old-${number}`, count: 2, extra: () => DONE, status });
  }
}

/** Runs a command until these tickets are complete. */
async function timed(bench, home, args, tickets) {
  const stamps = join(home.dir, 'times');
  const out = openSync(home.log, 'a');
  const [command, ...rest] = [...bench.cli, ...args, '-C', home.config];
  const began = now();
  const child = spawn(command, rest, {
    cwd: home.repo,
    env: { ...bench.env, BENCH_TIMES: stamps },
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  remember(child);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const seen = await follow(child, stamps, tickets.length);
    if (args[0] === 'daemon') await untilComplete(home, tickets);
    else await ended;
    const lost = tickets.filter(([plan, id]) => readTicket(home, id, plan).status !== 'complete');
    bench.count(
      tickets.length,
      lost.map(([plan, id]) => `${plan}/${id} is not complete`),
    );
    return { ...seen, start: seen.first - began };
  } catch (error) {
    throw new Error(`${error.message}\n${tailOf(home.log)}`);
  } finally {
    child.kill('SIGTERM');
    await ended;
    forget(child);
  }
}

/** Measures a process between the ends of its first and its last agents. */
async function follow(child, stamps, count) {
  let from;
  for (const deadline = performance.now() + 240_000; ; await delay(20)) {
    const lines = linesOf(stamps);
    const seen = { cpu: cpuOf(child.pid), at: now(), lines: lines.length, peakMb: peakOf(child.pid) / 1024 };
    if (lines.length >= Math.min(CONCURRENCY, count / 4)) from ??= seen;
    if (lines.length >= count) {
      const done = seen.lines - from.lines;
      const supervisors = lines.slice(from.lines).reduce((sum, line) => sum + line.supervisor, 0);
      return {
        cpu: ((seen.cpu - from.cpu) * 1000 + supervisors) / done,
        wall: (seen.at - from.at) / done,
        peakMb: seen.peakMb,
        first: Math.min(...lines.map((line) => line.began)),
      };
    }
    if (child.exitCode !== null)
      throw new Error(`it ended with ${child.exitCode} after ${lines.length} agents`);
    if (performance.now() > deadline) throw new Error(`only ${lines.length} of ${count} agents ran`);
  }
}

/** Their agents have ended; what is left takes moments. */
async function untilComplete(home, tickets) {
  const left = new Set(tickets);
  for (const deadline = performance.now() + 20_000; left.size > 0; await delay(20)) {
    for (const each of left) if (readTicket(home, each[1], each[0]).status === 'complete') left.delete(each);
    if (performance.now() > deadline) return;
  }
}

const now = () => performance.timeOrigin + performance.now();

function linesOf(stamps) {
  if (!existsSync(stamps)) return [];
  const lines = readFileSync(stamps, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const [, began, , nanoseconds] = line.split(' ');
    return { began: Number(began) * 1000, supervisor: Number(nanoseconds) / 1e6 };
  });
}

/** `status` of a plan with open tickets, beside finished plans, against a node that does nothing. */
function measureStatus(bench, { finished, rounds }) {
  const home = writeHome(bench.sandbox.place('status'), {
    concurrency: 1,
    stub: bench.env.BENCH_STUB,
    state: 'home/state',
  });
  mkdirSync(join(home.state, 'plans'), { recursive: true });
  writeFinished(home, finished);
  writePlan(home, { id: 'open', count: 20 });
  const env = { ...bench.env, SIGNALBOX_HOME: join(home.dir, 'home') };
  const at = { cwd: home.dir, env };
  const times = timesOf(rounds, {
    ours: { ...at, words: [...bench.cli, 'status'] },
    node: { ...at, words: [process.execPath, '-e', '0'] },
  });
  return row({
    id: 'scale-status',
    what: `status beside ${finished} finished plans`,
    unit: 'ms',
    ours: summary(times.ours),
    floor: summary(times.node),
    goal: `≤ ${MOST_STATUS}x`,
    limit: (floor) => floor * MOST_STATUS,
  });
}

/** The start of a run of an issue, which looks for earlier work: beside finished runs of other issues, and beside none. */
function measureIssueRun(bench, { finished, rounds }) {
  const variant = (name, count) => {
    const home = scaleHome(bench, name);
    for (let number = 0; number < count; number += 1) {
      const source = (index) => ({
        key: `number:${1000 + 2 * number + index}`,
        number: 1000 + 2 * number + index,
      });
      const extra = (index) => ({ ...DONE, source: source(index) });
      const run = { kind: 'run', run: { mode: 'parallel', missing: [] } };
      const status = number % 2 > 0 ? 'archived' : 'complete';
      writePlan(home, {
        id: `run-${number}`,
        count: 2,
        idOf: (index) => `${source(index).number}`,
        extra,
        status,
        more: run,
      });
    }
    writePlan(home, { id: 'open', count: 20 });
    const words = [...bench.cli, 'run', '--task', 'Fix the login', '--dry-run', '-C', home.config];
    return { words, cwd: home.repo, env: bench.env };
  };
  const times = timesOf(rounds, { ours: variant('issues', finished), none: variant('no-issues', 0) });
  return row({
    id: 'scale-issues',
    what: `start of an issue run beside ${finished} finished plans : none`,
    unit: 'ms',
    ours: summary(times.ours),
    floor: summary(times.none),
    goal: `≤ floor + ${MOST_START_MS} ms`,
    limit: (none) => none + MOST_START_MS,
  });
}

/** How long commands take, one after the other in each turn. The first two turns only warm up. */
function timesOf(rounds, commands) {
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  for (let turn = -2; turn < rounds; turn += 1) {
    for (const [name, { words, cwd, env }] of Object.entries(commands)) {
      const [command, ...args] = words;
      const began = performance.now();
      const { status, stderr } = spawnSync(command, args, { cwd, env, maxBuffer: 64 << 20 });
      if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
      if (turn >= 0) times[name].push(performance.now() - began);
    }
  }
  return times;
}
