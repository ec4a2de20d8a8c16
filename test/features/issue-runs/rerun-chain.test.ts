import { describe, expect } from 'vitest';
import { git, IssueWorld, it, steeredAgent, WORK, type World } from './support.ts';

/** Issues a, b, c and d, whose agent leaves a file of that name. */
function lettered(world: World): IssueWorld {
  steeredAgent(world);
  const issues = new IssueWorld(world);
  for (const name of ['a', 'b', 'c', 'd']) issues.write(`${name}.md`, `# ${name}\n`);
  return issues;
}

const filesOf = (world: World, name: string) =>
  git(world.repo, 'ls-tree', '--name-only', `feature/${name}-${name}`)
    .split('\n')
    .filter((file) => /^[a-d]\.txt$/.test(file));

describe.concurrent('a chain with links that were done before', () => {
  it('does one again that has not the work of the one before it', { tags: 'full' }, async ({ world }) => {
    const issues = lettered(world);
    expect((await issues.cli('run', 'b.md', ...WORK)).code).toBe(0);
    const before = git(world.repo, 'rev-parse', 'feature/b-b');
    const chain = ['run', 'a.md', 'b.md', 'c.md', '--chain', ...WORK];
    const dry = await issues.cli(...chain, '--dry-run');
    expect(dry.out).toContain('Would run b: b\n');
    expect(dry.out).toMatch(/note +Done before without the work of a: it is done again on top of that\./);
    const { code, out } = await issues.cli(...chain);
    expect(code, out).toBe(0);
    expect(out).not.toContain('done before');
    expect(filesOf(world, 'c')).toEqual(['a.txt', 'b.txt', 'c.txt']);
    expect(git(world.repo, 'merge-base', before, 'feature/b-b')).toBe(before);

    const again = await issues.cli(...chain, '--dry-run');
    expect(again.out.match(/^Done before [abc]: /gm)).toHaveLength(3);
  });

  it('goes on after the last of those that stand upon each other', { tags: 'full' }, async ({ world }) => {
    const issues = lettered(world);
    expect((await issues.cli('run', 'a.md', 'b.md', '--chain', ...WORK)).code).toBe(0);
    expect((await issues.cli('run', 'd.md', ...WORK)).code).toBe(0);
    const dry = await issues.cli('run', 'a.md', 'b.md', 'c.md', 'd.md', '--chain', ...WORK, '--dry-run');
    expect(dry.out.match(/^(Done before|Would run) \w/gm)).toEqual([
      'Done before a',
      'Done before b',
      'Would run c',
      'Would run d',
    ]);
  });

  it('leaves one that is merged as it is, and builds the next one upon the last that is not', {
    tags: 'full',
  }, async ({ world }) => {
    const issues = lettered(world);
    expect((await issues.cli('run', 'b.md', ...WORK)).code).toBe(0);
    git(world.repo, 'merge', '--quiet', '--no-ff', '--no-edit', 'feature/b-b');
    const { code, out } = await issues.cli('run', 'a.md', 'b.md', 'c.md', '--chain', ...WORK);
    expect(code, out).toBe(0);
    expect(out).toMatch(/✓ +b +done before/);
    expect(filesOf(world, 'c')).toEqual(['a.txt', 'b.txt', 'c.txt']);
  });
});

describe.concurrent('one issue after the other', () => {
  it.for([
    ['a chain', '--chain', 'chain'],
    ['a sequence', '--sequential', 'run'],
  ] as const)('%s stops at one that another run has', { tags: 'full' }, async ([, flag, word], { world }) => {
    world.append('user/slow', 'b\n');
    const issues = lettered(world);
    const other = issues.start('run', 'b.md', ...WORK);
    await world.call('working');
    for (const force of [[], ['--force']]) {
      const { code, out } = await issues.cli('run', 'b.md', 'd.md', flag, ...WORK, ...force);
      expect(code).toBe(1);
      expect(out).toMatch(/✗ +b .*being run by another run/);
      expect(out).toMatch(new RegExp(`◌ +d +not started +the ${word} stops at b, which is not run`));
      expect(out).toContain('d: Continue b first, then name it again.\n');
      expect(out).toMatch(/^0 of 2 done · 1 needs you · 1 waiting/m);
    }
    expect(git(world.repo, 'branch', '--list', 'feature/d-d')).toBe('');
    world.go();
    expect((await other.ended).code).toBe(0);
  });

  it('says of one that depends on an issue of another run who has that', { tags: 'full' }, async ({
    world,
  }) => {
    world.append('user/slow', 'b\n');
    const issues = lettered(world).write('c.md', '# c\n', { dependsOn: ['b'] });
    const other = issues.start('run', 'b.md', ...WORK);
    await world.call('working');
    const { code, out } = await issues.cli('run', 'b.md', 'c.md', ...WORK);
    expect(code).toBe(1);
    expect(out).toMatch(/✗ +c .*depends on b, which is being run by another run/);
    expect(out).toContain('c: Run it again when b is done; watch that with: signalbox status\n');
    expect(out).not.toContain('not part of this run');
    world.go();
    expect((await other.ended).code).toBe(0);
  });
});

describe.concurrent('a chain whose link waits at its gate', () => {
  it('is not begun anew when it is named again: the question stays and is pointed to', async ({ world }) => {
    const issues = lettered(world);
    const chain = ['run', 'a.md', 'b.md', '--chain', '--qa-gate', '--integrate', ...WORK];
    expect((await issues.cli(...chain)).code).toBe(1);
    const [run = ''] = issues.runs();
    const tip = git(world.repo, 'rev-parse', 'feature/a-a');
    const again = await issues.cli(...chain);
    expect(again.code).toBe(1);
    expect(again.out).toMatch(new RegExp(`! +a .*waits for approval in ${run}`));
    expect(again.out).toContain(
      `a: continue with: signalbox respond ${run} a approve && signalbox resume ${run}\n`,
    );
    expect(again.out).toMatch(/◌ +b +not started +the chain stops at a, which waits for approval/);
    expect(issues.runs()).toEqual([run]);
    expect(world.ticket(run, 'a')).toMatchObject({ status: 'needs_attention', hold: { kind: 'gate' } });
    expect((await issues.cli('respond', run, 'a', 'approve')).code).toBe(0);
    const answered = await issues.cli(...chain);
    expect(answered.out).toContain(`a: continue with: signalbox resume ${run}\n`);
    expect(git(world.repo, 'rev-parse', 'feature/a-a')).toBe(tip);
    expect((await issues.cli(...chain, '--force')).out).toContain('● a: exec started');
  });
});
