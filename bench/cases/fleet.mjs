import { spawn } from 'node:child_process';
import { appendFileSync, chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeHome, writePlan } from '../lib/plans.mjs';
import { startPostgres } from '../lib/postgres.mjs';
import { cpuOf, forget, measure, remember } from '../lib/process.mjs';
import { row } from '../lib/rows.mjs';
import { tailOf } from '../lib/sandbox.mjs';
import { summary } from '../lib/stats.mjs';

const SLOTS = 8;

/** A fleet on a PostgreSQL of its own, against the file store with the same work. */
export async function measureFleet(bench, sizes) {
  const dir = join(bench.sandbox.root, 'postgres');
  mkdirSync(dir);
  // PostgreSQL refuses to run as root, so another user has to reach its files.
  chmodSync(bench.sandbox.root, 0o711);
  const postgres = await startPostgres(dir);
  const fleet = { bench, postgres, databases: 0, sizes };
  try {
    return [
      ...(await hundredTickets(fleet)),
      ...(await refill(fleet)),
      ...(await idle(fleet)),
      ...(await fourWorkers(fleet)),
    ];
  } finally {
    await postgres.stop();
  }
}

/** A store with its schema. */
async function newStore({ bench, postgres, ...fleet }, of) {
  of.databases += 1;
  const name = `bench_${of.databases}`;
  await postgres.query('postgres', `create database ${name}`);
  const store = { name, env: { ...bench.env, ...fleet.env, SIGNALBOX_STORE: postgres.address(name) } };
  await cli(bench, store, ['fleet', 'init'], bench.sandbox.place('init'));
  return store;
}

async function cli(bench, { env }, args, { repo, log, config }) {
  const argv = [...bench.cli, ...args, ...(config ? ['-C', config] : [])];
  const run = await measure(argv, { cwd: repo, env, log });
  if (run.code !== 0) throw new Error(`${args.join(' ')} ended with ${run.code}:\n${tailOf(log)}`);
  return run;
}

/** A machine with a clone of its own. Without an origin there is nothing to push to. */
function newHome(bench, { concurrency, origin = false }) {
  const home = writeHome(bench.sandbox.place('machine'), {
    phases: 1,
    concurrency,
    stub: bench.env.BENCH_STUB,
  });
  appendFileSync(
    home.config,
    `repos: {acme/bench: ${JSON.stringify(home.repo)}}\nmemory: {agentMegabytes: 0}\n`,
  );
  if (!origin) bench.sandbox.git(['remote', 'remove', 'origin'], home.repo);
  return { ...home, stamps: join(home.dir, 'times') };
}

async function startWorker(bench, { env }, home, slots) {
  const out = openSync(home.log, 'a');
  const [command, ...args] = [...bench.cli, 'worker', '--plain', '--slots', String(slots), '-C', home.config];
  const child = spawn(command, args, {
    cwd: home.repo,
    env: { ...env, BENCH_TIMES: home.stamps },
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  remember(child);
  child.ended = new Promise((resolve) => child.once('exit', resolve));
  await until(() => readFileSync(home.log, 'utf8').includes('takes tickets'), `a worker (${home.log})`);
  return child;
}

async function end(workers) {
  for (const worker of workers) worker.kill('SIGINT');
  for (const worker of workers) {
    await worker.ended;
    forget(worker);
  }
}

/** Runs a plan of the store while workers drive it, and returns how long that took. */
async function runOnFleet(bench, store, home, { id = 'bench', count, repo = home.repo }) {
  writePlan({ ...home, repo }, { id, count });
  await cli(bench, store, ['fleet', 'import', id], home);
  const run = await cli(bench, store, ['run', id, '--plain'], home);
  bench.count(count, []);
  return run;
}

async function hundredTickets(fleet) {
  const { bench, sizes } = fleet;
  const { count } = sizes;
  const times = { files: [], fleet: [], pushed: [] };
  for (let turn = 0; turn < sizes.rounds; turn += 1) {
    const plain = newHome(bench, { concurrency: SLOTS });
    writePlan(plain, { count });
    times.files.push((await cli(bench, bench, ['run', 'bench', '--plain'], plain)).ms);
    for (const [key, origin] of [
      ['fleet', false],
      ['pushed', true],
    ]) {
      const store = await newStore(fleet, fleet);
      const home = newHome(bench, { concurrency: SLOTS, origin });
      const worker = await startWorker(bench, store, home, SLOTS);
      times[key].push((await runOnFleet(bench, store, home, { count })).ms);
      await end([worker]);
    }
    bench.progress(
      `fleet ${turn + 1}/${sizes.rounds}: ${times.fleet.at(-1).toFixed(0)} ms, files ${times.files.at(-1).toFixed(0)} ms`,
    );
  }
  const [files, ours, pushed] = [times.files, times.fleet, times.pushed].map(summary);
  const what = `${count} tickets, one worker of ${SLOTS} slots; files as floor`;
  return [
    row({
      id: 'fleet-tickets',
      what,
      unit: 's',
      ours,
      floor: files,
      goal: '≤ 2x',
      limit: (floor) => floor * 2,
    }),
    row({ id: 'fleet-pushes', what: '  with hand-over pushes', unit: 's', ours: pushed, floor: files }),
  ];
}

/** From the end of a ticket to the agent of the next one, with one slot, while others wait. */
async function refill(fleet) {
  const { bench, sizes, postgres } = fleet;
  const count = sizes.refills;
  const plain = newHome(bench, { concurrency: 1 });
  writePlan(plain, { count });
  await cli(bench, { env: { ...bench.env, BENCH_TIMES: plain.stamps } }, ['run', 'bench', '--plain'], plain);
  const events = readFileSync(join(plain.state, 'plans/bench/events.jsonl'), 'utf8').trim().split('\n');
  const floor = summary(gaps(events, plain.stamps));
  const store = await newStore(fleet, fleet);
  const home = newHome(bench, { concurrency: 1 });
  const worker = await startWorker(bench, store, home, 1);
  await runOnFleet(bench, store, home, { count });
  const rows = await postgres.query(store.name, 'select doc from signalbox.events order by number');
  const ours = summary(
    gaps(
      rows.map(({ doc }) => doc),
      home.stamps,
    ),
  );
  await delay(sizes.idleSeconds * 1000);
  const began = now();
  await runOnFleet(bench, store, home, { id: 'later', count: 1 });
  const [{ at }] = await postgres.query(
    store.name,
    "select min(extract(epoch from at)) * 1000 as at from signalbox.events where plan_id = 'later' and doc like '%attempt:start%'",
  );
  const agent = linesOf(home.stamps).at(-1).began;
  const [{ stored }] = await postgres.query(
    store.name,
    "select min(extract(epoch from at)) * 1000 as stored from signalbox.commands where about = 'later'",
  );
  await end([worker]);
  bench.progress(
    `fleet: ${count} slots filled again; ${(agent - began).toFixed(0)} ms with the import, event at ${(Number(at) - began).toFixed(0)}`,
  );
  const first = summary([agent - Number(stored)]);
  return [
    row({
      id: 'fleet-refill',
      what: 'ticket complete → next agent runs, one slot',
      unit: 'ms',
      ours,
      floor,
      goal: '< 100 ms',
      ok: ours.median < 100,
    }),
    row({
      id: 'fleet-first',
      what: 'plan stored → agent runs, after idling',
      unit: 'ms',
      ours: first,
      goal: '< 1000 ms',
      ok: first.median < 1000,
    }),
  ];
}

/** Milliseconds from each completion to the start of the next agent. */
function gaps(docs, stamps) {
  const starts = linesOf(stamps).map(({ began }) => began);
  const ends = docs
    .map((doc) => JSON.parse(doc))
    .filter(({ type, status }) => type === 'ticket:status' && status === 'complete')
    .map(({ at }) => Date.parse(at));
  return ends.flatMap((at) => {
    const next = starts.filter((start) => start > at);
    return next.length > 0 ? [Math.min(...next) - at] : [];
  });
}

async function idle(fleet) {
  const { bench, sizes, postgres } = fleet;
  const store = await newStore(fleet, fleet);
  const workers = [];
  for (let number = 0; number < 4; number += 1)
    workers.push(await startWorker(bench, store, newHome(bench, { concurrency: 1 }), 1));
  await delay(5_000);
  const used = () => workers.reduce((sum, { pid }) => sum + cpuOf(pid), 0) + postgres.cpu();
  const before = used();
  await delay(sizes.idleSeconds * 1000);
  const part = (used() - before) / sizes.idleSeconds;
  await end(workers);
  const ours = summary([100 * part]);
  return [
    row({
      id: 'fleet-idle',
      what: 'four idle workers and PostgreSQL, % of a core',
      unit: '%',
      ours,
      goal: '< 10 %',
      ok: ours.median < 10,
    }),
  ];
}

/** Tickets per second of four workers with one slot each, against those of one worker; and the most connections that they have then. */
async function fourWorkers(fleet) {
  const { bench, sizes, postgres } = fleet;
  const connections = new Map();
  const perSecond = async (number) => {
    const store = await newStore({ ...fleet, env: { BENCH_SLEEP: String(sizes.sleep) } }, fleet);
    const origin = newHome(bench, { concurrency: 1, origin: true });
    const homes = Array.from({ length: number }, () => newHome(bench, { concurrency: 1, origin: true }));
    const workers = [];
    for (const home of homes) workers.push(await startWorker(bench, store, home, 1));
    const count = 4 * number;
    let isOver = false;
    const counting = (async () => {
      let most = 0;
      for (; !isOver; await delay(50)) {
        const [{ open }] = await postgres.query(store.name, OPEN_CONNECTIONS);
        most = Math.max(most, open);
      }
      connections.set(number, most);
    })();
    const run = await runOnFleet(bench, store, origin, { count, repo: 'acme/bench' });
    isOver = true;
    await counting;
    await end(workers);
    return count / run.ms;
  };
  const one = await perSecond(1);
  const four = await perSecond(4);
  const ours = summary([four / one]);
  return [
    row({
      id: 'fleet-scale',
      what: `throughput of four workers, agents sleep ${sizes.sleep} s; one as floor`,
      unit: 'x',
      ours,
      floor: summary([1]),
      goal: '≥ 3.6x',
      ok: ours.median >= 3.6,
    }),
    ...[1, 4].map((number) => {
      const [most, allowed] = [connections.get(number), 5 * number + 2];
      return row({
        id: `fleet-connections-${number}`,
        what: `connections of ${number === 1 ? 'a worker' : `${number} workers`} and a command`,
        unit: 'connections',
        ours: summary([most]),
        goal: `≤ ${allowed}`,
        ok: most <= allowed,
      });
    }),
  ];
}

const OPEN_CONNECTIONS =
  'select count(*)::integer as open from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';

const now = () => performance.timeOrigin + performance.now();

function linesOf(stamps) {
  if (!existsSync(stamps)) return [];
  const lines = readFileSync(stamps, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => ({ began: Number(line.split(' ')[1]) * 1000 }));
}

async function until(check, what) {
  const deadline = performance.now() + 30_000;
  while (!check()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await delay(10);
  }
}
