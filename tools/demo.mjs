// Shows Signalbox at work on a scratch repository: four tickets, the rehearsal agent, no key and no network.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { OUTLOOK, PLAN_ID, planFiles } from './demo/plan.mjs';
import { problemsOf } from './demo/verify.mjs';

const FAILED = 1;
let began = performance.now();
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cli = join(root, 'dist', 'cli.cjs');
const { clean, plain, web } = options();
const color = process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
const paint = (code) => (text) => (color ? `\u001b[${code}m${text}\u001b[0m` : text);
const [bold, dim, red, green, cyan] = [1, 2, 31, 32, 36].map(paint);
const say = (...lines) => process.stdout.write(`${lines.join('\n')}\n`);

if (!existsSync(cli)) {
  process.stderr.write('dist/cli.cjs is missing; run: npm run build\n');
  process.exit(1);
}
const scratch = mkdtempSync(join(tmpdir(), 'signalbox-demo-'));
const repo = join(scratch, 'teatime');
const home = join(scratch, 'signalbox');
const env = environment();

let child;
// Ctrl-C reaches the command too, and it knows how to stop.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child?.kill('SIGTERM'));
process.exitCode = await main().catch((error) => fail([error.message]));
if (clean && process.exitCode !== FAILED) rmSync(scratch, { recursive: true, force: true });

async function main() {
  prepare();
  introduce();
  const page = web ? await servePage() : undefined;
  const code = page && !(await isWanted()) ? leave(130) : await walk();
  await page?.end(code);
  return code;
}

async function walk() {
  const code = await show('signalbox', ['run', PLAN_ID, ...(plain ? ['--plain'] : [])]);
  if (code === 130 || code === 143) return leave(code);
  if (code !== 0) return fail([`signalbox run ended with code ${code}`]);

  say('', dim('# You have main checked out, so the work waits on signalbox/main. Take it:'));
  for (const [name, ...args] of [
    ['git', 'merge', '--ff-only', 'signalbox/main'],
    ['signalbox', 'status'],
    ['git', 'log', '--graph', '--oneline', '--decorate'],
    ['node', 'bin/teatime.js', 'oolong'],
  ]) {
    const ended = await show(name, args);
    if (ended !== 0) return fail([`${name} ${args[0]} ended with code ${ended}`]);
    say('');
  }
  const problems = problemsOf(outcome());
  return problems.length > 0 ? fail(problems) : end();
}

function options() {
  const known = { clean: { type: 'boolean' }, plain: { type: 'boolean' }, web: { type: 'boolean' } };
  try {
    return parseArgs({ options: known }).values;
  } catch (error) {
    process.stderr.write(`${error.message}\nUsage: npm run demo [-- --clean] [--plain] [--web]\n`);
    process.exit(2);
  }
}

/** Nothing of the user's reaches the demo but the way to git and node, and how the terminal looks. */
function environment() {
  const kept = ['TERM', 'COLORTERM', 'NO_COLOR', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'];
  const given = kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  return {
    ...Object.fromEntries(given),
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: join(scratch, 'home'),
    SIGNALBOX_HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_PAGER: 'cat',
    NPM_CONFIG_UPDATE_NOTIFIER: 'false',
  };
}

function prepare() {
  mkdirSync(env.HOME);
  cpSync(join(root, 'rehearsals', 'demo-project'), repo, { recursive: true });
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Signalbox demo');
  git('config', 'user.email', 'demo@localhost');
  git('config', 'merge.stat', 'false');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Teatime 0.1');
  const scenario = JSON.stringify(join(root, 'rehearsals', 'demo.yaml'));
  const files = {
    'config.yaml': `maxConcurrency: 4\nagents:\n  rehearsal:\n    defaultArgs: [--scenario, ${scenario}]\n`,
    ...Object.fromEntries(Object.entries(planFiles(repo)).map(([name, text]) => [join('state', name), text])),
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
}

function introduce() {
  const id = Math.max(...OUTLOOK.map((ticket) => ticket.ticketId.length));
  const title = Math.max(...OUTLOOK.map((ticket) => ticket.title.length));
  say(
    '',
    `${bold('Signalbox demo')}: a plan of four tickets, and an agent without key or network.`,
    '',
    ...OUTLOOK.map((ticket) =>
      `  ${cyan(ticket.ticketId.padEnd(id))}  ${ticket.title.padEnd(title)}  ${dim(ticket.note)}`.trimEnd(),
    ),
    '',
    'Each ticket gets a git worktree of its own and walks the workflow "local":',
    '',
    '  setup → implement → checks → self_review → integrate → cleanup',
    dim(`${' '.repeat(14)}↑${'─'.repeat(9)}┴${'─'.repeat(11)}┴${'─'.repeat(12)}┘ what fails goes back`),
    '',
    `${dim('$')} cd ${quote(repo)}`,
    `${dim('$')} export SIGNALBOX_HOME=${quote(home)}`,
  );
}

/** Runs a command where the reader sees it, as it would be typed. */
function show(name, args) {
  say(`${dim('$')} ${bold([name, ...args].map(quote).join(' '))}`);
  const command = name === 'signalbox' ? [process.execPath, cli, ...args] : [name, ...args];
  child = spawn(command[0], command.slice(1), { cwd: repo, env, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/** Serves the page of the demo and waits until it says where. It stays after the demo, on a terminal, until Ctrl-C. */
async function servePage() {
  say(`${dim('$')} ${bold('signalbox web --port 0')} ${dim('&')}`);
  const isShown = process.stdout.isTTY === true;
  const args = [cli, 'web', '--port', '0'];
  const server = spawn(process.execPath, args, {
    cwd: repo,
    env,
    stdio: ['ignore', isShown ? 'inherit' : 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => server.once('close', resolve));
  server.stdout?.pipe(process.stdout, { end: false });
  const served = join(home, 'state', 'web.json');
  while (!existsSync(served) && server.exitCode === null) await delay(20);
  return {
    async end(code) {
      if (isShown && code === 0) {
        say('');
        await show('signalbox', ['web']);
        say('Ctrl-C ends it.');
      } else server.kill('SIGTERM');
      await ended;
    },
  };
}

/** On a terminal, waits for Enter: the demo would be over before the link is opened. False after Ctrl-C. */
function isWanted() {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return true;
  say('Open the link, then press Enter here to start the demo.');
  const lines = createInterface({ input: process.stdin });
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve(false));
    lines.once('line', () => resolve(true));
    lines.once('close', () => resolve(true));
  }).finally(() => {
    lines.close();
    began = performance.now();
  });
}

function git(...args) {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: repo, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${error?.message ?? stderr.trim()}`);
  return stdout.trim();
}

function outcome() {
  const dir = join(home, 'state', 'plans', PLAN_ID);
  const read = (name) => JSON.parse(readFileSync(join(dir, name), 'utf8'));
  const tickets = OUTLOOK.map(({ ticketId }) => read(join('tickets', `${ticketId}.json`)));
  const merged = git('branch', '--merged', 'main', '--format=%(refname:short)').split('\n');
  return { plan: read('plan.json'), tickets, merged };
}

function end() {
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  say(
    `${green('✓')} ${bold(`Four tickets merged in ${seconds} s.`)}`,
    '  cli waited for parser, docs passed its second review, and cache continued',
    '  in the same session after its usage limit.',
    '',
    ...(clean ? [`The scratch directory ${scratch} is removed.`] : next()),
  );
  return 0;
}

function next() {
  const commands = {
    [`npx signalbox logs ${PLAN_ID} docs`]: 'all that its agents said and did',
    [`npx signalbox diff ${PLAN_ID} parser`]: 'the work of one ticket',
    [`npx signalbox sessions ${PLAN_ID} cache`]: 'the session that outlived the limit',
    'npx signalbox workflow graph local': 'the workflow, drawn',
    'npx signalbox --help': 'everything else',
  };
  const width = Math.max(...Object.keys(commands).map((command) => command.length));
  return [
    'Where to look next, from this directory:',
    '',
    `  export SIGNALBOX_HOME=${quote(home)}`,
    ...Object.entries(commands).map(([command, about]) => `  ${command.padEnd(width)}  ${dim(`# ${about}`)}`),
    '',
    'The way to your own repository is in docs/getting-started.md.',
    `Kept, until you delete it: ${scratch}`,
  ];
}

function leave(code) {
  say('', clean ? `Stopped, and ${scratch} is removed.` : `Stopped. Kept, until you delete it: ${scratch}`);
  return code;
}

function fail(problems) {
  say('', ...problems.map((problem) => `${red('✗')} ${problem}`), `Kept, to find out why: ${scratch}`);
  return FAILED;
}

function quote(text) {
  return /^[\w./@+=:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
