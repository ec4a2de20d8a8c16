import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { it as base, git, waitFor } from '../support/index.ts';
import type { World } from '../support/world.ts';

/** A test with a tmux server of its own, in a directory of its own. */
const it = base.extend<{ place: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: the runner reads the names of what a fixture needs from it
  place: async ({}, use) => {
    const place = mkdtempSync(join(tmpdir(), 'sbx-'));
    await use(place);
    try {
      tmuxIn(place, 'kill-server');
    } catch {
      // It has ended by itself, or was never started.
    }
    rmSync(place, { recursive: true, force: true });
  },
});

function tmuxIn(place: string, ...args: string[]): string {
  const env = { PATH: process.env.PATH ?? '', HOME: place, TMUX_TMPDIR: place };
  return execFileSync('tmux', ['-u', ...args], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trimEnd();
}

const windows = (place: string, session: string) =>
  tmuxIn(place, 'list-windows', '-t', `=${session}:`, '-F', '#{window_name}').split('\n');

function writeSpec(world: World): string {
  const dir = join(world.repo, '.kiro', 'specs', 'limits');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'tasks.md'), '- [ ] 1.1 One\n- [ ] 1.2 Two\n');
  git(world.repo, 'add', '--all');
  git(world.repo, 'commit', '--quiet', '--message=Add a spec');
  return dir;
}

const USAGE = { usage: { inputTokens: 1000, outputTokens: 500, costUsd: 0.25 } };
const unit = (ticket: string, ...steps: unknown[]) => ({ when: { ticket, phase: 'implement' }, do: steps });
const DONE = { result: 'Done.\n\n<promise>TASK_DONE</promise>' };

describe('a spec that is left to a daemon', () => {
  it('has its windows in the session that was asked for, and its summary afterwards', async ({
    world,
    place,
  }) => {
    world.rehearsal([
      unit('1.1', USAGE, { write: { path: 'a.txt', text: 'a\n' } }, { commit: 'Do 1.1' }, DONE),
      unit('1.2', USAGE, { write: { path: 'b.txt', text: 'b\n' } }, { commit: 'Do 1.2' }, DONE),
    ]);
    const dir = writeSpec(world);
    // A daemon that knows nothing of this terminal.
    expect((await world.start(['daemon', '--detach'], { LANG: 'C.UTF-8' }).ended).code).toBe(0);
    try {
      const flags = ['--unit', 'leaf', '--delay', '0', '--detach', '--tmux-session', 'night.run'];
      const { code, out } = await world.start(['spec', dir, ...flags], { TMUX_TMPDIR: place }).ended;
      expect({ code, out }).toEqual({
        code: 0,
        out: expect.stringContaining('signalbox attach spec-limits'),
      });
      await world.reaches('spec-limits', '1.2', 'complete');
      await waitFor('both windows', () => windows(place, 'night_run').length === 2, {
        state: () => windows(place, 'night_run').join(),
      });
      expect(windows(place, 'night_run')).toEqual(['task-1.1', 'task-1.2']);
      const [pane = ''] = tmuxIn(place, 'list-panes', '-s', '-t', '=night_run:', '-F', '#{pane_id}').split(
        '\n',
      );
      const text = () => tmuxIn(place, 'capture-pane', '-p', '-t', pane);
      await waitFor('its text', () => text().includes('── 1.1 complete'), { state: text });
      const summary = async () => (await world.cli('status', 'spec-limits')).out;
      await waitFor('the summary', async () => (await summary()).includes('Units: 2 of 2 complete'));
      for (const fact of ['Attempts: 2', 'Changes: 3 files changed', '$0.50', 'Time: '])
        expect(await summary()).toContain(fact);
      const progress = () => readFileSync(join(dir, '..', 'SEQUENTIAL_PROGRESS.md'), 'utf8');
      await waitFor('the progress file', () => progress().includes('- Units: 2 of 2 complete'));
      expect(progress()).toContain('**Completed:**');
      // Calling it again does nothing, and does not forget what was done.
      expect((await world.cli('spec', dir, '--unit', 'leaf', '--no-tmux')).code).toBe(0);
      expect(await summary()).toContain('Attempts: 2');
    } finally {
      await world.cli('daemon', 'stop');
    }
  });

  it('halts, is answered, and goes on with the daemon', async ({ world, place }) => {
    world.rehearsal([
      {
        when: { ticket: '1.1', phase: 'implement', visit: 1 },
        do: [{ result: 'Which one, A or B?\n\n<promise>HALT</promise>' }],
      },
    ]);
    const dir = writeSpec(world);
    const env = { TMUX_TMPDIR: place };
    try {
      const flags = ['--unit', 'leaf', '--delay', '0', '--detach'];
      expect((await world.start(['spec', dir, ...flags], env).ended).code).toBe(0);
      await world.reaches('spec-limits', '1.1', 'needs_attention');
      const status = (await world.cli('status', 'spec-limits')).out;
      expect(status).toContain('Which one, A or B?');
      expect(status).toContain('signalbox resume spec-limits --answer "…"');
      await waitFor('the summary', async () =>
        (await world.cli('status', 'spec-limits')).out.includes('1 halted'),
      );
      const { code, out } = await world.cli('resume', 'spec-limits', '--answer', 'Take B.');
      expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/Daemon \d+ continues it/) });
      await world.reaches('spec-limits', '1.2', 'complete');
      expect(world.promptOf('spec-limits', '1.1', 'implement.2.1')).toContain('Take B.');
      await waitFor('the windows', () => windows(place, 'sequential-limits').includes('task-1.2'));
    } finally {
      await world.cli('daemon', 'stop');
    }
  });

  it('has no windows where none are wanted', async ({ world, place }) => {
    const dir = writeSpec(world);
    try {
      const flags = ['--unit', 'leaf', '--delay', '0', '--detach', '--no-tmux'];
      const { out } = await world.start(['spec', dir, ...flags], { TMUX_TMPDIR: place }).ended;
      expect(out).toContain('signalbox status --plan spec-limits');
      await world.reaches('spec-limits', '1.2', 'complete');
      expect(() => windows(place, 'sequential-limits')).toThrow(/no server running|error connecting/);
    } finally {
      await world.cli('daemon', 'stop');
    }
  });
});
