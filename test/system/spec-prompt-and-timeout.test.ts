import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { contract7 } from '../features/spec-runs/prompt-and-timeout.ts';

/** A tmux server of the test's own: its socket lies in a directory of its own. */
let place: string;
const tmux = (...args: string[]) =>
  execFileSync('tmux', ['-u', ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: place, TMUX_TMPDIR: place },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trimEnd();

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'sbx-'));
});
afterAll(() => {
  tmux('kill-server');
  rmSync(place, { recursive: true, force: true });
});

contract7({
  how: 'with tmux',
  flags: [],
  env: () => ({ TMUX_TMPDIR: place }),
  more: () => {
    const names = tmux('list-windows', '-t', '=sequential-limits:', '-F', '#{window_name}');
    expect(names.split('\n')).toContain('task-1');
  },
});
