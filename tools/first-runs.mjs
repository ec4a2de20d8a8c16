// Commands that are run once at build time, to record the modules they load and the code that V8 compiles for them.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const CONFIG = ['-C', '../run.yaml'];
// Ordered by how much they load.
const RUNS = [
  { name: 'status', argv: ['cli.cjs', 'status'], shows: 'second' },
  { name: 'settings', argv: ['cli.cjs', 'status', ...CONFIG], shows: 'second' },
  { name: 'agent', argv: ['rehearsal.js', '--session', 's', '--access', 'write'], shows: 'result' },
  { name: 'help', argv: ['cli.cjs', '--help'], shows: 'Usage' },
  { name: 'logs', argv: ['cli.cjs', 'logs', 'p', ...CONFIG], shows: '' },
  { name: 'checks', argv: ['cli.cjs', 'checks', ...CONFIG], shows: 'No checks' },
  { name: 'workflow', argv: ['cli.cjs', 'workflow', 'list', ...CONFIG], shows: 'minimal' },
  { name: 'plan', argv: ['cli.cjs', 'plan', 'check', 'p', ...CONFIG], shows: 'can run' },
  { name: 'forge', argv: ['cli.cjs', 'forge', 'poll', 'p', 't2', ...CONFIG], shows: 'no remote', code: 2 },
  { name: 'run', argv: ['cli.cjs', 'run', 'p', ...CONFIG], shows: '2 of 2 done' },
];

/** Runs all of them with the build in `dist`; `onExit` is code that runs at the end of each and may write to `$NOTED`. */
export function firstRuns(dist, onExit) {
  const scratch = mkdtempSync(join(tmpdir(), 'signalbox-build-'));
  const noted = join(scratch, 'noted.json');
  const hook = join(scratch, 'hook.cjs');
  try {
    writeHome(scratch, resolve(dist));
    return RUNS.map(({ name, argv: [file, ...args], shows, code = 0 }) => {
      const loader = join(resolve(dist), file === 'cli.cjs' ? file : 'load.cjs');
      writeFileSync(hook, hookText(loader, onExit));
      const { status, stdout, stderr } = start(
        process.execPath,
        ['--require', hook, join(resolve(dist), file), ...args],
        { scratch, env: { NOTED: noted } },
      );
      if (status !== code || !(stdout + stderr).includes(shows))
        throw new Error(`the first ${name} of a new build ended with ${status}: ${stdout}${stderr}`);
      return { name, noted: existsSync(noted) ? JSON.parse(readFileSync(noted, 'utf8')) : undefined };
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** V8 takes compiled code only under the flags under which it was made: they never change here. */
const hookText = (loader, onExit) => `require('node:v8').setFlagsFromString = () => undefined;
process.once('exit', () => {
  const loader = require(${JSON.stringify(loader)});
  ${onExit}
});
`;

function start(program, args, { scratch, env }) {
  const home = { PATH: process.env.PATH, HOME: scratch, SIGNALBOX_HOME: scratch, TMPDIR: scratch };
  // A variable of ours would make `status` load the settings.
  const rehearsal = args.includes('status') ? {} : { SIGNALBOX_REHEARSAL: join(scratch, 'scenario.yaml') };
  const options = { cwd: join(scratch, 'repo'), env: { ...home, ...rehearsal, ...env } };
  return spawnSync(program, args, { ...options, input: 'Do it.', encoding: 'utf8', timeout: 60_000 });
}

/** A home with a plan of two tickets, one of which is complete, and a repository with one commit. */
function writeHome(scratch, dist) {
  const at = '2026-01-01T00:00:00.000Z';
  const attempt = { phase: 'implement', status: 'success', startedAt: at, completedAt: at };
  const history = [{ ...attempt, outcome: 'success' }];
  const done = { status: 'complete', currentPhase: 'complete', since: at, phaseHistory: history };
  const plan = { id: 'p', status: 'active', repo: join(scratch, 'repo') };
  const tickets = [
    { planId: 'p', ticketId: 't1', title: 'first', ...done },
    { planId: 'p', ticketId: 't2', title: 'second' },
  ];
  const entries = tickets.map(({ ticketId }) => ({ ticketId }));
  const agents = { rehearsal: { command: join(dist, 'rehearsal.js') } };
  const files = {
    '.gitconfig': '[user]\n  name = Signalbox\n  email = signalbox@localhost\n',
    'run.yaml': JSON.stringify({
      defaultAgent: 'rehearsal',
      defaultWorkflow: 'minimal',
      stateDir: 'state',
      agents,
    }),
    'scenario.yaml': '- when: {ticket: "*"}\n  do: [write: {path: a.md, append: "a\\n"}, commit: A line]\n',
    'state/plans/p/plan.json': JSON.stringify({ ...plan, tickets: entries }),
    'repo/a.md': '',
  };
  for (const ticket of tickets)
    files[`state/plans/p/tickets/${ticket.ticketId}.json`] = JSON.stringify(ticket);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(scratch, name)), { recursive: true });
    writeFileSync(join(scratch, name), text);
  }
  for (const command of ['init -q -b main', 'add .', 'commit -q -m Begin']) {
    const { status, stderr } = start('git', command.split(' '), { scratch });
    if (status !== 0) throw new Error(`git ${command} ended with ${status}: ${stderr}`);
  }
}
