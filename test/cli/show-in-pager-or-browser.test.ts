import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openInBrowser } from '../../src/cli/show-in-pager-or-browser.ts';
import { writeExecutable } from '../support/agents.ts';
import { isRunning, it, type World } from '../support/index.ts';

/** Opens an address with a program that has this body. */
function opened(world: World, body: string, waitMs?: number) {
  const bin = join(world.dir, 'bin');
  const places = { log: join(world.dir, 'log'), go: world.dir };
  for (const name of ['xdg-open', 'open']) writeExecutable(join(bin, name), body, places);
  const env = { ...world.env, PATH: `${bin}:${process.env.PATH}` };
  return openInBrowser({ env, cwd: world.dir }, 'https://example.test/pull/7', waitMs);
}

describe('a browser', () => {
  for (const [what, body, waitMs] of [
    ['that its opener leaves behind', 'sleep 60 & echo $! >"$0.pid"', undefined],
    ['that its opener becomes', 'echo $$ >"$0.pid"; exec sleep 60', 1000],
  ] as const)
    it(`${what} stays open`, async ({ world }) => {
      expect(await opened(world, body, waitMs)).toBeUndefined();
      const name = process.platform === 'darwin' ? 'open' : 'xdg-open';
      const pid = Number(readFileSync(join(world.dir, 'bin', `${name}.pid`), 'utf8'));
      expect(isRunning(pid)).toBe(true);
      process.kill(pid);
    });

  it('that cannot be opened is reported', async ({ world }) => {
    expect(await opened(world, 'exit 3')).toMatch(/^No browser could be opened by (xdg-)?open\.$/);
  });
});
