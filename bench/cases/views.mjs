import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { forget, remember } from '../lib/process.mjs';
import { row } from '../lib/rows.mjs';
import { summary } from '../lib/stats.mjs';

const TRANSCRIPT = '/plans/views/tickets/T-1?attempt=work%231%231';
const LAST = 'The last line of all.';
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
];

/** The page of `signalbox web` in Chromium, next to an empty page; and the memory of its server. */
export async function measureViews(bench, { tickets, megabytes, events, rounds }) {
  const root = join(bench.sandbox.root, 'views');
  const home = join(root, 'home');
  writePlan(home, tickets, megabytes);
  return [
    ...(await measurePage(bench, { root, home, tickets, megabytes, rounds })),
    ...(await measureServer(bench, { root, home, events, rounds })),
  ];
}

function writePlan(home, tickets, megabytes) {
  const plan = join(home, 'state', 'plans', 'views');
  mkdirSync(join(plan, 'tickets'), { recursive: true });
  writeFileSync(join(home, 'config.yaml'), '{}\n');
  const at = new Date(Date.now() - 3_600_000).toISOString();
  const ids = Array.from({ length: tickets }, (_, index) => `T-${index + 1}`);
  for (const [index, ticketId] of ids.entries()) {
    const isBegun = index % 3 > 0 || index === 0;
    const attempt = {
      phase: 'work',
      visit: 1,
      attempt: 1,
      status: 'failure',
      startedAt: at,
      completedAt: at,
      agent: 'claude',
      outcome: 'failure',
    };
    const ticket = {
      ...{ planId: 'views', ticketId, title: `Ticket number ${index + 1} of a large plan`, since: at },
      ...(isBegun
        ? {
            status: index % 3 === 1 ? 'complete' : 'failed',
            error: `check ${index} failed`,
            currentPhase: 'work',
            phaseHistory: [attempt],
          }
        : { status: 'queued' }),
    };
    writeFileSync(join(plan, 'tickets', `${ticketId}.json`), JSON.stringify(ticket));
  }
  const entries = ids.map((ticketId) => ({ ticketId, order: 0, blockedBy: [] }));
  const head = { id: 'views', name: 'Views', status: 'active', createdAt: at, repo: home, workflow: 'none' };
  writeFileSync(join(plan, 'plan.json'), JSON.stringify({ ...head, tickets: entries }));
  const job = join(home, 'state', 'jobs', 'views', 'T-1', 'work.1.1');
  mkdirSync(job, { recursive: true });
  writeFileSync(
    join(job, 'command.json'),
    JSON.stringify({ argv: ['claude'], agent: { adapter: 'claude' } }),
  );
  const says = (text) =>
    `${JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text }] } })}\n`;
  const tool = (id) =>
    `${JSON.stringify({ type: 'assistant', message: { content: [{ type: 'tool_use', id, name: 'Bash', input: { command: 'npm test' } }] } })}\n` +
    `${JSON.stringify({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'a line of output\n'.repeat(30) }] } })}\n`;
  const piece = Array.from(
    { length: 1000 },
    (_, at) => says(`Step ${at} of the work, in a sentence.`) + tool(`call-${at}`),
  ).join('');
  for (let size = 0; size < megabytes * 1e6; size += piece.length) appendFileSync(join(job, 'stdout'), piece);
  appendFileSync(join(job, 'stdout'), says(LAST));
}

/** Starts the server and tells where it is. */
async function startServer(bench, { root, home }) {
  const env = { PATH: process.env.PATH, HOME: root, SIGNALBOX_HOME: home };
  const child = spawn(bench.cli[0], [bench.cli[1], 'web', '--port', '0', '--json'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  remember(child);
  const line = await new Promise((resolve) => child.stdout.once('data', (chunk) => resolve(String(chunk))));
  const { url, tokenFile } = JSON.parse(line);
  const token = readFileSync(tokenFile, 'utf8').trim();
  const end = async () => {
    await new Promise((resolve) => child.once('exit', resolve).kill('SIGTERM'));
    forget(child);
  };
  return { url, token, pid: child.pid, end };
}

async function measurePage(bench, { root, home, tickets, megabytes, rounds }) {
  const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
  if (!program) return [row({ id: 'views', what: 'the page', unit: 's', note: 'needs Chromium' })];
  const { chromium } = await import('playwright-core');
  const server = await startServer(bench, { root, home });
  const empty = createServer((_, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end('<!doctype html><title>floor</title><p class="row">row'),
  );
  await new Promise((resolve) => empty.listen(0, '127.0.0.1', resolve));
  const browser = await chromium.launch({ executablePath: program, args: ARGS });
  try {
    const page = await browser.newPage();
    await page.goto(`${server.url}?token=${server.token}`);
    await page.waitForSelector('.row');
    const timed = async (work) => {
      const began = performance.now();
      await work();
      return performance.now() - began;
    };
    const [first, floor, last, tasks] = [[], [], [], []];
    for (let round = 0; round < rounds; round++) {
      floor.push(
        await timed(async () => {
          await page.goto(`http://127.0.0.1:${empty.address().port}/`, { waitUntil: 'commit' });
          await page.waitForSelector('.row');
        }),
      );
      first.push(
        await timed(async () => {
          await page.goto(server.url, { waitUntil: 'commit' });
          await page.waitForSelector('.row');
        }),
      );
      last.push(
        await timed(async () => {
          await page.evaluate((to) => {
            const link = document.createElement('a');
            link.href = to;
            document.body.append(link);
            link.click();
          }, TRANSCRIPT);
          await page.waitForFunction(
            (text) => document.querySelector('.scroller')?.textContent.includes(text),
            LAST,
          );
        }),
      );
      tasks.push(await longestTask(page));
      bench.progress(
        `page: first row ${first.at(-1).toFixed(0)} ms, last line ${last.at(-1).toFixed(0)} ms, longest task ${tasks.at(-1)} ms`,
      );
    }
    const floorOf = summary(floor);
    return [
      row({
        id: 'views-first-row',
        what: `page: first row of ${tickets} tickets`,
        unit: 'ms',
        ours: summary(first),
        floor: floorOf,
        goal: '< 1 s',
        ok: summary(first).median < 1000,
      }),
      row({
        id: 'views-last-line',
        what: `page: last line of ${megabytes} MB`,
        unit: 'ms',
        ours: summary(last),
        floor: floorOf,
        goal: '< 1 s',
        ok: summary(last).median < 1000,
      }),
      row({
        id: 'views-page-ups',
        what: '  longest task in 100 page-ups',
        unit: 'ms',
        ours: summary(tasks),
        goal: '≤ 100 ms',
        ok: summary(tasks).median <= 100,
      }),
    ];
  } finally {
    await browser.close();
    empty.close();
    await server.end();
  }
}

/** Milliseconds of the longest task while a transcript is scrolled up by 100 pages. Browsers report tasks above 50. */
async function longestTask(page) {
  await page.evaluate(() => {
    window.tasks = [];
    window.observer?.disconnect();
    window.observer = new PerformanceObserver((list) =>
      window.tasks.push(...list.getEntries().map(({ duration }) => duration)),
    );
    window.observer.observe({ type: 'longtask' });
  });
  await page.focus('.scroller');
  for (let count = 0; count < 100; count++) await page.keyboard.press('PageUp');
  return page.evaluate(() => Math.max(50, ...window.tasks));
}

const MOST_GROWTH_MB = 20;
const BATCH = 2000;

async function measureServer(bench, { root, home, events, rounds }) {
  if (!existsSync('/proc/self/status'))
    return [row({ id: 'views-memory', what: 'memory of the server', unit: 'MB', note: 'needs /proc' })];
  const growth = [];
  for (let round = 0; round < rounds; round++)
    growth.push(await growthOfServer(bench, { root, home, events }));
  return [
    row({
      ...{ id: 'views-memory', what: `server: growth over ${events} events`, unit: 'MB' },
      ...{ ours: summary(growth), goal: `< ${MOST_GROWTH_MB} MB` },
      ok: summary(growth).median < MOST_GROWTH_MB,
    }),
  ];
}

/** Memory that a server takes more while events are stored, with two readers and one that never reads. */
async function growthOfServer(bench, { root, home, events }) {
  const server = await startServer(bench, { root, home });
  const megabytes = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024;
  const seen = [0, 0];
  const ask = (take) =>
    new Promise((resolve) =>
      get(
        `${server.url}api/v1/live`,
        { agent: false, headers: { authorization: `Bearer ${server.token}` } },
        (answer) => resolve(take(answer)),
      ),
    );
  const streams = [];
  for (const at of [0, 1])
    streams.push(
      await ask((answer) => {
        answer.on('data', (chunk) => {
          seen[at] += String(chunk).split('"type":"bench"').length - 1;
        });
        return answer;
      }),
    );
  streams.push(await ask((answer) => answer.pause()));
  const file = join(home, 'state', 'plans', 'views', 'events.jsonl');
  let stored = 0;
  const store = async (until) => {
    while (stored < until) {
      const lines = Array.from({ length: BATCH }, (_, at) =>
        JSON.stringify({
          v: 1,
          at: new Date().toISOString(),
          type: 'bench',
          planId: 'views',
          ticketId: `T-${at % 1000}`,
          number: stored + at,
        }),
      );
      appendFileSync(file, `${lines.join('\n')}\n`);
      stored += BATCH;
      // Readers that fall behind get the latest; here all of them keep up.
      await delay(20);
      for (let waited = 0; waited < 200 && Math.min(...seen) < stored - 1500; waited++) await delay(20);
    }
  };
  try {
    const warm = events / 10;
    await store(warm);
    const before = megabytes();
    await store(events + warm);
    const after = megabytes();
    bench.progress(
      `server: ${before.toFixed(0)} MB, after ${events} events ${after.toFixed(0)} MB, read ${seen.join(' and ')}`,
    );
    return Math.max(0, after - before);
  } finally {
    for (const stream of streams) stream.destroy();
    await server.end();
    rmSync(file, { force: true });
  }
}
