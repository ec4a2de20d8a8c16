import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect } from 'vitest';
import { git, it, waitFor } from '../support/index.ts';
import type { World } from '../support/world.ts';

/** A tmux server of the test's own: its socket lies in a directory of its own. */
const places: string[] = [];
function tmuxIn(place: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH ?? '', HOME: place, TMUX_TMPDIR: place };
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
  return execFileSync('tmux', ['-u', ...args], { env, encoding: 'utf8', stdio }).trimEnd();
}
function server(): string {
  const place = mkdtempSync(join(tmpdir(), 'sbx-'));
  places.push(place);
  return place;
}
afterEach(() => {
  for (const place of places.splice(0)) {
    try {
      tmuxIn(place, 'kill-server');
    } catch {
      // It has ended by itself, or was never started.
    }
    rmSync(place, { recursive: true, force: true });
  }
});

const IDS = Array.from({ length: 12 }, (_, index) => `${Math.floor(index / 4) + 1}.${(index % 4) + 1}`);
const TASKS = IDS.map((id) => `- [ ] ${id} Part ${id}\n`).join('');

function writeSpec(world: World, name: string): string {
  const dir = join(world.repo, '.kiro', 'specs', name);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'tasks.md'), TASKS);
  git(world.repo, 'add', '--all');
  git(world.repo, 'commit', '--quiet', '--message=Add a spec');
  return dir;
}

const names = (place: string, session: string) =>
  tmuxIn(place, 'list-windows', '-t', `=${session}:`, '-F', '#{window_name}').split('\n');

describe('contract 3 and 6: a spec of twelve units under tmux', () => {
  it('is killed in the middle and resumed: a window for each unit, nothing twice, nothing lost', async ({
    world,
  }) => {
    const place = server();
    // Only begins with the name of ours.
    tmuxIn(place, 'new-session', '-d', '-s', 'sequential-v1_2-old', 'cat');
    world.rehearsal([
      {
        when: { ticket: '2.2', phase: 'implement' },
        do: [
          { write: { path: 'part.txt', append: 'begun\n' } },
          { run: `until [ -e ${world.dir}/go-on ]; do sleep 0.05; done` },
          { commit: 'Do 2.2' },
        ],
      },
    ]);
    const dir = writeSpec(world, 'v1.2');
    const env = { TMUX_TMPDIR: place };
    const flags = ['spec', dir, '--unit', 'leaf', '--delay', '0', '--json'];
    const first = world.start(flags, env);
    await first.says('"part.txt"');
    await first.kill('SIGKILL');
    world.append('go-on', '');
    const second = await world.start(flags, env).ended;
    expect({ code: second.code, err: second.err }).toEqual({ code: 0, err: '' });
    const log = git(world.repo, 'log', '--reverse', '--format=%s', 'main..spec/v1.2').split('\n');
    expect(log).toEqual(
      IDS.flatMap((id) => [id === '2.2' ? 'Do 2.2' : `Rehearse implement of ${id}`, `Tick ${id} of v1.2`]),
    );
    expect(git(world.repo, 'show', 'spec/v1.2:part.txt')).toBe('begun');
    expect(names(place, 'sequential-v1_2').sort()).toEqual(IDS.map((id) => `task-${id}`).sort());
    expect(names(place, 'sequential-v1_2-old')).toHaveLength(1);
  });

  it('goes on when tmux is killed, and when it is turned off, and says so once', async ({ world }) => {
    const place = server();
    world.rehearsal([
      {
        when: { ticket: '1.1', phase: 'implement' },
        do: [
          { write: { path: 'part.txt', text: 'x\n' } },
          { run: `until [ -e ${world.dir}/go-on ]; do sleep 0.05; done` },
          { commit: 'Do 1.1' },
        ],
      },
    ]);
    const dir = writeSpec(world, 'limits');
    const env = { TMUX_TMPDIR: place };
    const run = world.start(['spec', dir, '--delay', '0', '--only', '1.1', '--json'], env);
    await run.says('"part.txt"');
    await waitFor('its window', () => names(place, 'sequential-limits').includes('task-1.1'));
    tmuxIn(place, 'kill-server');
    // In the middle of the phase, and not when it ends.
    await run.says('is gone');
    world.append('go-on', '');
    const { code, err } = await run.ended;
    expect(code).toBe(0);
    expect(err.trim().split('\n')).toEqual([
      'tmux: The tmux session sequential-limits is gone; a new one is made for the windows that follow. The work continues; watch it with: signalbox logs spec-limits 1.1 --follow',
    ]);
    expect(names(place, 'sequential-limits')).toEqual(['task-1.1']);
    const off = await world.start(['spec', dir, '--delay', '0', '--only', '1.2'], { CODEAGENT_NO_TMUX: '1' })
      .ended;
    expect(off.code).toBe(0);
    expect(off.err.match(/CODEAGENT_NO_TMUX/g)).toHaveLength(1);
  });
});
