import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { FakeGh } from '../../support/gh/fake-gh.ts';
import { git, it, type World } from '../../support/index.ts';
import type { Bench } from './bench.ts';
import { merge, prepare, states } from './merge-bench.ts';

describe.concurrent('merge --pr', () => {
  it('merges the pull requests that pass together, in order, also one whose answer got lost, and sends the red one back', {
    tags: 'full',
  }, async ({ world }) => {
    const files = { '1': { a: '1' }, '2': { bad: '1' }, '3': { c: '1' } };
    const bench = await prepare(world, files, { '3': ['1'] });
    expect(bench.pulls()[2]?.baseRefName).toBe('feature/1-add-a-thing');
    bench.gh.fail({ call: 'pr merge', after: true, exit: 1, stderr: 'error connecting to api.github.com\n' });
    const main = git(world.repo, 'rev-parse', 'main');
    const result = await merge(world, bench);
    expect(result).toMatchObject({
      target: 'origin/main',
      landed: [
        { ticketId: '1', pullRequest: { number: 1 } },
        { ticketId: '3', pullRequest: { number: 3 } },
      ],
      returned: [{ ticketId: '2', phase: 'build' }],
      left: [],
    });
    expect(states(bench)).toEqual(['MERGED', 'OPEN', 'MERGED']);
    // A stacked pull request gets its base before it is merged.
    expect(bench.pulls()[2]?.baseRefName).toBe('main');
    expect(result.commit).toBe(bench.tip('main'));
    expect(git(bench.origin, 'ls-tree', '--name-only', 'main').split('\n')).toEqual(['README.md', 'a', 'c']);
    expect(git(world.repo, 'rev-parse', 'main')).toBe(main);
    expect(git(world.repo, 'branch', '--list', 'signalbox/*')).toBe('');
    expect(bench.journal('1').slice(-2)).toEqual(['merge intent', 'merge done']);
    expect(world.ticket('p', '2').phaseHistory.at(-1)?.output).toContain(
      'Merge origin/main into this branch',
    );
    expect(bench.gh.calls('pr merge')).toHaveLength(2);
    const { code, out } = await world.invoke(['merge', 'p', '--pr'], bench.env).ended;
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('Nothing to merge.\n') });
    expect(bench.gh.calls('pr merge')).toHaveLength(2);
  });

  it('that squashed leaves nothing for a merge of branches', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { 1: { a: '1' }, 2: { b: '2' } });
    expect((await merge(world, bench, '--method', 'squash')).landed).toHaveLength(2);
    const { out } = await world.invoke(['merge', 'p'], bench.env).ended;
    expect(out).toBe('Nothing to merge.\n');
    expect(git(world.repo, 'branch', '--list', 'signalbox/*')).toBe('');
  });

  it('is reconciled after kill -9 between intent and answer', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' } });
    const once = join(world.dir, 'killed');
    const gh = join(world.dir, 'bin', 'gh-that-kills');
    const kill = `'${FakeGh.command}' "$@"; touch '${once}'; kill -9 $PPID; exit`;
    const script = `if [ "$1 $2" = 'pr merge' ] && [ ! -e '${once}' ]; then ${kill}; fi`;
    writeFileSync(gh, `#!/bin/sh\n${script}\nexec '${FakeGh.command}' "$@"\n`, { mode: 0o755 });
    world.config({ ghCommand: gh });
    const killed = await world.start(['merge', 'p', '--pr', '--method', 'squash'], bench.env).ended;
    expect(killed.signal).toBe('SIGKILL');
    expect(states(bench)).toEqual(['MERGED', 'OPEN']);
    expect(bench.journal('1').at(-1)).toBe('merge intent');
    const result = await merge(world, bench, '--method', 'squash');
    expect(states(bench)).toEqual(['MERGED', 'MERGED']);
    expect(result).toMatchObject({ landed: [{ ticketId: '2' }], left: [] });
    expect(bench.gh.calls('pr merge')).toHaveLength(2);
    expect(git(world.repo, 'ls-tree', '--name-only', 'origin/main').split('\n')).toEqual([
      'README.md',
      'a',
      'b',
    ]);
  });

  it('leaves out what has no pull request, is not pushed, or GitHub refuses, with all that needs it', {
    tags: 'full',
  }, async ({ world }) => {
    const bench = await prepare(
      world,
      { '1': { a: '1' }, '2': { b: '1' }, '3': { c: '1' }, '4': { d: '1' } },
      { '4': ['3'] },
    );
    bench.gh.pullRequest(3, (pull) => {
      pull.mergeStateStatus = 'BLOCKED';
    });
    bench.gh.repository((repository) => {
      repository.pullRequests = repository.pullRequests.filter(({ number }) => number !== 1);
    });
    const path = `${world.worktrees}/feature/2-add-a-thing`;
    bench.commit(path, { more: '1' });
    const result = await merge(world, bench);
    expect(result.landed).toEqual([]);
    expect(result.left.map(({ ticketId, reason }) => [ticketId, reason])).toEqual([
      ['1', 'it has no pull request; open one with: signalbox forge pr p 1'],
      ['2', 'pull request #2 lacks its last commit; push it with: signalbox forge pr p 2'],
      ['3', expect.stringContaining('the base branch policy prohibits the merge')],
      ['4', 'waits for feature/3-add-a-thing'],
    ]);
    expect(world.ticket('p', '3').status).toBe('complete');
  });

  it('leaves drafts out before anything is checked, and says how they become ready', {
    tags: 'full',
  }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' } });
    bench.gh.pullRequest(1, (pull) => Object.assign(pull, { isDraft: true }));
    const reason =
      'pull request #1 is a draft; say that it is ready with: gh pr ready https://github.com/acme/web/pull/1';
    const left = [{ ticketId: '1', reason }];
    expect(await merge(world, bench, '--dry-run')).toMatchObject({ left, order: [{ ticketId: '2' }] });
    const { code, out, err } = await world.invoke(['merge', 'p', '--pr', '--json'], bench.env).ended;
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ trains: [{ landed: [{ ticketId: '2' }], left }] });
    expect(err).toContain('Checking 1 branch on origin/main…');
    expect(err).not.toContain('refused');
    bench.gh.pullRequest(1, (pull) => Object.assign(pull, { isDraft: false }));
    expect(await merge(world, bench)).toMatchObject({ landed: [{ ticketId: '1' }], left: [] });
  });

  it('checks again when somebody moves the base meanwhile', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' } });
    const push = personPushes(world, bench, { c: 'does not go together with a' });
    checkWith(
      world,
      `[ -e '${world.dir}/once' ] || { touch '${world.dir}/once'; ${push}; }\n! { [ -e a ] && [ -e c ]; }`,
    );
    const result = await merge(world, bench);
    expect(result).toMatchObject({
      landed: [{ ticketId: '2' }],
      returned: [{ ticketId: '1', phase: 'build' }],
      left: [],
    });
    expect(states(bench)).toEqual(['OPEN', 'MERGED']);
    expect(git(bench.origin, 'ls-tree', '--name-only', 'main').split('\n')).toEqual(['README.md', 'b', 'c']);
  });

  it('looks once more after the checks whether it may be merged', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' } });
    git(bench.origin, 'branch', 'release-1', 'main');
    const edit = `'${FakeGh.command}' pr edit 1 --repo acme/web --base release-1`;
    checkWith(world, `[ -e '${world.dir}/once' ] || { touch '${world.dir}/once'; ${edit}; }`);
    const result = await merge(world, bench);
    expect(result).toMatchObject({
      landed: [{ ticketId: '2' }],
      returned: [],
      left: [{ ticketId: '1', reason: 'pull request #1 is for release-1, not for main' }],
    });
    expect(states(bench)).toEqual(['OPEN', 'MERGED']);
  });

  it('checks the rest again when somebody moves the base between two merges', { tags: 'full' }, async ({
    world,
  }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' } });
    const push = personPushes(world, bench, { c: 'does not go together with b' });
    const gh = join(world.dir, 'bin', 'gh-and-a-person');
    const between = `'${FakeGh.command}' "$@"; ${push}; exit`;
    const script = `if [ "$1 $2 $3" = 'pr merge 1' ]; then ${between}; fi`;
    writeFileSync(gh, `#!/bin/sh\n${script}\nexec '${FakeGh.command}' "$@"\n`, { mode: 0o755 });
    world.config({ ghCommand: gh });
    checkWith(world, '! { [ -e b ] && [ -e c ]; }');
    const result = await merge(world, bench);
    expect(result).toMatchObject({ landed: [{ ticketId: '1' }], returned: [{ ticketId: '2' }], left: [] });
    expect(states(bench)).toEqual(['MERGED', 'OPEN']);
  });

  it('checks those behind one that GitHub refuses without it', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' }, '3': { c: '1' } });
    bench.gh.pullRequest(1, (pull) => {
      pull.mergeStateStatus = 'BLOCKED';
    });
    checkWith(world, '[ ! -e b ] || [ -e a ]');
    const result = await merge(world, bench);
    expect(result).toMatchObject({
      landed: [{ ticketId: '3' }],
      returned: [{ ticketId: '2', phase: 'build' }],
      left: [{ ticketId: '1', reason: expect.stringContaining('policy prohibits the merge') }],
    });
    expect(states(bench)).toEqual(['OPEN', 'OPEN', 'MERGED']);
  });

  it('merges both of two that bring the same, and says of neither that it was there', {
    tags: 'full',
  }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { a: '1' } });
    const { out } = await world.invoke(['merge', 'p', '--pr', '--dry-run'], bench.env).ended;
    expect(out).not.toContain('already');
    expect(await merge(world, bench)).toMatchObject({
      landed: [{ ticketId: '1' }, { ticketId: '2' }],
      already: [],
    });
    expect(states(bench)).toEqual(['MERGED', 'MERGED']);
  });

  it('says before what it would do, without a trace', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' }, '3': { c: '1' } });
    execFileSync('sh', ['-c', personPushes(world, bench, { a: 'other' })]);
    bench.gh.repository((repository) => {
      repository.pullRequests = repository.pullRequests.filter(({ number }) => number !== 2);
    });
    const state = () => [
      git(world.repo, 'for-each-ref'),
      git(world.repo, 'count-objects', '-v'),
      git(world.repo, 'rev-parse', 'main'),
    ];
    const before = state();
    const { out } = await world.invoke(['merge', 'p', '--pr', '--dry-run'], bench.env).ended;
    expect(out).toBe(
      [
        'Into main, by way of origin/main:',
        '  ✗ p/1  feature/1-add-a-thing  conflicts in a',
        ' 2. p/3  feature/3-add-a-thing',
        '  - p/2  it has no pull request; open one with: signalbox forge pr p 2',
        '',
      ].join('\n'),
    );
    expect(state()).toEqual(before);
    expect(bench.gh.calls('pr merge')).toEqual([]);
    expect(await merge(world, bench)).toMatchObject({
      landed: [{ ticketId: '3' }],
      returned: [{ ticketId: '1', conflict: ['a'] }],
      left: [{ ticketId: '2' }],
    });
  });
});

/** A clone with a commit on its main, and the command that pushes it, from wherever it is run. */
function personPushes(world: World, bench: Bench, files: Record<string, string>): string {
  const dir = join(world.dir, 'person');
  git(world.dir, 'clone', '--quiet', '--branch', 'main', bench.origin, dir);
  bench.commit(dir, files);
  const own = `env -u GIT_DIR -u GIT_WORK_TREE git -C '${dir}'`;
  return `${own} pull --quiet --rebase origin main && ${own} push --quiet origin HEAD:main`;
}

function checkWith(world: World, body: string): void {
  const path = join(world.dir, 'bin', 'check');
  writeFileSync(path, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  world.config({ checks: [path] });
}
