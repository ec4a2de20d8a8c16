import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { errorIn } from '../cli/support.ts';
import { waitFor } from '../support/index.ts';
import { starts } from './events.ts';
import { CLI, it, TmuxServer } from './tmux-server.ts';

/** Plan p with two windows, of which one is finished. */
async function shown(server: TmuxServer): Promise<void> {
  const { world } = server;
  world.plan('p', { tickets: { '1.1': {}, '1.2': {} } });
  const view = server.view({ session: 'my.run', cli: server.follower() });
  for (const ticketId of ['1.1', '1.2']) view.listen(starts(ticketId));
  await view.close();
  world.go('1.1');
  await server.ends('1.1', 'my_run');
}

/** Where a terminal writes the exit code of what was typed: tmux may never learn it on a busy machine. */
const codeFile = ({ world }: TmuxServer) => join(world.dir, 'attach-code');

/** A terminal in which a person types `signalbox attach`. */
function terminal(server: TmuxServer, words: string[], variables: string[]): string {
  const { HOME, PATH, SIGNALBOX_HOME } = server.env;
  const env = [`HOME=${HOME}`, `PATH=${PATH}`, `SIGNALBOX_HOME=${SIGNALBOX_HOME}`, 'TERM=screen'];
  const keep = ['set-option', '-g', 'remain-on-exit', 'on', ';'];
  const open = ['new-session', '-d', '-P', '-F', '#{pane_id}', '-s', 'terminal', '-x', '120', '-y', '30'];
  server.tmux('start-server', ';', ...keep, ...open, 'cat', '-');
  const pane = server.tmux('display-message', '-p', '-t', '=terminal:', '#{pane_id}');
  const command = ['env', ...variables, ...env, ...CLI, 'attach', ...words];
  const noting = ['sh', '-c', '"$@"; echo $? > "$0"', codeFile(server)];
  server.tmux('respawn-pane', '-k', '-t', pane, ...noting, ...command);
  return pane;
}

const clientsOf = (server: TmuxServer, session: string) =>
  server.tmux('list-clients', '-t', `=${session}:`, '-F', '#{session_name}');

describe.concurrent('attach', () => {
  it.for([
    ['the run that was shown last', [], '1:task-1.1- 2:task-1.2*'],
    ['a ticket', ['1.1'], '1:task-1.1* 2:task-1.2-'],
  ] as const)('goes to the windows of %s', async ([, words, windows], { server }) => {
    await shown(server);
    const outside = new TmuxServer(server.world);
    try {
      const pane = terminal(outside, [...words], ['-u', 'TMUX']);
      await waitFor('the client', () => clientsOf(server, 'my_run') === 'my_run', {
        state: () => outside.text(pane),
      });
      await outside.shows(pane, `[my_run] ${windows}`);
      server.tmux('detach-client', '-s', '=my_run:');
      const code = () => existsSync(codeFile(outside)) && readFileSync(codeFile(outside), 'utf8').trim();
      expect(await waitFor('its exit code', code)).toBe('0');
    } finally {
      outside.kill();
    }
  });

  it('switches where one is in that server already', async ({ server }) => {
    await shown(server);
    const outside = new TmuxServer(server.world);
    try {
      server.tmux('new-session', '-d', '-s', 'mine', 'cat', '-');
      const look = ['env', '-u', 'TMUX', 'tmux', '-L', server.name, 'attach-session', '-t', '=mine:'];
      outside.tmux('new-session', '-d', '-s', 'screen', ...look);
      await waitFor('somebody in the other session', () => clientsOf(server, 'mine') === 'mine');
      const pane = server.tmux('display-message', '-p', '-t', '=mine:', '#{pane_id}');
      const { HOME, SIGNALBOX_HOME } = server.env;
      const env = [`HOME=${HOME}`, `SIGNALBOX_HOME=${SIGNALBOX_HOME}`];
      server.tmux('respawn-pane', '-k', '-t', pane, 'env', ...env, ...CLI, 'attach', 'p');
      await waitFor('the switch', () => clientsOf(server, 'my_run') === 'my_run');
    } finally {
      outside.kill();
    }
  });

  it('does not put one server into another', async ({ server }) => {
    await shown(server);
    const other = new TmuxServer(server.world);
    try {
      const pane = terminal(other, ['p'], []);
      const text = await other.shows(pane, 'In a terminal outside tmux: tmux -S ');
      expect(text).toContain('❌ The session is in another tmux server than the one you are in.');
    } finally {
      other.kill();
    }
  });

  it('lists session and windows as JSON', async ({ world, server }) => {
    await shown(server);
    const socket = server.tmux('display-message', '-p', '#{socket_path}');
    expect(await world.json('attach')).toEqual({
      planId: 'p',
      session: 'my_run',
      socket,
      attached: false,
      windows: [
        { window: '@1', pane: '%1', name: 'task-1.1', ticket: 'p/1.1', finished: true },
        { window: '@2', pane: '%2', name: 'task-1.2', ticket: 'p/1.2', finished: false },
      ],
    });
  });

  it('takes the run of this repository without a name', async ({ world, server }) => {
    await shown(server);
    const other = join(world.dir, 'other');
    mkdirSync(join(other, '.git'), { recursive: true });
    world.plan('there', { repo: other, tickets: { a: { repo: null } } });
    const record = (plan: string) => world.planFile(plan).replace('plan.json', 'tmux.json');
    copyFileSync(record('p'), record('there'));
    utimesSync(record('p'), 1, 1);
    const shownIn = async (cwd: string) =>
      (JSON.parse((await world.invoke(['attach', '--json'], {}, cwd).ended).out) as { planId: string })
        .planId;
    expect(await shownIn(world.repo)).toBe('p');
    expect(await shownIn(world.dir)).toBe('there');
  });

  it('needs a terminal', async ({ world, server }) => {
    await shown(server);
    const { code, err } = await world.cli('attach', 'p');
    expect(code).toBe(2);
    expect(err).toBe('❌ attach needs a terminal.\n   Watch it here with: signalbox logs p --follow\n');
  });

  it('says when the session is gone, or was never there', async ({ world, server }) => {
    await shown(server);
    server.kill();
    const ended = await world.cli('attach', 'p', '--json');
    expect(ended.code).toBe(2);
    expect(errorIn(ended)).toMatchObject({
      code: 'tmux/gone',
      message: 'The tmux session my_run of plan "p" is gone.',
      hint: 'What it showed is kept: signalbox logs p',
    });
    world.plan('q', { tickets: { a: {} } });
    expect((await world.cli('attach', 'q')).err).toContain(
      '❌ No run of plan "q" has opened tmux windows yet.',
    );
    expect((await world.cli('attach', 'nope')).err).toContain('❌ There is no plan "nope".');
    rmSync(world.planFile('p').replace('plan.json', 'tmux.json'));
    expect((await world.cli('attach')).err).toContain('❌ No run has opened tmux windows yet.');
  });
});
