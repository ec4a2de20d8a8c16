import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { done, it, tasks, type World, writeSpec } from './support.ts';

/** The programs of this machine without tmux. */
function pathWithout(world: World): string {
  const bin = join(world.dir, 'bin-without');
  mkdirSync(bin);
  const seen = new Set(['tmux']);
  for (const dir of (world.env.PATH ?? '').split(':')) {
    let names: string[] = [];
    try {
      names = readdirSync(dir);
    } catch {
      continue;
    }
    for (const name of names) {
      if (seen.has(name)) continue;
      seen.add(name);
      symlinkSync(join(dir, name), join(bin, name));
    }
  }
  return bin;
}

it('a run without windows goes on without them', { tags: 'full' }, async ({ world }) => {
  world.rehearsal([
    { when: { phase: 'implement', visit: 1 }, do: [{ result: 'A or B?\n<promise>HALT</promise>' }] },
    { when: { phase: 'implement' }, do: [{ write: { path: 'a.txt', text: 'a' } }, { commit: 'A' }, done()] },
  ]);
  const dir = writeSpec(world, tasks('One'));
  const env = { PATH: pathWithout(world) };
  expect((await world.invoke(['spec', dir, '--delay', '0', '--no-tmux'], env).ended).code).toBe(2);
  const { code, err } = await world.invoke(['resume', '--answer', 'A'], env).ended;
  expect({ code, err }).toEqual({ code: 0, err: '' });
});

it('without tmux no window is promised', async ({ world }) => {
  const dir = writeSpec(world, tasks('One'));
  const run = world.start(['spec', dir, '--delay', '0'], { PATH: pathWithout(world) });
  const { code, out, err } = await run.ended;
  expect(code).toBe(0);
  expect(out).not.toContain('Windows:');
  expect(err).toContain('tmux is not installed');
});
