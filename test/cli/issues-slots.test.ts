import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { makeRepo } from '../support/repo.ts';
import { IssueWorld, WORKS } from './issue-world.ts';
import { it, type World } from './support.ts';

const FLAGS = ['--phases', 'exec', '--no-smart-tests'];
const NAMES = ['a', 'b', 'c', 'd', 'e'];

function prepare(world: World, env: NodeJS.ProcessEnv = {}): IssueWorld {
  world.agent('agent', WORKS);
  const issues = new IssueWorld(world, env);
  for (const name of NAMES) issues.write(`${name}.md`, `# ${name}\n`);
  return issues;
}

/** An issue at work in another repository, until the agents may go on. */
async function elsewhere(world: World, nth = 1) {
  const other = makeRepo(join(world.dir, 'other'));
  writeFileSync(join(other, 'x.md'), '# x\n');
  const run = world.start(['run', 'x.md', ...FLAGS], {}, other);
  await world.call('working', {}, nth);
  return run;
}

const waits = (out: string) => out.split('\n').filter((line) => line.includes('free slot'));

describe.concurrent('how many issues run at once', () => {
  it.for([['--concurrency', '1'], ['--sequential'], ['--chain']])(
    'with %s is the run’s own affair: another one elsewhere is not counted',
    { tags: 'full' },
    async (mode, { world }) => {
      const issues = prepare(world);
      const other = await elsewhere(world);
      const run = issues.start('run', 'a.md', 'b.md', ...mode, ...FLAGS);
      await world.call('working', {}, 2);
      world.go();
      const { code, out } = await run.ended;
      expect(code).toBe(0);
      expect(out.indexOf('● b: exec started')).toBeGreaterThan(out.indexOf('✓ Issue a completed'));
      expect(waits(out)).toEqual([]);
      expect((await other.ended).code).toBe(0);
    },
  );

  it('is for all runs together no more than maxConcurrency, which is said once', async ({ world }) => {
    world.agent(
      'agent',
      'mkdir "$SIGNALBOX_STATE_DIR/one" || note clash; commit; rmdir "$SIGNALBOX_STATE_DIR/one"',
    );
    const issues = new IssueWorld(world, { SIGNALBOX_MAX_CONCURRENCY: '1' });
    for (const name of NAMES) issues.write(`${name}.md`, `# ${name}\n`);
    const { code, out } = await issues.cli('run', 'a.md', 'b.md', 'c.md', ...FLAGS);
    expect(code).toBe(0);
    expect(world.calls('clash')).toEqual([]);
    expect(waits(out)).toEqual(['◌ b waits for a free slot (maxConcurrency 1)']);
  });

  it('is said by each issue for which a whole run has to wait', { tags: 'full' }, async ({ world }) => {
    const issues = prepare(world);
    world.config({ maxConcurrency: 1 });
    const other = await elsewhere(world);
    const run = issues.start('run', 'a.md', 'b.md', ...FLAGS);
    await run.says('◌ a waits for a free slot (maxConcurrency 1)');
    const json = issues.start('run', 'c.md', '--json', ...FLAGS);
    await json.says('"waits for a free slot (maxConcurrency 1)"');
    expect(world.calls('working')).toHaveLength(1);
    world.go();
    for (const each of [other, run, json]) expect((await each.ended).code).toBe(0);
  });

  it('is what was asked for where nobody has set maxConcurrency, and where somebody has, that', {
    tags: 'full',
  }, async ({ world }) => {
    const issues = prepare(world);
    const names = NAMES.map((name) => `${name}.md`);
    const run = issues.start('run', ...names, '--concurrency', '5', ...FLAGS);
    await world.call('working', {}, 5);
    world.go();
    expect(waits((await run.ended).out)).toEqual([]);
    world.config({ maxConcurrency: 2 });
    issues.write('f.md', '# f\n').write('g.md', '# g\n').write('h.md', '# h\n');
    const capped = await issues.cli('run', 'f.md', 'g.md', 'h.md', '--concurrency', '5', ...FLAGS);
    expect(capped.code).toBe(0);
    expect(waits(capped.out)).toEqual(['◌ h waits for a free slot (maxConcurrency 2)']);
  });

  it('is told where a stopped issue goes on, too', { tags: 'full' }, async ({ world }) => {
    const issues = prepare(world);
    world.config({ maxConcurrency: 1 });
    const first = issues.start('run', 'a.md', ...FLAGS);
    await world.call('working');
    await first.kill('SIGINT');
    const other = await elsewhere(world, 2);
    const again = issues.start('resume');
    await again.says('◌ a waits for a free slot (maxConcurrency 1)');
    world.go();
    expect((await again.ended).code).toBe(0);
    expect((await other.ended).code).toBe(0);
  });
});
