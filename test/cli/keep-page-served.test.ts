import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { keepPageServed } from '../../src/cli/keep-page-served.ts';
import { it, type World, waitFor } from '../support/index.ts';

/** Keeps a program served that is no page, and collects how it ends. */
function kept(world: World, program: string) {
  const cli = join(world.dir, 'page.cjs');
  writeFileSync(cli, program);
  const ends: [how: string, pauseMs: number][] = [];
  const page = keepPageServed({
    command: [process.execPath, cli],
    words: [],
    cwd: world.dir,
    env: world.env,
    onServed: () => undefined,
    onEnded: (how, pauseMs) => ends.push([how, pauseMs]),
  });
  return { page, ends };
}

it('waits longer before every start of a page that cannot be served', { tags: 'full' }, async ({ world }) => {
  const { page, ends } = kept(world, 'process.exit(3)');
  await waitFor('two ends', () => ends.length >= 2);
  expect(ends).toEqual([
    ['code 3', 1_000],
    ['code 3', 2_000],
  ]);
  await page.close();
});

it('says by which signal a page was ended', async ({ world }) => {
  const { page, ends } = kept(world, "process.kill(process.pid, 'SIGKILL')");
  await waitFor('its end', () => ends.length >= 1);
  expect(ends[0]).toEqual(['SIGKILL', 1_000]);
  await page.close();
});

it('ends a page that takes a gigabyte of memory', { tags: 'full' }, async ({ world }) => {
  const { page, ends } = kept(
    world,
    'const all = []; for (;;) all.push(new Array(1e6).fill(all.length + 0.5));',
  );
  await waitFor('its end', () => ends.length >= 1);
  expect(ends[0]?.[0]).not.toBe('code 0');
  await page.close();
});
