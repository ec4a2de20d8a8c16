import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Bench, issue } from '../features/pull-requests/bench.ts';
import { BUILD, cliIn, DONE, errorIn, git, it, refusal, STUCK, setUp } from './support.ts';

const URL = 'https://github.com/acme/web/pull/1';

describe.concurrent('forge pr', () => {
  it('prints the address of the pull request and nothing else', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    expect(await cliIn(world, world.dir, ['forge', 'pr', 'p', '12'], bench.env)).toMatchObject({
      code: 0,
      out: `${URL}\n`,
      err: '',
    });
    const inPhase = { ...bench.env, SIGNALBOX_PLAN: 'p', SIGNALBOX_TICKET: '12' };
    const again = await cliIn(world, world.dir, ['forge', 'pr', '--json'], inPhase);
    expect(JSON.parse(again.out)).toEqual({ number: 1, url: URL, created: false, pushed: false });
  });

  it('is what the script of a workflow phase calls; the address can be captured', { tags: 'full' }, async ({
    world,
  }) => {
    const bench = new Bench(world);
    setUp(world, 'commit', { '12': issue(12) });
    const pr = { id: 'pr', type: 'script', command: 'pull-request.sh', capture: { pr_url: 'stdout' } };
    const next = { onSuccess: 'done', onFailure: 'stuck' };
    world.workflow('work', [{ ...BUILD, onSuccess: 'pr' }, { ...pr, ...next }, DONE, STUCK]);
    const { code, out, err } = await world.invoke(['run', 'p'], bench.env).ended;
    expect(code, out + err).toBe(0);
    expect(world.ticket('p', '12').context.pr_url).toBe(URL);
    expect(bench.tip('feature/12-add-a-thing')).toBe(bench.tip('feature/12-add-a-thing', world.repo));
  });

  it('fails the phase when the push fails, with the reason', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    setUp(world, 'commit', { '12': issue(12) });
    const pr = { id: 'pr', type: 'script', command: 'pull-request.sh', maxRetries: 0 };
    const next = { onSuccess: 'done', onFailure: 'stuck' };
    world.workflow('work', [{ ...BUILD, onSuccess: 'pr' }, { ...pr, ...next }, DONE, STUCK]);
    git(world.repo, 'push', '--quiet', 'origin', 'main:refs/heads/feature/12-add-a-thing');
    const path = join(world.dir, 'other');
    git(world.dir, 'clone', '--quiet', '--branch=feature/12-add-a-thing', bench.origin, path);
    bench.commit(path, { 'theirs.txt': 'x' });
    git(path, 'push', '--quiet');
    expect((await world.invoke(['run', 'p'], bench.env).ended).code).toBe(1);
    expect(world.ticket('p', '12').phaseHistory.at(-1)?.output).toContain('nothing is ever pushed by force');
    expect(bench.pulls()).toEqual([]);
  });

  it('says what to do when gh is missing or logged out', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    bench.gh.change((state) => {
      state.loggedIn = false;
    });
    const out = await cliIn(world, world.dir, ['forge', 'pr', 'p', '12'], bench.env);
    expect(out.code).toBe(1);
    expect(refusal(out)).toContain('   Run `gh auth login`');
    world.config({ ghCommand: '/nowhere/gh' });
    const missing = await cliIn(world, world.dir, ['forge', 'pr', 'p', '12', '--json'], bench.env);
    expect(errorIn(missing)).toMatchObject({
      code: 'gh/missing',
      message: 'The GitHub CLI (/nowhere/gh) is not installed or not on PATH.',
    });
  });

  it('asks which ticket', async ({ world }) => {
    const ended = await world.cli('forge', 'pr');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('Which ticket?');
  });
});

describe.concurrent('checks --related', () => {
  it('runs the tests that the ticket’s changes touch, in the worktree of the phase', async ({ world }) => {
    setUp(world);
    const base = git(world.repo, 'rev-parse', 'HEAD');
    const manifest = { type: 'module', scripts: { test: 'node --test' } };
    writeFileSync(join(world.repo, 'package.json'), JSON.stringify(manifest));
    writeFileSync(
      join(world.repo, 'a.test.js'),
      "import test from 'node:test';\ntest('a', () => undefined);\n",
    );
    const env = { SIGNALBOX_WORKTREE: world.repo, SIGNALBOX_BASE: base };
    const { code, out } = await cliIn(world, world.dir, ['checks', '--related'], env);
    expect({ code, end: out.trimEnd().split('\n').at(-1) }).toEqual({ code: 0, end: '✓ 1 passed' });
    expect(out).toContain('$ node --test ./a.test.js\n');
    writeFileSync(join(world.repo, 'a.test.js'), 'throw new Error("no");\n');
    const failed = await cliIn(world, world.dir, ['checks', '--related', '--json'], env);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.out)).toEqual({
      ok: false,
      results: [{ command: 'node --test ./a.test.js', code: 1 }],
      notes: [],
    });
  });

  it('without a remote takes what the branch has that main has not', async ({ world }) => {
    git(world.repo, 'switch', '--quiet', '--create', 'mine');
    writeFileSync(join(world.repo, 'package.json'), '{"scripts": {"test": "node --test"}}');
    writeFileSync(join(world.repo, 'a.test.js'), "require('node:test')('a', () => undefined);\n");
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=mine');
    const { code, out } = await cliIn(world, world.repo, ['checks', '--related']);
    expect(out).toContain('$ node --test ./a.test.js\n');
    expect(code).toBe(0);
  });

  it('says so, and succeeds, when nothing can be told', async ({ world }) => {
    setUp(world);
    expect(await cliIn(world, world.repo, ['checks', '--related'])).toMatchObject({
      code: 0,
      out: 'Nothing has changed, so there is nothing to test.\nNo related tests were run.\n',
    });
  });
});
