import { describe, expect } from 'vitest';
import { git, it } from '../../support/index.ts';
import { Bench, issue } from './bench.ts';

describe.concurrent('a stack', () => {
  const chain = {
    '100': issue(100),
    '101': { ...issue(101), blockedBy: ['100'] },
    '102': { ...issue(102), blockedBy: ['100', '101'] },
  };

  it('targets the branch it started from and names its neighbours', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: chain });
    for (const id of ['100', '101', '102']) {
      await bench.work(id);
      await bench.open(id);
    }
    const [first, second, third] = bench.pulls();
    expect([first, second, third].map((pull) => pull?.baseRefName)).toEqual([
      'main',
      'feature/100-add-a-thing',
      'feature/101-add-a-thing',
    ]);
    expect(first?.body).not.toContain('Part of stack');
    expect(second?.body).toContain('\nPart of stack: #100 → #101 (this) → #102\n');
    expect(third?.body).toContain('\nPart of stack: #100 → #101 → #102 (this)\n');
  });

  it('targets the base once its predecessor is merged, by squashing too', { tags: 'full' }, async ({
    world,
  }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: chain });
    for (const id of ['100', '101']) {
      await bench.work(id);
      await bench.open(id);
    }
    bench.gh.pullRequest(1, (pull) => {
      pull.state = 'MERGED';
      pull.headRefOid = bench.tip('feature/100-add-a-thing');
    });
    expect(await bench.open('101')).toMatchObject({ number: 2, created: false });
    expect(bench.pulls()[1]?.baseRefName).toBe('main');
    await bench.work('102');
    await bench.open('102');
    expect(bench.pulls()[2]?.baseRefName).toBe('feature/101-add-a-thing');
  });

  it('targets the base where the predecessor is not on origin; a base that a person chose stays', {
    tags: 'full',
  }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: chain });
    await bench.work('100');
    await bench.work('101');
    await bench.open('101');
    expect(bench.pulls()[0]?.baseRefName).toBe('main');
    bench.gh.pullRequest(1, (pull) => {
      pull.baseRefName = 'release';
    });
    await bench.open('101');
    expect(bench.pulls()[0]?.baseRefName).toBe('release');
  });

  it('is none where the predecessor was in the base already', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: chain });
    await bench.work('100');
    git(world.repo, 'push', '--quiet', 'origin', 'feature/100-add-a-thing:main', 'feature/100-add-a-thing');
    git(world.repo, 'fetch', '--quiet', 'origin');
    await bench.work('101');
    await bench.open('101');
    expect(bench.pulls()[0]).toMatchObject({
      baseRefName: 'main',
      body: expect.not.stringContaining('stack'),
    });
  });
});
