import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Preview, TrainResult } from '../../src/features/merge-train/run-merge-train.ts';
import type { Report } from '../../src/report/view-schemas.ts';
import { CliCall } from '../support/cli-call.ts';
import { check, checkoutOf, commitOn, complete, filesIn, leftovers, WORKFLOW } from './merge-world.ts';
import { cliIn, errorIn, git, it, refusal, stateOf, type World, waitFor } from './support.ts';

interface Said<T> {
  ok: boolean;
  trains: T[];
}

async function merge(world: World, ...args: string[]): Promise<Said<TrainResult> & { code: number | null }> {
  const { code, out, err } = await world.cli('merge', 'p', '--json', ...args);
  if (out === '') throw new Error(err);
  return { ...(JSON.parse(out) as Said<TrainResult>), code };
}

const ids = (refs: { ticketId: string }[] | undefined) => refs?.map(({ ticketId }) => ticketId);

const TEN = ['t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7', 't8', 't9'];

describe('merge', () => {
  it('lands ten good branches and sends the one that is red only with another back, until it is mended', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent(
      'agent',
      `case $SIGNALBOX_TICKET in
        bad) if [ -f bad.txt ]; then git merge --quiet --no-edit signalbox/main && git mv bad.txt good.txt; else touch bad.txt; fi ;;
      esac
      commit`,
    );
    world.workflow('work', WORKFLOW);
    world.script('verify.sh', 'true');
    check(
      world,
      'if [ -f bad.txt ] && [ -f work-t3.txt ]; then echo "t3 and bad do not go together" >&2; exit 1; fi',
    );
    const tickets = Object.fromEntries(
      [...TEN.slice(0, 6), 'bad', ...TEN.slice(6)].map((id, order) => [id, { order }]),
    );
    world.plan('p', { tickets });
    world.config({ maxConcurrency: 4 });
    const ran = await world.cli('run', 'p');
    expect(ran.code, ran.out + ran.err).toBe(0);
    const before = checkoutOf(world);

    const { code, out, err } = await world.cli('merge', 'p');
    expect(code, out + err).toBe(1);
    for (const id of TEN) expect(out).toContain(`✓ p/${id}   ticket/p/${id}\n`);
    expect(out).toContain(
      `✗ p/bad  \`${join(world.dir, 'bin', 'check')}\` exited with code 1 when merged into signalbox/main; back to build\n`,
    );
    expect(out).toContain(
      `To bring it into your checkout: git -C ${world.repo} merge --ff-only signalbox/main\n`,
    );
    expect(out).toContain('signalbox run p\n');
    expect(filesIn(world, 'signalbox/main')).toEqual(['README.md', ...TEN.map((id) => `work-${id}.txt`)]);
    expect(checkoutOf(world)).toEqual(before);
    expect(leftovers(world)).toEqual([]);

    const back = world.ticket('p', 'bad');
    expect(back).toMatchObject({ status: 'ready', currentPhase: 'build', claim: null });
    expect(back.phaseHistory.at(-1)).toMatchObject({
      phase: 'verify',
      status: 'failure',
      error: { class: 'merge' },
    });
    expect(back.phaseHistory.at(-1)?.output).toContain('t3 and bad do not go together');
    expect(world.readPlan('p').status).toBe('active');
    expect((await world.cli('logs', 'p', 'bad')).out).toContain('t3 and bad do not go together');
    // The whole train, the base, and halves of it: never one by one.
    expect(world.read('checks.log').trimEnd().split('\n').length).toBeLessThanOrEqual(7);

    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.promptOf('p', 'bad', 'build.1.2')).toContain('Merge signalbox/main into this branch');
    expect(await merge(world)).toMatchObject({ code: 0, ok: true });
    expect(filesIn(world, 'signalbox/main')).toContain('good.txt');
    expect(checkoutOf(world)).toEqual(before);
    git(world.repo, 'merge', '--quiet', '--ff-only', 'signalbox/main');
    expect(await world.cli('merge', 'p')).toMatchObject({ code: 0, out: 'Nothing to merge.\n' });
  });

  it('moves the base itself where nobody has it checked out', { tags: 'full' }, async ({ world }) => {
    git(world.repo, 'branch', 'trunk');
    complete(world, { a: { files: { a: '1' } }, b: { files: { b: '1' } } }, { base: 'trunk' });
    const { code, trains } = await merge(world);
    expect(code).toBe(0);
    expect(trains[0]).toMatchObject({
      base: 'trunk',
      target: 'trunk',
      fastForward: null,
      returned: [],
      left: [],
    });
    expect(trains[0]?.commit).toBe(git(world.repo, 'rev-parse', 'trunk'));
    expect(git(world.repo, 'log', '--format=%s', '--first-parent', '-2', 'trunk').split('\n')).toEqual([
      'Merge ticket/p/b: Title of b',
      'Merge ticket/p/a: Title of a',
    ]);
  });

  it('says that nothing was checked where there are no checks, and how to have some', {
    tags: 'full',
  }, async ({ world }) => {
    complete(world, { a: { files: { a: '1' } } });
    const none = await world.cli('merge', 'p');
    expect(none.code).toBe(0);
    expect(none.out).toContain('No checks ran on the merged work.');
    expect(none.out).not.toContain('config trust');
    writeFileSync(join(world.repo, 'signalbox.yaml'), '{}\n');
    complete(world, { y: { files: { y: '1' } } }, { id: 'y' });
    expect((await world.cli('merge', 'y')).out).toContain(
      [
        'No checks ran on the merged work. No checks are configured and the project has none of its own.',
        'To add checks, name them in your settings, for example: checks: [npm test]',
        `Checks in signalbox.yaml need your trust: signalbox config trust ${world.repo}`,
        '',
      ].join('\n'),
    );
    expect((await world.cli('merge', 'p')).out).not.toContain('No checks ran');
    await world.cli('config', 'trust', world.repo);
    complete(world, { t: { files: { t: '1' } } }, { id: 't' });
    const trusted = (await world.cli('merge', 't')).out;
    expect(trusted).toContain('To add checks, name them in your settings');
    expect(trusted).not.toContain('config trust');
    world.config({ checks: [] });
    complete(world, { b: { files: { b: '1' } } }, { id: 'q' });
    const empty = await world.cli('merge', 'q', '--json');
    expect((JSON.parse(empty.out) as Said<TrainResult>).trains).toMatchObject([
      { landed: [{ ticketId: 'b' }], checks: [], unchecked: 'The setting `checks` is empty.' },
    ]);
    check(world, 'true');
    complete(world, { c: { files: { c: '1' } } }, { id: 'r' });
    const checked = await world.cli('merge', 'r', '--json');
    expect((JSON.parse(checked.out) as Said<TrainResult>).trains[0]?.unchecked).toBeNull();
  });

  it('names the pull request of what it merges here', async ({ world }) => {
    const url = 'https://github.com/acme/web/pull/3';
    complete(world, {
      a: { files: { a: '1' }, more: { context: { pr_url: url } } },
      b: { files: { b: '1' } },
    });
    const { out } = await world.cli('merge', 'p');
    expect(out.match(/^Pull request.*/gm)).toEqual([`Pull request of p/a, which is complete: ${url}`]);
  });

  it('shows the next command for the checkout that it is called in; after that the work counts as merged', async ({
    world,
  }) => {
    complete(world, { a: { files: { a: '1' }, more: { since: new Date().toISOString() } } });
    const place = { cwd: world.repo, env: { ...world.env, NO_COLOR: '1' }, terminal: true, columns: 60 };
    const { out } = await new CliCall(['merge', 'p'], place).ended;
    expect(out).toContain('\nTo bring it into your checkout:\n  git merge --ff-only signalbox/main\n');
    expect(out.split('\n').filter((line) => line.length > 60)).toEqual([]);
    const work = async () => (await world.cli('status', 'p')).out.split('\n').at(-2);
    expect(await work()).toBe('  Work: 1 merged into signalbox/main → signalbox merge p');
    // A commit of one's own: that command would not be a fast-forward any more.
    git(world.repo, 'commit', '--quiet', '--allow-empty', '-m', 'Own');
    const again = (await world.cli('merge', 'p')).out;
    expect(again).toContain('Nothing to merge.\nTo bring it into your checkout: ');
    git(world.repo, 'merge', '--quiet', '--ff-only', 'signalbox/main');
    expect((await world.cli('merge', 'p')).out).toBe('Nothing to merge.\n');
    expect(await work()).toBe('  Work: 1 merged');
    const { sections } = await world.json<Report>('report', '--plan', 'p');
    expect(sections.map(({ name }) => name)).toEqual(['merged', 'decided']);
  });

  it('is not offered for work that a person merged, whose branch was deleted, or that a phase merged', async ({
    world,
  }) => {
    const names = ['a', 'b', 'c', 'd'];
    const work = (id: string) => [id, { files: { [id]: '1' } }] as const;
    complete(world, Object.fromEntries(names.map(work)));
    const phaseHistory = [{ phase: 'integrate', visit: 1, attempt: 1, status: 'success', startedAt: 'x' }];
    complete(world, { e: { files: { e: '1' }, more: { phaseHistory } } }, { id: 'q' });
    git(world.repo, 'merge', '--quiet', 'ticket/p/a');
    git(world.repo, 'branch', '--force', 'signalbox/main', 'ticket/q/e');
    git(world.repo, 'branch', '-D', 'ticket/p/b');
    git(world.repo, 'merge', '--quiet', '--squash', 'ticket/p/d');
    git(world.repo, 'commit', '--quiet', '-m', 'Squashed');
    const status = async (...words: string[]) => (await world.cli('status', ...words)).out;
    expect(await status('p')).toContain('\n  Work: 1 merged, 2 on their branches → signalbox merge p\n');
    expect(await status('e')).toContain('merged into signalbox/main\n');
    expect((await world.cli('merge', 'p', '--dry-run')).out).toMatch(
      / 1\. p\/c .*\n {2}= p\/d {2}already in main\n$/,
    );
    await world.cli('merge', 'p');
    expect(await status('p')).toMatch(
      /\n {2}Work: 2 merged, 1 merged into signalbox\/main → signalbox merge p\n$/,
    );
  });

  it('is not held up by a stopped run whose issue it has, and finds the newer one by the id', async ({
    world,
  }) => {
    complete(world, { a: { files: { a: '1' } } }, { id: 'new' });
    const { branch, base } = world.ticket('new', 'a');
    const hold = { kind: 'stopped', reason: 'superseded by new', until: null, supersededBy: 'new' } as const;
    world.plan('old', { status: 'paused', tickets: { a: { status: 'paused', hold, branch, base } } });
    const { code, out, err } = await world.cli('merge', 'a');
    expect(code, out + err).toBe(0);
    expect(filesIn(world, 'signalbox/main')).toContain('a');
  });

  it('merges what others wait for first, then by order', { tags: 'full' }, async ({ world }) => {
    complete(world, {
      late: { files: { late: '1' }, order: 3 },
      base: { files: { base: '1' }, order: 5 },
      top: { files: { top: '1' }, on: 'base', order: 1 },
    });
    const { trains } = await merge(world);
    expect(ids(trains[0]?.landed)).toEqual(['late', 'base', 'top']);
  });

  it('sends a conflict back with the files, and lands the rest', async ({ world }) => {
    complete(world, {
      a: { files: { 'README.md': 'a\n' } },
      b: { files: { 'README.md': 'b\n' } },
      c: { files: { c: '1' } },
      d: { files: { d: '1' }, on: 'b' },
    });
    const before = checkoutOf(world);
    const { code, trains } = await merge(world);
    expect(code).toBe(1);
    expect(ids(trains[0]?.landed)).toEqual(['a', 'c']);
    expect(trains[0]?.returned).toMatchObject([{ ticketId: 'b', phase: 'build', conflict: ['README.md'] }]);
    expect(trains[0]?.left).toMatchObject([{ ticketId: 'd', reason: 'waits for b' }]);
    expect(world.ticket('p', 'b').phaseHistory.at(-1)?.output).toBe(
      'This branch conflicts with signalbox/main in README.md. Merge signalbox/main into it, resolve the conflicts, and commit.',
    );
    expect(world.ticket('p', 'd').status).toBe('complete');
    expect(checkoutOf(world)).toEqual(before);
  });

  it('brings what it tells an agent to merge up to the base, also when nothing lands', {
    tags: 'full',
  }, async ({ world }) => {
    complete(world, { a: { files: { a: '1' } } });
    expect(await merge(world)).toMatchObject({ code: 0 });
    complete(world, { b: { files: { 'README.md': 'b\n' } } }, { id: 'q' });
    complete(world, { c: { files: { bad: '1' } } }, { id: 'r' });
    commitOn(world, 'hand', 'main', { 'README.md': 'by hand\n' });
    git(world.repo, 'merge', '--quiet', '--ff-only', 'hand');
    const before = checkoutOf(world);
    await world.cli('merge', 'q');
    expect(world.ticket('q', 'b').phaseHistory.at(-1)?.output).toContain('Merge signalbox/main into it');
    git(world.repo, 'merge-base', '--is-ancestor', 'main', 'signalbox/main');
    expect(filesIn(world, 'signalbox/main')).toEqual(['README.md', 'a']);
    check(world, '[ ! -f bad ]');
    git(world.repo, 'commit', '--quiet', '--allow-empty', '--message=by hand');
    await world.cli('merge', 'r');
    expect(world.ticket('r', 'c').phaseHistory.at(-1)?.output).toContain('Merge signalbox/main into this');
    git(world.repo, 'merge-base', '--is-ancestor', 'main', 'signalbox/main');
    expect(checkoutOf(world).slice(1)).toEqual(before.slice(1));
  });

  it('leaves alone what is built on work that went back', { tags: 'full' }, async ({ world }) => {
    check(world, '[ ! -f bad ]');
    complete(world, {
      bad: { files: { bad: '1' } },
      top: { files: { top: '1' }, on: 'bad' },
      c: { files: { c: '1' } },
    });
    const { trains } = await merge(world);
    expect(ids(trains[0]?.landed)).toEqual(['c']);
    expect(ids(trains[0]?.returned)).toEqual(['bad']);
    const again = await merge(world);
    expect(again.trains[0]).toMatchObject({
      landed: [],
      returned: [],
      left: [{ ticketId: 'top', reason: 'waits for p/bad, whose work is not in main' }],
    });
  });

  it('finds several culprits, whoever comes first', { tags: 'full' }, async ({ world }) => {
    check(world, '[ ! -f bad1 ] && [ ! -f bad2 ]');
    complete(world, {
      a: { files: { a: '1' } },
      b: { files: { bad1: '1' } },
      c: { files: { c: '1' } },
      d: { files: { bad2: '1' } },
      e: { files: { e: '1' } },
    });
    const { code, out, err } = await world.cli('merge', 'p', '--json');
    const { trains } = JSON.parse(out) as { trains: TrainResult[] };
    expect(code).toBe(1);
    expect(ids(trains[0]?.landed)).toEqual(['a', 'c', 'e']);
    expect(ids(trains[0]?.returned)).toEqual(['b', 'd']);
    expect(err.split('\n').filter((line) => /^(The checks|Checking)/.test(line))).toEqual([
      'Checking 5 branches on main…',
      'The checks failed. Checking main by itself…',
      'The checks passed. Checking the first 2…',
      'The checks failed. Checking the first 1…',
      'Checking 4 branches on main…',
      'The checks failed. Checking the first 2…',
      'The checks passed. Checking the first 3…',
      'Checking 3 branches on main…',
    ]);
  });

  it('asks a person where no phase leads back, and after three times', async ({ world }) => {
    check(world, '[ ! -f bad ]');
    const merged = {
      phase: 'verify',
      status: 'failure',
      startedAt: '2026-01-01T00:00:00Z',
      error: { class: 'merge', message: 'x' },
    };
    const history = [
      { phase: 'build', status: 'success', startedAt: '2026-01-01T00:00:00Z' },
      merged,
      merged,
      merged,
    ];
    complete(world, {
      often: { files: { bad: '1' }, more: { phaseHistory: history } },
      nowhere: { files: { bad: '2' }, more: { workflow: 'short' } },
    });
    world.workflow('short', [
      { id: 'build', type: 'agent', prompt: 'x', onSuccess: 'done' },
      { id: 'done', type: 'terminal' },
    ]);
    const { trains } = await merge(world);
    expect(trains[0]?.returned).toMatchObject([
      { ticketId: 'often', phase: null },
      { ticketId: 'nowhere', phase: null },
    ]);
    for (const id of ['often', 'nowhere'])
      expect(world.ticket('p', id)).toMatchObject({
        status: 'needs_attention',
        error: expect.stringMatching(/^merge: .*exited with code 1/),
      });
    expect((await world.cli('retry', 'p', 'nowhere')).code).toBe(0);
    expect(world.ticket('p', 'nowhere')).toMatchObject({ status: 'ready', currentPhase: 'build' });
  });

  it('blames nobody when the base is red by itself', async ({ world }) => {
    check(world, 'exit 3');
    complete(world, { a: { files: { a: '1' } }, b: { files: { b: '1' } } });
    const before = stateOf(world);
    const ended = await world.cli('merge', 'p', '--json');
    expect(ended.code).toBe(1);
    expect(
      JSON.parse(ended.err.split('\n').findLast((line) => line.startsWith('{')) ?? '').error,
    ).toMatchObject({
      code: 'merge/base-red',
      message: expect.stringContaining('exited with code 3'),
    });
    expect(stateOf(world)).toEqual(before);
    expect(git(world.repo, 'branch', '--list', 'signalbox/*')).toBe('');
    expect(leftovers(world)).toEqual([]);
  });

  it('takes changes that are there already as done', async ({ world }) => {
    complete(world, { a: { files: { a: '1' } } });
    git(world.repo, 'cherry-pick', 'ticket/p/a');
    git(world.repo, 'commit', '--quiet', '--amend', '--message=squashed');
    const { trains, code, ok } = await merge(world);
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    const already = [{ planId: 'p', ticketId: 'a', branch: 'ticket/p/a', into: 'main' }];
    expect(trains[0]).toMatchObject({ landed: [], returned: [], left: [], already });
  });

  it('says that squashed work is there, whatever was built on it since, and goes on with the rest', {
    tags: 'full',
  }, async ({ world }) => {
    complete(world, {
      a: { files: { shared: 'a\n' } },
      c: { files: { c: '1' } },
    });
    git(world.repo, 'merge', '--quiet', '--squash', 'ticket/p/a');
    git(world.repo, 'commit', '--quiet', '--message=a, squashed');
    commitOn(world, 'later', 'main', { shared: 'changed by hand\n' });
    git(world.repo, 'merge', '--quiet', '--ff-only', 'later');
    const preview = await world.cli('merge', 'p', '--dry-run');
    expect(preview.out).toBe(
      ['Into main, by way of signalbox/main:', ' 1. p/c  ticket/p/c', '  = p/a  already in main', ''].join(
        '\n',
      ),
    );
    const { code, out } = await world.cli('merge', 'p');
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining('= p/a  already in main\n'),
    });
    expect(filesIn(world, 'signalbox/main')).toEqual(['README.md', 'c', 'shared']);
    expect(git(world.repo, 'show', 'signalbox/main:shared')).toBe('changed by hand');
    const again = await world.cli('merge', 'p');
    expect(again).toMatchObject({ code: 0, out: '= p/a  already in main\n' });
  });

  it('takes all plans of the repository with --all, and none of another', async ({ world }) => {
    complete(world, { a: { files: { a: '1' } } }, { createdAt: '2026-01-02T00:00:00Z' });
    complete(world, { b: { files: { b: '1' } } }, { id: 'q', createdAt: '2026-01-01T00:00:00Z' });
    git(world.dir, 'clone', '--quiet', world.repo, join(world.dir, 'other'));
    world.plan('r', {
      repo: join(world.dir, 'other'),
      tickets: {
        c: {
          status: 'complete',
          branch: 'main',
          base: { ref: 'main', commit: git(world.repo, 'rev-parse', 'HEAD') },
        },
      },
    });
    const { code, out } = await cliIn(world, world.repo, ['merge', '--all', '--json']);
    expect(code).toBe(0);
    const { trains } = JSON.parse(out) as Said<TrainResult>;
    expect(trains.map(({ landed }) => landed.map(({ planId, ticketId }) => `${planId}/${ticketId}`))).toEqual(
      [['q/b', 'p/a']],
    );
    expect(refusal(await world.cli('merge'))).toContain('is in no repository, and no plan is named');
    const fresh = join(world.dir, 'fresh');
    git(world.dir, 'init', '--quiet', fresh);
    expect(refusal(await cliIn(world, fresh, ['merge']))).toContain('has no commit to start from');
  });

  it('leaves out work that has no base branch to merge into, and names its branch where there is nothing else', async ({
    world,
  }) => {
    check(world, 'true');
    const commit = git(world.repo, 'rev-parse', 'HEAD');
    const noBranch = { base: { ref: commit, commit } };
    complete(world, { a: { files: { a: '1' }, more: noBranch } }, { id: 'p' });
    const refused = await cliIn(world, world.repo, ['merge', '--all']);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('The branch: git merge ticket/p/a\n');
    complete(world, { b: { files: { b: '1' } } }, { id: 'q' });
    const merged = await cliIn(world, world.repo, ['merge', '--all']);
    expect(merged.out).toContain('✓ q/b  ticket/q/b\n');
    expect(merged.out).toContain('- p/a  The work started from a commit on no branch');
    expect(merged.code).toBe(1);
  });

  it('needs a name, and lists what can be merged without one', async ({ world }) => {
    const here = (...words: string[]) => cliIn(world, world.repo, ['merge', ...words]);
    expect(await here()).toMatchObject({ code: 0, out: 'Nothing to merge.\n' });
    complete(world, { a: { files: { a: '1' } } }, { createdAt: '2026-01-01T00:00:00Z' });
    complete(
      world,
      {
        b: { files: { b: '1' } },
        c: { files: { c: '1' } },
        d: { files: { d: '1' }, more: { status: 'ready' } },
      },
      { id: 'q', status: 'active', createdAt: '2026-01-02T00:00:00Z' },
    );
    const before = git(world.repo, 'for-each-ref');
    expect(await here()).toMatchObject({
      code: 2,
      err: [
        '❌ Name what to merge. This can be merged:',
        '   signalbox merge q      # 2 tickets',
        '   signalbox merge q b',
        '   signalbox merge q c',
        '   signalbox merge p      # a',
        '   signalbox merge @last  # q',
        '   signalbox merge --all  # 2 plans',
        '',
      ].join('\n'),
    });
    expect((await here('--dry-run')).out).toContain('1. p/a');
    expect(git(world.repo, 'for-each-ref')).toBe(before);
    expect(refusal(await here('p', '--all'))).toContain('Leave out the name.');
    expect(await here('d')).toMatchObject({ code: 0, err: 'q/d is ready.\n', out: 'Nothing to merge.\n' });
    expect((await here('b')).out).toMatch(/^✓ q\/b {2}ticket\/q\/b\n(?!.*✓)/);
    expect(refusal(await here('a'))).toContain('signalbox merge p a');
    expect((await here('@last')).out).toContain('✓ q/c ');
    expect(await here()).toMatchObject({
      code: 2,
      err: expect.stringContaining('\n   signalbox merge p      # a\n   signalbox merge --all  # 1 plan\n'),
    });
  });

  it('runs hooks and copies files for the checks as for any worktree', { tags: 'full' }, async ({
    world,
  }) => {
    world.config({ hooks: { afterCreate: ['echo ready > hook.txt'] }, copy: ['.env'] });
    writeFileSync(join(world.repo, '.git', 'info', 'exclude'), '.env\nhook.txt\n');
    writeFileSync(join(world.repo, '.env'), 'KEY=1\n');
    check(world, 'test -f hook.txt && test -f .env && test ! -f bad');
    complete(world, { a: { files: { bad: '1' } }, b: { files: { b: '1' } } });
    const { trains } = await merge(world);
    expect(ids(trains[0]?.landed)).toEqual(['b']);
  });

  it('refuses an archived plan and an unknown one', async ({ world }) => {
    complete(world, { a: { files: { a: '1' } } }, { status: 'archived' });
    expect(refusal(await world.cli('merge', 'p'))).toContain('Plan "p" is archived.');
    expect(errorIn(await world.cli('merge', 'nope', '--json')).code).toBe('plan/unknown');
    expect(errorIn(await world.cli('merge', 'p', '--wait', '-1', '--json')).message).toContain(
      'Must be zero or a positive integer of at most 86400.',
    );
  });
});

describe('two plans with a ticket of the same id', () => {
  it('can both be rehearsed, and merged', async ({ world }) => {
    for (const id of ['p', 'q']) world.plan(id, { workflow: 'minimal', tickets: { a: {} } });
    for (const id of ['p', 'q']) expect((await world.cli('run', id)).code).toBe(0);
    expect((await cliIn(world, world.repo, ['merge', '--all'])).out).toMatch(/✓ p\/a .*\n✓ q\/a /);
  });
});

describe('merge --dry-run', () => {
  it('shows order and conflicts and changes nothing, not even an object', async ({ world }) => {
    complete(world, {
      b: { files: { 'README.md': 'b\n' }, order: 2 },
      a: { files: { 'README.md': 'a\n' }, order: 1 },
      c: { files: { c: '1' }, order: 3 },
    });
    check(world, 'exit 1');
    const state = () => [
      ...checkoutOf(world),
      git(world.repo, 'for-each-ref'),
      git(world.repo, 'count-objects', '-v'),
      JSON.stringify(stateOf(world)),
    ];
    const before = state();
    const { code, out } = await world.cli('merge', 'p', '--dry-run');
    expect({ code, out }).toEqual({
      code: 1,
      out: [
        'Into main, by way of signalbox/main:',
        ' 1. p/a  ticket/p/a',
        '  ✗ p/b  ticket/p/b  conflicts in README.md',
        ' 3. p/c  ticket/p/c',
        '',
      ].join('\n'),
    });
    const { trains, ok } = JSON.parse(
      (await world.cli('merge', 'p', '--dry-run', '--json')).out,
    ) as Said<Preview>;
    expect(ok).toBe(false);
    expect(trains[0]?.order.map(({ ticketId, conflict }) => [ticketId, conflict])).toEqual([
      ['a', []],
      ['b', ['README.md']],
      ['c', []],
    ]);
    expect(state()).toEqual(before);
    expect(world.exists('checks.log')).toBe(false);
    expect(leftovers(world)).toEqual([]);
  });
});

describe('a base that moves meanwhile', () => {
  it('is merged with and checked again', async ({ world }) => {
    git(world.repo, 'branch', 'trunk');
    check(
      world,
      `[ -e '${join(world.dir, 'go', 'on')}' ] || touch '${join(world.dir, 'waiting')}'; while [ ! -e '${join(world.dir, 'go', 'on')}' ]; do sleep 0.02; done`,
    );
    complete(world, { a: { files: { a: '1' } } }, { base: 'trunk' });
    const running = world.invoke(['merge', 'p']);
    await world.until('waiting');
    commitOn(world, 'trunk', 'trunk', { theirs: '1' });
    writeFileSync(join(world.dir, 'go', 'on'), '');
    const { code, out, err } = await running.ended;
    expect(code, out + err).toBe(0);
    expect(err).toContain('trunk has moved meanwhile; trying again.');
    expect(filesIn(world, 'trunk')).toEqual(['README.md', 'a', 'theirs']);
    expect(
      world
        .read('checks.log')
        .trim()
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual(['README.md a', 'README.md a theirs']);
  });

  it('is not one that a person committed to before the checks began', { tags: 'full' }, async ({ world }) => {
    complete(world, { a: { files: { a: '1' } } });
    expect(await merge(world)).toMatchObject({ code: 0 });
    git(world.repo, 'commit', '--quiet', '--allow-empty', '--message=by hand');
    complete(world, { b: { files: { b: '1' } }, c: { files: { c: '1' } } }, { id: 'q' });
    check(world, 'begun=$(date +%s); while [ "$(date +%s)" = "$begun" ]; do sleep 0.02; done');
    const { code, out, err } = await world.cli('merge', 'q');
    expect(code, out + err).toBe(0);
    expect(err).toContain('Checking 2 branches on signalbox/main…');
    expect(err).not.toContain('moved');
    expect(filesIn(world, 'signalbox/main')).toEqual(['README.md', 'a', 'b', 'c']);
    git(world.repo, 'merge', '--quiet', '--ff-only', 'signalbox/main');
  });

  it('is left alone when somebody has checked it out since: the integration branch gets the work', async ({
    world,
  }) => {
    git(world.repo, 'branch', 'trunk');
    const on = join(world.dir, 'go', 'on');
    check(world, `touch '${join(world.dir, 'waiting')}'; while [ ! -e '${on}' ]; do sleep 0.02; done`);
    complete(world, { a: { files: { a: '1' } } }, { base: 'trunk' });
    const running = world.invoke(['merge', 'p', '--json']);
    await world.until('waiting');
    git(world.repo, 'switch', '--quiet', 'trunk');
    const before = checkoutOf(world);
    writeFileSync(on, '');
    const { code, out, err } = await running.ended;
    expect(code, err).toBe(0);
    expect((JSON.parse(out) as Said<TrainResult>).trains[0]).toMatchObject({
      target: 'signalbox/trunk',
      fastForward: `git -C ${world.repo} merge --ff-only signalbox/trunk`,
    });
    expect(checkoutOf(world)).toEqual(before);
  });
});

describe('one merge at a time', () => {
  it('names who is at it, and ends cleanly when it is stopped', { tags: 'full' }, async ({ world }) => {
    check(world, `touch '${join(world.dir, 'waiting')}'; exec sleep 60`);
    complete(world, { a: { files: { a: '1' } } });
    const first = world.start(['merge', 'p']);
    await world.until('waiting');
    const second = await world.cli('merge', 'p', '--json');
    expect(second.code).toBe(3);
    expect(errorIn(second)).toMatchObject({
      code: 'merge/held',
      message: expect.stringContaining(`process ${first.pid} on `),
    });
    const before = stateOf(world);
    const ended = await first.kill('SIGINT');
    expect(ended.code).toBe(130);
    expect(ended.err).toContain('The merge was stopped; nothing was moved.');
    expect(stateOf(world)).toEqual(before);
    await waitFor('nothing to be left', () => leftovers(world).length === 0);
  });
});
