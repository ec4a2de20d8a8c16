import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writeHome, writePlan } from '../lib/plans.mjs';
import { cpuOf, forget, remember } from '../lib/process.mjs';
import { row } from '../lib/rows.mjs';
import { summary } from '../lib/stats.mjs';

const EVENTS_PER_SECOND = 10;
const MAX_SHARE = 0.05;
const START_MS = 3000;

/** Writes what was recorded, piece by piece and as fast as it came. */
const REPLAY = `const { readFileSync } = require('node:fs');
const [, , bytes, timing] = process.argv;
const data = readFileSync(bytes);
const pieces = readFileSync(timing, 'utf8').trim().split('\\n').map((line) => line.split(' ').map(Number));
let at = 0;
(async () => {
  for (const [seconds, count] of pieces) {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    process.stdout.write(data.subarray(at, (at += count)));
  }
  setInterval(() => undefined, 1000);
})();
`;

/** CPU of `top` while tickets change, beside a node that writes the same bytes at the same times. Needs `script` and /proc. */
export async function measureTop(bench, { tickets, seconds, rounds }) {
  const what = `top, ${tickets} tickets, ${EVENTS_PER_SECOND} events a second, ${seconds} s`;
  if (spawnSync('script', ['--version']).status !== 0 || process.platform !== 'linux')
    return [row({ id: 'top', what, unit: 'cpu s', note: 'needs script and /proc' })];
  const place = bench.sandbox.place('top');
  const home = writeHome(place, { concurrency: 4, stub: bench.env.BENCH_STUB, state: 'home/state' });
  const extra = (index) => ({ status: index % 10 === 0 ? 'failed' : 'queued', error: 'it broke' });
  writePlan(home, { count: tickets, extra });
  const env = { ...bench.env, SIGNALBOX_HOME: join(home.dir, 'home'), TERM: 'xterm-256color' };
  const [ours, floor] = [[], []];
  let replayed = Promise.resolve();
  for (let turn = 0; turn < rounds; turn += 1) {
    const [bytes, timing] = [join(home.dir, `bytes-${turn}`), join(home.dir, `timing-${turn}`)];
    const command = [...bench.cli, 'top', '--all', '-C', home.config];
    const record = ['--quiet', '--flush', '--log-out', bytes, '--log-timing', timing];
    ours.push(await cpuInTerminal(command, record, { home, env, seconds, changes: true }));
    await replayed;
    const replay = join(home.dir, 'replay.cjs');
    writeFileSync(replay, REPLAY);
    // The first line is a note of `script`.
    const written = readFileSync(bytes);
    writeFileSync(bytes, written.subarray(written.indexOf(10) + 1));
    const again = [process.execPath, replay, bytes, timing];
    // It takes next to no CPU, so the next round need not wait for it.
    replayed = cpuInTerminal(again, ['--quiet', '--log-out', '/dev/null'], { home, env, seconds }).then(
      (cpu) => {
        floor.push(cpu);
        bench.progress(`top: ${ours[turn].toFixed(2)} s of CPU, floor ${cpu.toFixed(2)} s`);
      },
    );
  }
  await replayed;
  const goal = `< ${MAX_SHARE * 100} % of a core`;
  const limit = () => seconds * MAX_SHARE;
  return [row({ id: 'top', what, unit: 'cpu s', ours: summary(ours), floor: summary(floor), goal, limit })];
}

/** CPU seconds of a command in a terminal of 120 by 40, after its start. */
async function cpuInTerminal(argv, record, { home, env, seconds, changes = false }) {
  const words = argv.map((word) => `'${word}'`).join(' ');
  const command = `stty cols 120 rows 40; exec ${words}`;
  const child = spawn('script', [...record, '--command', command], {
    cwd: home.dir,
    env,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  remember(child);
  try {
    await delay(START_MS);
    const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());
    const before = cpuOf(pid);
    for (let count = 0; count < seconds * EVENTS_PER_SECOND; count += 1) {
      if (changes) changeTicket(home, count);
      await delay(1000 / EVENTS_PER_SECOND);
    }
    return cpuOf(pid) - before;
  } finally {
    child.kill('SIGTERM');
    forget(child);
  }
}

/** Another reason for one of the failed tickets, which are all at the top of the board. */
function changeTicket(home, count) {
  const ticketId = `t${1 + (count % 10) * 10}`;
  const file = join(home.state, 'plans', 'bench', 'tickets', `${ticketId}.json`);
  const ticket = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(`${file}.new`, JSON.stringify({ ...ticket, error: `it broke at ${count}` }));
  renameSync(`${file}.new`, file);
}
