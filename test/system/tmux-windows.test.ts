import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { waitFor } from '../support/index.ts';
import { becomes, starts } from './events.ts';
import { it } from './tmux-server.ts';

const PLAN = { tickets: { a: {} } };

describe.concurrent('windows', () => {
  it('are named after their tickets, dots and all, in a session whose name tmux would change', async ({
    world,
    server,
  }) => {
    world.plan('p', PLAN);
    const view = server.view({ session: 'sequential-v1.2: auth', cli: server.follower() });
    expect(view.session).toBe('sequential-v1_2_-auth');
    for (const ticketId of ['1', '1.1', '1.1.1', '2']) view.listen(starts(ticketId));
    await view.close();
    expect(server.names(view.session)).toEqual(['task-1', 'task-1.1', 'task-1.1.1', 'task-2']);
    for (const ticketId of ['1', '1.1', '1.1.1', '2']) {
      const { pane } = server.paneOf(ticketId, view.session);
      await server.shows(pane, `called logs p ${ticketId} --follow --until-rest\n`);
    }
    expect(server.tmux('list-sessions', '-F', '#{session_name}')).toBe(view.session);
    expect(server.problems).toEqual([]);
  });

  it('are in the session of that very name, not in one that begins with it', async ({ world, server }) => {
    world.plan('p', PLAN);
    server.tmux('new-session', '-d', '-s', 'foo-bar', 'cat', '-');
    const before = server.panes('foo-bar');
    const view = server.view({ session: 'foo', cli: server.follower() });
    view.listen(starts('1.1'));
    view.listen(starts('2'));
    await view.close();
    expect(server.names('foo')).toEqual(['task-1.1', 'task-2']);
    expect(server.panes('foo-bar')).toEqual(before);
  });

  it('of two repositories do not share a session, though they ask for the same one', async ({
    world,
    server,
  }) => {
    world.plan('p', PLAN);
    const views = ['/one', '/two', '/one'].map((repo) => server.view({ repo, cli: server.follower() }));
    for (const view of views) {
      view.listen(starts('1'));
      await view.close();
    }
    expect(views.map(({ session }) => session)).toEqual(['run', 'run-2', 'run']);
    expect([server.names('run'), server.names('run-2')]).toEqual([['task-1'], ['task-1']]);
    expect(server.problems).toEqual(['The session run shows another repository; the windows are in run-2.']);
  });

  it('join a session that is there already and leave its other windows alone', async ({ world, server }) => {
    world.plan('p', PLAN);
    server.tmux('new-session', '-d', '-s', 'run', '-n', 'mine', 'cat', '-');
    const view = server.view({ cli: server.follower(), limit: 1 });
    for (const ticketId of ['1', '2', '3']) {
      view.listen(starts(ticketId));
      await view.close();
      view.listen(becomes(ticketId, 'complete'));
    }
    await view.close();
    expect(server.names()).toEqual(['mine', 'task-3']);
  });

  it('of finished tickets are closed above the limit, the oldest first; forty tickets go through', async ({
    world,
    server,
  }) => {
    world.plan('p', PLAN);
    const view = server.view({ cli: server.follower(), limit: 12 });
    const ids = Array.from({ length: 40 }, (_, index) => `${index + 1}.1`);
    for (const ticketId of ids) {
      view.listen(starts(ticketId));
      await view.close();
      // The third is never done.
      if (ticketId === '3.1') continue;
      world.go(ticketId);
      view.listen(becomes(ticketId, 'complete'));
    }
    await view.close();
    expect(server.names()).toEqual(['3.1', ...ids.slice(-11)].map((id) => `task-${id}`));
    expect(server.paneOf('3.1').dead).toBe(false);
    expect(server.problems).toEqual([]);
  });

  it('of tickets under way are never closed, however many; the limit holds again when they rest', async ({
    world,
    server,
  }) => {
    world.plan('p', PLAN);
    const view = server.view({ cli: server.follower(), limit: 3 });
    const ids = ['1', '2', '3', '4', '5', '6'];
    for (const ticketId of ids) view.listen(starts(ticketId));
    await view.close();
    expect(server.names()).toHaveLength(6);
    for (const ticketId of ids) view.listen(becomes(ticketId, 'complete'));
    await view.close();
    expect(server.names()).toEqual(['task-4', 'task-5', 'task-6']);
  });

  it('stay when their ticket is over, and are used again by a retry', async ({ world, server }) => {
    world.plan('p', PLAN);
    const view = server.view({ cli: server.follower() });
    view.listen(starts('1.1'));
    view.listen(starts('1.1', 2));
    await view.close();
    const { pane } = server.paneOf('1.1');
    world.go('1.1');
    await server.ends('1.1');
    const pid = /pid (\d+)/.exec(server.text(pane))?.[1];
    expect(pid).toBeDefined();
    view.listen(becomes('1.1', 'failed'));
    view.listen(starts('1.1', 3));
    await view.close();
    await server.ends('1.1');
    expect(server.panes()).toHaveLength(1);
    expect(server.paneOf('1.1').pane).toBe(pane);
    expect(server.text(pane)).toContain('called logs p 1.1');
    expect(server.text(pane)).not.toContain(`pid ${pid}\n`);
  });

  it('are found again by the next run', async ({ world, server }) => {
    world.plan('p', PLAN);
    const first = server.view({ cli: server.follower() });
    for (const ticketId of ['1', '2']) first.listen(starts(ticketId));
    await first.close();
    const before = server.panes();
    const second = server.view({ cli: server.follower() });
    second.listen({
      type: 'attempt:adopt',
      planId: 'p',
      ticketId: '2',
      phase: 'build',
      visit: 1,
      attempt: 1,
    });
    await second.close();
    expect(server.panes()).toEqual(before);
  });

  it('that a person closes stay closed until the ticket is started anew', async ({ world, server }) => {
    world.plan('p', PLAN);
    const view = server.view({ cli: server.follower() });
    for (const ticketId of ['1', '2']) view.listen(starts(ticketId));
    await view.close();
    server.tmux('kill-window', '-t', server.paneOf('1').window);
    view.listen(starts('1', 2));
    view.listen(starts('3'));
    await view.close();
    expect(server.names()).toEqual(['task-2', 'task-3']);
    view.listen(becomes('1', 'failed'));
    view.listen(starts('1', 3));
    await view.close();
    expect(server.names()).toEqual(['task-2', 'task-3', 'task-1']);
    const gone =
      'The window task-1 was closed. The work continues; watch it with: signalbox logs p 1 --follow';
    expect(server.problems).toEqual([gone]);
    server.tmux('kill-window', '-t', server.paneOf('2').window);
    view.listen(becomes('2', 'complete'));
    await view.close();
    expect(server.problems).toEqual([gone]);
  });

  it('that a person closes are told once, in the middle of a phase, and so is the session after them', async ({
    world,
    server,
  }) => {
    world.plan('p', PLAN);
    const view = server.view({ cli: server.follower(), checkEveryMs: 20 });
    for (const ticketId of ['1', '2', '3']) view.listen(starts(ticketId));
    await waitFor(
      'three windows',
      () => server.can('has-session', '-t', '=run') && server.names()[2] === 'task-3',
    );
    server.tmux('kill-window', '-t', server.paneOf('2').window);
    await waitFor('the user to be told', () => server.problems.length > 0);
    // Both in one step: a look in between would report the window.
    server.tmux('kill-window', '-t', server.paneOf('3').window, ';', 'kill-session', '-t', '=run:');
    await waitFor('the user to be told', () => server.problems.length > 1);
    await view.close();
    expect(server.problems.map((problem) => problem.split(/[.;]/)[0])).toEqual([
      'The window task-2 was closed',
      'The tmux session run is gone',
    ]);
  });

  it('with a pane of somebody else lose only our own', async ({ world, server }) => {
    world.plan('p', PLAN);
    const view = server.view({ cli: server.follower(), limit: 1 });
    view.listen(starts('1'));
    await view.close();
    const { pane, window } = server.paneOf('1');
    const theirs = server.tmux('split-window', '-P', '-F', '#{pane_id}', '-t', pane, 'cat', '-');
    view.listen(becomes('1', 'complete'));
    view.listen(starts('2'));
    await view.close();
    expect(server.panes()).toMatchObject([{ pane: theirs, window, dead: false }, { name: 'task-2' }]);
  });

  it('come into being where sessions end without a watcher', async ({ world, server }) => {
    world.plan('p', PLAN);
    server.tmux('new-session', '-d', '-s', 'other', 'cat', '-', ';', 'set-option', '-g', 'exit-empty', 'off');
    server.tmux('set-option', '-g', 'destroy-unattached', 'on');
    const view = server.view({ cli: server.follower() });
    view.listen(starts('1'));
    await view.close();
    expect(server.names()).toEqual(['task-1']);
    expect(server.problems).toEqual([]);
  });

  it('have the variables of the run, not those of the server, and no others', async ({ world, server }) => {
    world.plan('p', PLAN);
    const old = { ...server.env, SIGNALBOX_CONFIG: '/elsewhere.yaml', OLD_TOKEN: 'secret' };
    server.tmux('new-session', '-d', '-s', 'other', 'cat', '-');
    for (const [name, value] of Object.entries(old)) server.tmux('set-environment', '-g', name, value);
    const cwd = join(world.dir, '#(touch ran) #S;');
    mkdirSync(cwd);
    const env = { ...server.env, SIGNALBOX_JOB: '/job', NEW_TOKEN: 'secret', LANG: 'C;' };
    const view = server.view({ cli: server.follower(), cwd, env });
    view.listen(starts('1'));
    await view.close();
    const { pane } = server.paneOf('1');
    const text = await server.shows(pane, 'has SIGNALBOX_STATE_DIR');
    expect(text).toContain(`in ${cwd}\n`);
    const names = [...text.matchAll(/^has (\w+)=/gm)].map(([, name]) => name);
    expect(names.filter((name) => name !== '_').sort()).toEqual(
      ['HOME', 'LANG', 'PATH', 'PWD', 'SIGNALBOX_HOME', 'SIGNALBOX_STATE_DIR'].sort(),
    );
    expect(text).toContain('has LANG=C;\n');
    expect(world.exists('ran')).toBe(false);
  });

  it('of a server we start carry no keys and no mark of a job', async ({ world, server }) => {
    world.plan('p', PLAN);
    const env = { ...server.env, SIGNALBOX_JOB: '/job', ANTHROPIC_API_KEY: 'secret', TMUX_PANE: '%7' };
    const view = server.view({ cli: server.follower(), env });
    view.listen(starts('1'));
    await view.close();
    const shown = server.tmux('show-environment', '-g');
    expect(shown).toContain('HOME=');
    expect(shown).not.toMatch(/SIGNALBOX_JOB|ANTHROPIC|TMUX_PANE/);
  });

  it.for([
    ['10', String('run'.length + 4)],
    ['60', '60'],
  ])(
    'stand beside the whole name of their session, or as much as a person wants (%s)',
    async ([wanted = '', length], { world, server }) => {
      world.plan('p', PLAN);
      server.tmux('new-session', '-d', '-s', 'other', 'cat', '-');
      server.tmux('set-option', '-g', 'status-left-length', wanted);
      const view = server.view({ cli: server.follower() });
      view.listen(starts('1'));
      await view.close();
      expect(server.problems).toEqual([]);
      expect(server.tmux('show-options', '-A', '-v', '-t', '=run:', 'status-left-length')).toBe(length);
    },
  );

  it('are opened on the server that the run is in', async ({ world, server }) => {
    world.plan('p', PLAN);
    server.tmux('new-session', '-d', '-s', 'mine', 'cat', '-');
    const TMUX = server.tmux('display-message', '-p', '-t', '=mine:', '#{socket_path},#{pid},0');
    const view = server.view({ cli: server.follower(), socketName: undefined, env: { ...server.env, TMUX } });
    view.listen(starts('1'));
    await view.close();
    expect(server.names()).toEqual(['task-1']);
  });

  it('come to the front while nobody is looking', async ({ world, server }) => {
    world.plan('p', PLAN);
    const view = server.view({ cli: server.follower() });
    for (const ticketId of ['1', '2']) view.listen(starts(ticketId));
    await view.close();
    const front = () => server.tmux('display-message', '-p', '-t', '=run:', '#{window_name}');
    expect(front()).toBe('task-2');
    const watcher = ['env', '-u', 'TMUX', 'tmux', '-L', server.name, 'attach-session', '-t', '=run:'];
    server.tmux('new-session', '-d', '-s', 'watcher', ...watcher);
    await waitFor('somebody looking', () => server.tmux('list-clients', '-t', '=run:') !== '');
    view.listen(starts('3'));
    await view.close();
    expect(server.names()).toEqual(['task-1', 'task-2', 'task-3']);
    expect(front()).toBe('task-2');
  });

  it.for([
    ['the session', ['kill-session', '-t', '=run:']],
    ['tmux', ['kill-server']],
  ] as const)(
    'that go with %s in the middle of a phase are told once, and come back with the next',
    async ([, end], { world, server }) => {
      world.plan('p', PLAN);
      server.tmux('new-session', '-d', '-s', 'run-other', 'cat', '-');
      const view = server.view({ cli: server.follower(), checkEveryMs: 20 });
      view.listen(starts('1'));
      await waitFor(
        'its window',
        () => server.can('has-session', '-t', '=run') && server.names()[0] === 'task-1',
      );
      expect(server.problems).toEqual([]);
      server.tmux(...end);
      await waitFor('the user to be told', () => server.problems.length > 0);
      view.listen(starts('1'));
      await view.close();
      expect(server.names()).toEqual(['task-1']);
      expect(server.problems).toEqual([
        'The tmux session run is gone; a new one is made for the windows that follow. The work continues; watch it with: signalbox logs p 1 --follow',
      ]);
    },
  );
});
