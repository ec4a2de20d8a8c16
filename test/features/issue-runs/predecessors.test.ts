import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { ENDINGS, FakeGh } from '../../support/gh/fake-gh.ts';
import { variants } from '../../support/index.ts';
import { within } from '../../support/within.ts';
import { git, it, NumberedWorld, type World, waitFor } from './support.ts';

const WORK = ['--phases', 'exec', '--no-smart-tests', '--no-retry'];
const ONE = 'feature/1-one';
const TWO = 'feature/2-two';

/** Two issues, the second on top of the first, which is complete and has pull request 3. */
class Stacked {
  readonly issues: NumberedWorld;
  readonly clone: string;

  constructor(world: World) {
    // The second fails until somebody mends it; "$HOME/own" makes it commit before it does.
    world.agent(
      'agent',
      `case $SIGNALBOX_TICKET in 1) echo one > one.txt; commit one ;;
      *) test -e "$HOME/mended" && { echo two > two.txt; commit two; exit 0; }
         test -e "$HOME/own" && { echo own > own.txt; commit own; }; exit 1 ;; esac`,
    );
    const two = { number: 2, title: 'Two', body: 'Depends on #1' };
    this.issues = new NumberedWorld(world, { number: 1, title: 'One' }, two);
    git(world.repo, 'push', '--quiet', 'origin', 'main');
    this.clone = join(world.dir, 'clone');
  }

  /** Somebody pushes a commit to the first's branch. */
  pushed(flags: string[] = []): this {
    const { bench, world } = this.issues;
    rmSync(this.clone, { recursive: true, force: true });
    git(world.dir, 'clone', '--quiet', `--branch=${ONE}`, bench.origin, this.clone);
    writeFileSync(join(this.clone, 'one.txt'), 'one, reviewed\n');
    git(this.clone, 'commit', '--quiet', '--all', '--message=reviewed', ...flags);
    git(this.clone, 'push', '--quiet', '--force', 'origin', 'HEAD');
    return this;
  }

  /** The first is merged as one commit, and main goes on. */
  merged(deleted = true): this {
    const { bench } = this.issues;
    const flags = ['--squash', ...(deleted ? ['--delete-branch'] : [])];
    execFileSync(FakeGh.command, ['pr', 'merge', '3', ...flags], { env: bench.env, cwd: bench.world.repo });
    return this;
  }

  mend(): this {
    this.issues.world.append('user/mended', '');
    return this;
  }

  run(...args: string[]) {
    return this.issues.cli('run', ...args, ...WORK);
  }

  get pull() {
    return this.issues.bench.pulls().find(({ headRefName }) => headRefName === TWO);
  }

  commits(since: string): string[] {
    return git(this.issues.world.repo, 'log', '--format=%s', `${since}..${TWO}`).split('\n');
  }

  file(name: string): string {
    return git(this.issues.world.repo, 'show', `${TWO}:${name}`);
  }
}

describe.concurrent('an issue whose predecessor was merged on the forge', () => {
  const standsAlone = (stacked: Stacked) => {
    const { repo } = stacked.issues.world;
    expect(stacked.pull).toMatchObject({ baseRefName: 'main', state: 'OPEN' });
    expect(stacked.pull?.body).not.toContain('Part of stack');
    expect(stacked.file('one.txt')).toBe('one, reviewed');
    expect(git(stacked.issues.bench.origin, 'merge-base', 'main', TWO)).toBe(
      stacked.issues.bench.tip('main'),
    );
    expect(git(repo, 'diff', '--name-only', 'origin/main', TWO)).not.toContain('one.txt');
  };

  it.for([
    ['deleted', true],
    ['kept', false],
  ] as const)(
    'starts from the base in a chain that is run again, its branch %s',
    { tags: 'full' },
    async ([, deleted], { world }) => {
      const stacked = new Stacked(world);
      expect((await stacked.run('1', '2', '--chain')).code).toBe(1);
      stacked.pushed().merged(deleted).mend();
      const { code, out } = await stacked.run('1', '2', '--chain');
      expect({ code, out }).toMatchObject({ code: 0 });
      standsAlone(stacked);
      expect(stacked.commits('origin/main')).toEqual(['two']);
    },
  );

  it('starts from the base when it is run alone, and the dry run names the other as an issue', {
    tags: 'full',
  }, async ({ world }) => {
    const stacked = new Stacked(world);
    expect((await stacked.run('1')).code).toBe(0);
    stacked.pushed().merged().mend();
    stacked.issues.bench.gh.repository(({ issues }) => {
      for (const issue of issues) if (issue.number === 1) issue.state = 'CLOSED';
    });
    expect((await stacked.run('2', '--dry-run')).out).toMatch(/after +#1\n/);
    expect((await stacked.run('2')).code).toBe(0);
    standsAlone(stacked);
    expect(stacked.commits('origin/main')).toEqual(['two']);
  });

  it.for([
    ['without commits of its own', false],
    ['with commits of its own', true],
  ] as const)(
    'starts from the base when it is retried and resumed, %s',
    { tags: 'full' },
    async ([, own], { world }) => {
      if (own) world.append('user/own', '');
      const stacked = new Stacked(world);
      expect((await stacked.run('1', '2', '--chain')).code).toBe(1);
      stacked.pushed().merged().mend();
      const [run = ''] = stacked.issues.runs();
      expect((await stacked.issues.cli('retry', run, '2')).code).toBe(0);
      const { code, out } = await stacked.issues.cli('resume', run);
      expect({ code, out }).toMatchObject({ code: 0 });
      standsAlone(stacked);
      const changed = git(world.repo, 'diff', '--name-only', 'origin/main', TWO).split('\n');
      expect(changed).toEqual(own ? ['own.txt', 'two.txt', 'work-2.txt'] : ['two.txt', 'work-2.txt']);
    },
  );

  it('keeps what the predecessor has here and was never pushed', { tags: 'full' }, async ({ world }) => {
    const stacked = new Stacked(world);
    expect((await stacked.run('1')).code).toBe(0);
    stacked.merged().mend();
    const tree = join(world.dir, 'aside');
    git(world.repo, 'worktree', 'add', '--quiet', tree, ONE);
    stacked.issues.bench.commit(tree, { 'late.txt': 'late\n' });
    git(world.repo, 'worktree', 'remove', tree);
    expect((await stacked.run('2')).code).toBe(0);
    expect(stacked.file('late.txt')).toBe('late');
    expect(git(world.repo, 'merge-base', 'origin/main', TWO)).toBe(stacked.issues.bench.tip('main'));
  });
});

describe.concurrent('an issue whose predecessor somebody pushed to', () => {
  variants([
    ['chain', ['1', '2', '--chain']],
    ['run of its own', ['2']],
  ] as const)('starts from what is on origin in a %s', async ([, again], { world }) => {
    const stacked = new Stacked(world);
    expect((await stacked.run('1', '2', '--chain')).code).toBe(1);
    const before = git(world.repo, 'rev-parse', ONE);
    stacked.pushed().mend();
    const { code, out } = await stacked.run(...again);
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining(`pushed to ${ONE}`) });
    expect(stacked.file('one.txt')).toBe('one, reviewed');
    expect(stacked.pull).toMatchObject({ baseRefName: ONE });
    expect(stacked.pull?.body).toContain('Part of stack: #1 → #2 (this)');
    expect(stacked.commits(`origin/${ONE}`)).toEqual(['two']);
    expect(git(world.repo, 'rev-parse', ONE)).toBe(before);
  });

  it('starts from it as it was rewritten there, where nothing here is lost', { tags: 'full' }, async ({
    world,
  }) => {
    const stacked = new Stacked(world);
    expect((await stacked.run('1')).code).toBe(0);
    stacked.pushed(['--amend']).mend();
    expect((await stacked.run('2')).code).toBe(0);
    expect(stacked.commits('origin/main')).toEqual(['two', 'reviewed']);
    expect(stacked.pull).toMatchObject({ baseRefName: ONE });
  });

  it('says so when origin or the forge cannot be asked, and goes on from what is here', {
    tags: 'full',
  }, async ({ world }) => {
    const stacked = new Stacked(world);
    expect((await stacked.run('1')).code).toBe(0);
    stacked.pushed().mend();
    const { origin, gh } = stacked.issues.bench;
    git(world.repo, 'remote', 'set-url', 'origin', join(world.dir, 'nowhere.git'));
    const { out } = await stacked.run('2', '--no-pr');
    expect(out).toContain(`The state of ${ONE} on origin could not be checked: `);
    expect(stacked.file('one.txt')).toBe('one');
    git(world.repo, 'remote', 'set-url', 'origin', origin);
    gh.fail({ call: 'pr list', times: null, ...ENDINGS.network });
    const forced = await stacked.run('2', '--no-pr', '--force');
    expect(forced.out).toContain(`The state of ${ONE} on origin could not be checked: `);
    expect(stacked.file('one.txt')).toBe('one, reviewed');
  });
});

describe.concurrent('a look at what became of a predecessor', () => {
  it('does not hold up a stop', async ({ world }) => {
    const stacked = new Stacked(world);
    expect((await stacked.run('1')).code).toBe(0);
    const { gh } = stacked.issues.bench;
    const before = gh.calls('pr list').length;
    gh.fail({ call: 'pr list', times: null, hang: true });
    const running = stacked.issues.start('run', '2', ...WORK);
    await waitFor('the look', () => gh.calls('pr list').length > before);
    const began = performance.now();
    expect((await running.kill('SIGINT')).code).toBe(130);
    expect(performance.now() - began).toBeLessThan(within(20_000));
  });

  it('follows one that was merged into the branch it was stacked on', { tags: 'full' }, async ({ world }) => {
    world.agent(
      'agent',
      'echo "$SIGNALBOX_TICKET" > "$SIGNALBOX_TICKET.txt"; commit "work on $SIGNALBOX_TICKET"',
    );
    const upon = (number: number) => ({ body: `Depends on #${number}` });
    const issues = new NumberedWorld(
      world,
      { number: 1, title: 'One' },
      { number: 2, title: 'Two', ...upon(1) },
      { number: 3, title: 'Three', ...upon(2) },
    );
    git(world.repo, 'push', '--quiet', 'origin', 'main');
    expect((await issues.cli('run', '1', '2', ...WORK)).code).toBe(0);
    expect(issues.bench.pulls()).toMatchObject([{ number: 4 }, { number: 5, baseRefName: ONE }]);
    const merge = ['pr', 'merge', '5', '--squash', '--delete-branch'];
    execFileSync(FakeGh.command, merge, { env: issues.bench.env, cwd: world.repo });
    expect((await issues.cli('run', '3', ...WORK)).code).toBe(0);
    const three = 'feature/3-three';
    expect(issues.bench.pulls().at(-1)).toMatchObject({ headRefName: three, baseRefName: ONE });
    expect(git(world.repo, 'merge-base', `origin/${ONE}`, three)).toBe(issues.bench.tip(ONE));
    expect(git(world.repo, 'show', `${three}:2.txt`)).toBe('2');
    expect(git(world.repo, 'log', '--format=%s', `origin/${ONE}..${three}`)).toBe('work on 3');
  });
});

describe.concurrent('a chain that is run for the first time', () => {
  it('asks nothing about predecessors that it has just made', { tags: 'full' }, async ({ world }) => {
    const stacked = new Stacked(world).mend();
    expect((await stacked.run('1', '2', '--chain')).code).toBe(0);
    const asked = (branch: string) =>
      stacked.issues.bench.gh.calls('pr list').filter(({ argv }) => argv.includes(branch)).length;
    // Its own pull request is looked for and looked up; the second's asks whether the first is merged.
    expect(asked(ONE)).toBe(asked(TWO) + 1);
    expect(stacked.pull).toMatchObject({ baseRefName: ONE });
  });
});
