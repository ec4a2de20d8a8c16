import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { CLI, it } from './tmux-server.ts';

describe('init', () => {
  it('asks in a real terminal, and a line can be corrected before Enter', async ({ server }) => {
    const { world } = server;
    const programs = join(world.dir, 'programs');
    mkdirSync(programs);
    for (const name of ['claude', 'codex'])
      writeFileSync(join(programs, name), '#!/bin/sh\n', { mode: 0o755 });
    const home = join(world.dir, 'own');
    const line = ['env', `SIGNALBOX_HOME=${home}`, `PATH=${programs}`, ...CLI, 'init']
      .map((word) => `'${word}'`)
      .join(' ');
    server.tmux('new-session', '-d', '-s', 'init', '-x', '80', '-y', '24', '-c', world.repo, `${line}; cat`);
    const pane = server.panes('init')[0]?.pane ?? '';
    const type = (...keys: string[]) => server.tmux('send-keys', '-t', pane, ...keys);
    await server.shows(pane, 'Which one is your default? [claude]');
    type('codecs', 'BSpace', 'BSpace', 'x', 'Enter');
    await server.shows(pane, 'or type your own, separated by commas:');
    type('make test', 'Enter');
    await server.shows(pane, 'What should happen? [3]');
    type('2', 'Enter');
    await server.shows(pane, `Trust ${world.repo}? [y/N]`);
    type('y', 'Enter');
    await server.shows(pane, 'Next: signalbox doctor');
    expect(readFileSync(join(home, 'config.yaml'), 'utf8')).toContain('\ndefaultAgent: codex\n');
    expect(readFileSync(join(world.repo, '.signalbox', 'settings.json'), 'utf8')).toContain('"make test"');
    expect(readFileSync(join(home, 'trusted.json'), 'utf8')).toContain(world.repo);
  });
});

describe('a task from standard input', () => {
  it('is typed in a real terminal and ends with Ctrl-D', async ({ server }) => {
    const { world } = server;
    const words = [...CLI, 'run', '--task', '-', '--agent', 'rehearsal', '--dry-run'];
    const env = ['env', `SIGNALBOX_HOME=${join(world.dir, 'own')}`];
    const line = [...env, ...words].map((word) => `'${word}'`).join(' ');
    server.tmux('new-session', '-d', '-s', 'task', '-x', '80', '-y', '24', '-c', world.repo, `${line}; cat`);
    const pane = server.panes('task')[0]?.pane ?? '';
    await server.shows(pane, 'Type the task, then press Ctrl-D.');
    server.tmux('send-keys', '-t', pane, 'Say hello', 'Enter', 'C-d');
    await server.shows(pane, 'Would run say-hello: Say hello');
  });
});
