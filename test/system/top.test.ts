import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { FleetWorld } from '../support/fleet.ts';
import { waitFor } from '../support/index.ts';
import { CLI, it, TmuxServer } from './tmux-server.ts';

const URL = 'https://example.test/pull/7';

/** A plan with a ticket in every section, and a run that drives it; then a shell in which `start` is the board. */
async function board(server: TmuxServer, { columns = 80, rows = 24, preload = '' } = {}) {
  const { world } = server;
  world.agent('agent', 'echo "reading the code"; note working; go; commit');
  world.workflow('asks', [
    { id: 'ask', type: 'gate', prompt: 'Ship it?', on: { yes: 'done', no: 'gone' } },
    { id: 'done', type: 'terminal' },
    { id: 'gone', type: 'terminal', notify: true },
  ]);
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
  world.script('break', 'echo "it broke"; exit 3');
  world.workflow('breaks', [{ id: 'build', type: 'script', command: 'break' }]);
  world.plan('p', {
    createdAt: '2026-01-01T00:00:00.000Z',
    tickets: {
      asks: { workflow: 'asks', title: 'Ask first' },
      breaks: { workflow: 'breaks', title: 'Break' },
      works: { title: 'Work' },
      later: { blockedBy: ['works'], title: 'Later' },
      done: { status: 'complete', title: 'Done', context: { pr_url: URL } },
    },
  });
  const run = world.start(['run', 'p'], {}, world.repo);
  await world.call('working');
  await world.reaches('p', 'breaks', 'failed');
  await world.reaches('p', 'asks', 'needs_attention');
  const file = join(world.dir, 'rc');
  const own = { ...world.env, SHELL: '/bin/sh', PS1: 'prompt> ', GIT_PAGER: 'less', USER: 'jo' };
  const env = Object.entries(own).map(([name, value]) => `export ${name}='${value}'\n`);
  const [node, cli] = CLI;
  const command = `'${node}' ${preload && `--require '${preload}'`} '${cli}' top`;
  writeFileSync(
    file,
    `${env.join('')}unset DISPLAY WAYLAND_DISPLAY\nPS1='prompt> '\nstart() { ${command}; }\n`,
  );
  const size = ['-x', String(columns), '-y', String(rows)];
  const bash = `bash --noprofile --rcfile '${file}' -i`;
  server.tmux('new-session', '-d', '-s', 'run', ...size, '-c', world.repo, bash);
  const text = () => server.tmux('capture-pane', '-p', '-t', 'run');
  const type = (...keys: string[]) => server.tmux('send-keys', '-t', 'run', ...keys);
  const shows = (what: RegExp) => waitFor(String(what), () => what.test(text()), { state: text });
  const start = async () => {
    type('start', 'Enter');
    await shows(/2 need you · 1 running · 1 waiting · 1 done|!2 ●1 ◌1 ✓1/);
  };
  /** Moves down to a ticket. */
  const select = async (ticketId: string) => {
    type('Home');
    for (const each of ['asks', 'breaks', 'works', 'later', 'done']) {
      if (each === ticketId) break;
      type('j');
    }
    await shows(new RegExp(`^▸ . ${ticketId}\\b`, 'm'));
  };
  await shows(/prompt>/);
  type('echo before', 'Enter');
  await shows(/^before$/m);
  await start();
  return { type, shows, text, start, select, run };
}

/** Of the process that shows the board. */
function pidOf(server: TmuxServer): number {
  const shell = server.tmux('display-message', '-p', '-t', 'run', '#{pane_pid}');
  return Number(execFileSync('pgrep', ['-P', shell], { encoding: 'utf8' }).trim());
}

/** The screen from before is back, with a cursor, and the shell reads lines. */
async function restored(server: TmuxServer, { type, shows, text }: Awaited<ReturnType<typeof board>>) {
  await shows(/^before\n/m);
  await shows(/prompt>$/);
  expect(text()).not.toContain('need you');
  const flags = '#{alternate_on} #{cursor_flag} #{wrap_flag}';
  expect(server.tmux('display-message', '-p', '-t', 'run', flags)).toBe('0 1 1');
  type('echo typed', 'Enter');
  await shows(/^typed$/m);
}

/** What a key opens for a ticket, and the key that leaves it. */
const OPENED = [
  ['asks', 'a', /^Answer p\/asks: /m, 'Escape'],
  ['breaks', 'r', /^Retry p\/breaks /m, 'n'],
  ['breaks', 's', /^Skip: continue p\/breaks /m, 'Escape'],
  ['works', 'p', /^Pause p\/works /m, 'n'],
  ['breaks', 'Enter', /^it broke[\s\S]*\(END\)$/m, 'q'],
  ['works', 'Enter', /^The log of p\/works[\s\S]*^reading the code/m, 'C-c'],
  ['breaks', 'w', /^p\/breaks waits until [\s\S]*^prompt>$/m, 'C-d'],
  ['works', 'd', /^p\/works has changed nothing yet/m, 'x'],
  ['works', 'e', /^p\/works has no session yet/m, 'x'],
  ['done', 'o', /^The pull request of p\/done/m, 'x'],
] as const;

for (const [columns, rows] of [
  [120, 40],
  [80, 24],
  [40, 12],
] as const)
  describe.concurrent(`the board in tmux at ${columns} by ${rows}`, () => {
    it('selects, filters, groups, helps, follows another size and gives the screen back', async ({
      server,
    }) => {
      const top = await board(server, { columns, rows });
      const { type, shows, select, text } = top;
      await shows(/^▸ ! asks /m);
      await shows(/q quit$/m);
      type('End');
      await shows(/^▸ ✓ done/m);
      type('PPage');
      await shows(/^▸ ! asks /m);
      type('NPage', 'k');
      await shows(/^▸ ◌ later /m);
      type('Home', 'Down', 'Down', 'Up');
      await shows(/^▸ ✗ breaks /m);
      type('?');
      await shows(/pause it, or resume it/);
      type('x');
      await shows(/^▸ ✗ breaks /m);
      type('/');
      type('-l', 'work');
      await shows(/Filter: work▏/);
      await waitFor('only what has the word', () => !/ breaks /.test(text()), { state: text });
      type('Enter');
      await shows(/^only “work”$/m);
      type('Escape');
      type('f');
      await shows(/^only what needs you$/m);
      type('f', 'g');
      await shows(/^grouped by plan$/m);
      type('g', 'g');
      await select('works');
      if (rows > 20) await shows(/^── p\/works[\s\S]*^reading the code$/m);
      server.tmux('resize-window', '-t', 'run', '-x', String(columns + 7), '-y', String(rows + 3));
      await waitFor('the last row', () => /q quit$/.test(text()) && text().split('\n').length === rows + 3, {
        state: text,
      });
      expect(text()).toMatch(/^▸ ● works /m);
      type('q');
      await restored(server, top);
      server.world.go();
      await top.run.ended;
    });

    it('opens what each key is for, and comes back', async ({ server }) => {
      const { type, shows, select } = await board(server, { columns, rows });
      for (const [ticketId, key, opens, leave] of OPENED) {
        await select(ticketId);
        type(key);
        await shows(opens);
        type(leave);
        await shows(/q quit$/);
      }
    });
  });

describe.concurrent('the keys of the board in tmux', () => {
  it('a, r, p and s ask, name the ticket, and are refused in the words of the command line', async ({
    server,
  }) => {
    const { world } = server;
    const { type, shows } = await board(server);
    type('a');
    await shows(/^Answer p\/asks: Ship it\? \(yes \| no\)/m);
    type('Right');
    type('-l', 'fine');
    await shows(/Message, or none: fine▏/);
    type('Enter');
    await shows(/p\/asks is complete at done\./);
    expect((await world.reaches('p', 'asks', 'complete')).context).toMatchObject({ ask_message: 'fine' });
    await shows(/^Need you \(1\)$/m);
    type('Home');
    await shows(/^▸ ✗ breaks /m);
    type('p');
    await shows(/^Cannot pause p\/breaks: it is failed\.$/m);
    expect((await world.cli('pause', 'p', 'breaks')).err).toContain('Cannot pause p/breaks: it is failed.');
    type('r');
    await shows(/^Retry p\/breaks \(Break\)\? It starts again at build\.$/m);
    type('n');
    await shows(/^Nothing was changed\.$/m);
    type('r', 'y');
    await shows(/^p\/breaks is (ready|queued|running|failed)/m);
    await world.reaches(
      'p',
      'breaks',
      ({ phaseHistory, status }) => phaseHistory.length === 2 && status === 'failed',
    );
    await shows(/^Need you \(1\)$/m);
    type('Home', 'j');
    await shows(/^▸ ● works /m);
    type('p');
    await shows(/^Pause p\/works \(Work\)\? Its agent is stopped\.$/m);
    type('y');
    await world.reaches('p', 'works', 'paused');
    await shows(/^p\/works is paused at build\.$/m);
    await shows(/^▸ ‖ works /m);
    type('p');
    await shows(/^Resume p\/works \(Work\)\?$/m);
    type('y');
    await shows(/^p\/works is (ready|running)/m);
    type('Home', 's');
    await shows(/^Skip: continue p\/breaks at which phase\?$/m);
    type('Escape');
    await shows(/^Nothing was changed\.$/m);
    const doors = world
      .events('p')
      .flatMap((event) => (event.type === 'command' ? [`${event.command} ${event.by} ${event.door}`] : []));
    expect(doors).toEqual(['respond jo top', 'retry jo top', 'pause jo top', 'resume jo top']);
  });

  it('Enter, d, o, w and e give the normal screen to a program, and the board comes back', async ({
    server,
  }) => {
    const { world } = server;
    const { type, shows, select, text } = await board(server);
    await select('breaks');
    type('Enter', 'Enter');
    await shows(/it broke[\s\S]*\(END\)/);
    type('q');
    await shows(/^▸ ✗ breaks /m);
    expect(spawnSync('pgrep', ['-P', String(pidOf(server))], { encoding: 'utf8' }).stdout).toBe('');
    await select('works');
    type('Enter');
    await shows(/^The log of p\/works\. Ctrl-C returns to the board\.[\s\S]*reading the code/m);
    type('C-c');
    await shows(/^▸ ● works /m);
    type('w');
    await shows(/^The agent of p\/works continues to work in [\s\S]*prompt>$/m);
    type('git branch --show-current', 'Enter');
    await shows(/^ticket\/p\/works$/m);
    server.tmux('resize-window', '-t', 'run', '-x', '100', '-y', '30');
    type('exit', 'Enter');
    await shows(/^▸ ● works [\s\S]*^── p\/works · Work · agent ─{70,}$/m);
    type('d');
    await shows(/^p\/works has changed nothing yet\.$/m);
    type('e');
    await shows(/^p\/works has no session yet\.$/m);
    await select('done');
    type('o');
    await shows(new RegExp(`^The pull request of p/done: ${URL}$`, 'm'));
    type('w');
    await shows(/^p\/done has no worktree yet: it has not started\.$/m);
    await select('breaks');
    type('w');
    await shows(/^p\/breaks waits until you leave its worktree [\s\S]*prompt>$/m);
    expect(world.ticket('p', 'breaks').claim?.by).toBe('session');
    type('echo one > one.txt; git add one.txt; git commit -qm one; exit', 'Enter');
    await shows(/^▸ ✗ breaks /m);
    expect(world.ticket('p', 'breaks').claim).toBeNull();
    type('d');
    await shows(/^\+one$/m);
    type('q');
    await shows(/Retry: signalbox retry p breaks|Reject: /);
    expect(text()).toMatch(/^▸ ✗ breaks /m);
  });
});

describe.concurrent('the key e in tmux', () => {
  it('continues the session of an agent, and the ticket waits until that is left', async ({ server }) => {
    const { world } = server;
    const { type, shows, select, text } = await board(server);
    const program = join(world.dir, 'claude');
    writeFileSync(program, '#!/bin/sh\necho "continuing $*"; read -r word; echo "heard $word"\n', {
      mode: 0o755,
    });
    const config = JSON.parse(world.read('home/config.yaml'));
    const agents = { ...config.agents, claude: { adapter: 'claude', command: program } };
    writeFileSync(join(world.home, 'config.yaml'), JSON.stringify({ ...config, agents }));
    const ticket = world.ticket('p', 'breaks');
    const [attempt] = ticket.phaseHistory;
    world.writeTicket('p', 'breaks', {
      ...ticket,
      phaseHistory: [{ ...attempt, agent: 'claude', sessionId: 's-1' }],
    });
    await select('works');
    type('e');
    await shows(/^p\/works has no session yet\.$/m);
    // The board that is shown has read the settings before.
    type('q');
    await shows(/prompt>$/);
    expect(text()).not.toContain('waits until');
    type('start', 'Enter');
    await shows(/2 need you/);
    await select('breaks');
    type('e');
    await shows(/^p\/breaks waits until you leave this session\.[\s\S]*^continuing --resume s-1$/m);
    expect(world.ticket('p', 'breaks').claim?.by).toBe('session');
    type('bye', 'Enter');
    await shows(/^▸ ✗ breaks /m);
    await world.reaches('p', 'breaks', 'failed');
    expect(world.ticket('p', 'breaks').claim).toBeNull();
  });
});

describe('the board of a fleet in tmux', () => {
  it('follows other machines, names them, and keeps its last frame while the store is gone', async () => {
    const fleet = await FleetWorld.open();
    const { world } = fleet;
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
    const machine = { host: 'build-2', state: '/elsewhere' };
    const tickets = {
      a: { status: 'failed', error: 'it broke', currentPhase: 'build', machine },
      b: { title: 'Second' },
    } as const;
    world.plan('p', { repo: 'acme/scratch', tickets });
    await fleet.upload('p');
    const server = new TmuxServer(world);
    const file = join(world.dir, 'rc');
    const env = Object.entries({ ...world.env, ...fleet.env(), SHELL: '/bin/sh' });
    writeFileSync(file, env.map(([name, value]) => `export ${name}='${value}'\n`).join(''));
    const words = `. '${file}'; exec '${CLI[0]}' '${CLI[1]}' top --all`;
    server.tmux('new-session', '-d', '-s', 'run', '-x', '100', '-y', '24', '-c', world.repo, words);
    onTestFinished(() => server.kill());
    const text = () => server.tmux('capture-pane', '-p', '-t', 'run');
    const shows = (what: RegExp) => waitFor(String(what), () => what.test(text()), { state: text });
    const type = (...keys: string[]) => server.tmux('send-keys', '-t', 'run', ...keys);
    await shows(/^▸ ✗ a /m);
    for (const key of ['w', 'e']) {
      type(key);
      await shows(
        /^p\/a is on build-2: its worktree and its sessions are there\.\nOn build-2: signalbox top p$/m,
      );
      type('Escape');
      await waitFor('the notice to go', () => !text().includes('its sessions are there'));
    }
    expect((await fleet.cli('pause', 'p', 'b')).code).toBe(0);
    await shows(/^ {2}‖ b /m);
    type('j', 'p', 'y');
    await shows(/^p\/b is (queued|ready)/m);
    expect(fleet.store.events('p').filter(({ type: each }) => each === 'command')).toMatchObject([
      { command: 'pause', door: 'cli' },
      { command: 'resume', door: 'top' },
    ]);
    await fleet.setReachable(false);
    await shows(/^Not up to date: [\s\S]*✗ a /m);
    await fleet.setReachable(true);
    await waitFor('a board that is current', () => !text().includes('Not up to date'), { state: text });
    type('q');
    await waitFor('its end', () => !server.can('has-session', '-t', 'run'));
  });
});

describe.concurrent('a board whose state directory is moved away', () => {
  it('keeps its last frame with its age, refuses commands, and continues when it is back', async ({
    server,
  }) => {
    const { world } = server;
    world.plan('p', { tickets: { a: { status: 'failed', error: 'it broke', currentPhase: 'build' } } });
    const command = `SIGNALBOX_HOME='${world.home}' '${CLI[0]}' '${CLI[1]}' top --all`;
    server.tmux('new-session', '-d', '-s', 'run', '-x', '200', '-y', '24', '-c', world.dir, command);
    const text = () => server.tmux('capture-pane', '-p', '-t', 'run');
    const shows = (what: RegExp) => waitFor(String(what), () => what.test(text()), { state: text });
    await shows(/^▸ ✗ a /m);
    const away = `${world.stateDir}-away`;
    renameSync(world.stateDir, away);
    await shows(/^Not up to date: [\s\S]*is missing\.[\s\S]*^▸ ✗ a /m);
    for (const keys of [['Enter'], ['r', 'y']]) {
      server.tmux('send-keys', '-t', 'run', ...keys);
      await shows(/^The directory .* is missing\.$/m);
      server.tmux('send-keys', '-t', 'run', 'j');
      await waitFor('the notice to go', () => !/^The directory/m.test(text()));
    }
    expect(existsSync(world.stateDir)).toBe(false);
    renameSync(away, world.stateDir);
    await waitFor('a board that is current', () => !text().includes('Not up to date'), { state: text });
    await shows(/^▸ ✗ a /m);
  });
});

describe.concurrent('a board that ends', () => {
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
    ['SIGINT', 0],
  ] as const)
    it(`by ${signal} gives the screen back, with exit code ${code}`, async ({ server }) => {
      const top = await board(server);
      process.kill(pidOf(server), signal);
      await restored(server, top);
      top.type('clear; start; echo "code $?"', 'Enter');
      await top.shows(/2 need you/);
      // Ctrl-C leaves the log alone.
      if (signal !== 'SIGINT') {
        await top.select('works');
        top.type('Enter');
        await top.shows(/^The log of p\/works[\s\S]*reading the code/m);
      }
      process.kill(pidOf(server), signal);
      await top.shows(new RegExp(`^code ${code}$`, 'm'));
    });

  it('at once where the terminal cannot move its cursor, or in a pipe: one frame is printed', async ({
    server,
  }) => {
    const top = await board(server);
    const { type, shows } = top;
    type('q');
    await restored(server, top);
    type('clear; TERM=dumb start; echo "code $?"', 'Enter');
    await shows(/2 need you · 1 running[\s\S]*Done \(1\)[\s\S]*^code 0$/m);
    type('clear; start | cat; echo "piped"', 'Enter');
    await shows(/2 need you · 1 running[\s\S]*Done \(1\)[\s\S]*^piped$/m);
    expect(server.tmux('display-message', '-p', '-t', 'run', '#{alternate_on}')).toBe('0');
  });

  it('by a crash gives the screen back before the error is printed', async ({ server }) => {
    const preload = join(server.world.dir, 'crash.cjs');
    writeFileSync(preload, "process.on('SIGUSR2', () => { throw new Error('a crash'); });");
    const top = await board(server, { preload });
    process.kill(pidOf(server), 'SIGUSR2');
    await top.shows(/Error: a crash/);
    await restored(server, top);
  });

  it('leaves the screen to the shell at Ctrl-Z, waits in the background, and comes back', async ({
    server,
  }) => {
    const top = await board(server);
    const { type, shows } = top;
    type('C-z');
    await shows(/Stopped[\s\S]*prompt>$/);
    const pid = pidOf(server);
    type('bg', 'Enter');
    await shows(/top &/);
    const isStopped = () => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    await waitFor('a board that stops in the background', isStopped);
    type('jobs', 'Enter');
    await shows(/jobs\n.*Stopped/);
    server.tmux('resize-window', '-t', 'run', '-x', '100', '-y', '30');
    type('fg', 'Enter');
    await shows(/2 need you[\s\S]*^── p\/asks · Ask first ─{70,}$[\s\S]*q quit$/m);
    type('j');
    await shows(/^▸ ✗ breaks /m);
    type('q');
    await restored(server, top);
  });
});
