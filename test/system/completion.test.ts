import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { waitFor } from '../support/index.ts';
import type { World } from '../support/world.ts';
import { CLI, it } from './tmux-server.ts';

/** A user with `signalbox` on the PATH and one plan with an open and a finished ticket. Returns the environment. */
function setUp(world: World): NodeJS.ProcessEnv {
  const bin = join(world.dir, 'shell-bin');
  mkdirSync(bin);
  const line = CLI.map((word) => `'${word}'`).join(' ');
  writeFileSync(join(bin, 'signalbox'), `#!/bin/sh\nexec ${line} "$@"\n`);
  chmodSync(join(bin, 'signalbox'), 0o755);
  world.agent('agent', 'commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
  world.plan('night', { tickets: { 'T-01': {}, 'T-02': { status: 'complete' } } });
  return { ...world.env, PATH: `${bin}:${world.env.PATH}` };
}

describe('completion in fish', () => {
  it('offers plans, open tickets, phases, workflows and agents', async ({ world }) => {
    const env = setUp(world);
    const offered = (line: string) => {
      const script = `signalbox completion fish | source; complete -C ${JSON.stringify(line)}`;
      const options = { env, cwd: world.repo, encoding: 'utf8' } as const;
      return execFileSync('fish', ['--no-config', '-c', script], options).split('\n').filter(Boolean);
    };
    expect(offered('signalbox status ')).toEqual(['@last', 'night', 'T-01']);
    expect(offered('signalbox status @')).toEqual(['@last']);
    expect(offered('signalbox skip @last ')).toEqual(['T-01']);
    expect(offered('signalbox retry --failed ')).toEqual(['@last', 'night']);
    expect(offered('signalbox skip night ')).toEqual(['T-01']);
    expect(offered('signalbox skip night T-01 ')).toEqual(['build']);
    expect(offered('signalbox skip T-01 ')).toEqual(['build']);
    expect(offered('signalbox logs night --phase b')).toEqual(['build']);
    expect(offered('signalbox workflow show wo')).toEqual(['work']);
    expect(offered('signalbox run --agent ag')).toEqual(['agent']);
    expect(offered('signalbox plan new ')).toEqual([]);
    expect(offered('signalbox plan ap')).toEqual(['approve']);
    expect(offered('signalbox -C /nowhere status ')).toEqual([]);
  });
});

describe.each([
  ['zsh', ['-f', '-i'], 'autoload -Uz compinit; compinit -u -D; '],
  ['bash', ['--norc', '-i'], ''],
] as const)('completion in %s', (shell, flags, before) => {
  it('offers plans, open tickets, phases, workflows and agents, at the prompt', async ({ server }) => {
    const { world } = server;
    const env = setUp(world);
    const file = join(world.dir, `completion.${shell}`);
    const script = execFileSync('signalbox', ['completion', shell], { env, encoding: 'utf8' });
    writeFileSync(file, script);
    const words = { PATH: env.PATH, SIGNALBOX_HOME: env.SIGNALBOX_HOME, HOME: env.HOME, PS1: '> ' };
    const line = [
      'env',
      ...Object.entries(words).map(([name, value]) => `${name}=${value}`),
      shell,
      ...flags,
    ];
    server.tmux('new-session', '-d', '-s', shell, '-x', '120', '-y', '40', '-c', world.repo, ...line);
    const pane = server.panes(shell)[0]?.pane ?? '';
    const type = (...keys: string[]) => server.tmux('send-keys', '-t', pane, ...keys);
    type(`${before}source ${file}; echo is"" ready`, 'Enter');
    await server.shows(pane, 'is ready');
    // An unambiguous word is completed on the line itself.
    for (const [typed, completed] of [
      ['skip nig', 'skip night T-01 build'],
      ['workflow show wor', 'workflow show work'],
      ['run --agent age', 'run --agent agent'],
      ['diff @', 'diff @last'],
      ['diff @la', 'diff @last'],
      ['skip @last ', 'skip @last T-01'],
      ['retry --failed n', 'retry --failed night'],
    ] as const) {
      type('C-u', `signalbox ${typed}`, 'Tab');
      if (typed.startsWith('skip nig')) {
        await server.shows(pane, 'signalbox skip night');
        type('Tab');
        await server.shows(pane, 'signalbox skip night T-01');
        type('Tab');
      }
      await server.shows(pane, `signalbox ${completed}`);
    }
    // The first Tab of bash completes what all have in common, which is nothing.
    for (const [typed, list] of [
      ['retry --failed ', /^@last +night *$/m],
      ['status ', /^@last +(?:T-01 +night|night +T-01)/m],
    ] as const) {
      type('C-u', 'C-l');
      type(`signalbox ${typed}`, 'Tab', ...(shell === 'bash' ? ['Tab'] : []));
      await waitFor('the list', () => list.test(server.text(pane)), { state: () => server.text(pane) });
    }
    expect(server.tmux('capture-pane', '-p', '-t', pane)).not.toMatch(/not found|error/i);
  });
});
