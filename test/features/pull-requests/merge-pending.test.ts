import { execFileSync } from 'node:child_process';
import { describe, expect } from 'vitest';
import { leftovers } from '../../cli/merge-world.ts';
import { type FakeCheck, FakeGh } from '../../support/gh/fake-gh.ts';
import { git, it } from '../../support/index.ts';
import type { Bench } from './bench.ts';
import { prepare, states } from './merge-bench.ts';

/** What CI says of a pull request; null while it runs. */
function check(bench: Bench, number: number, conclusion: FakeCheck['conclusion']): void {
  const status = conclusion === null ? 'IN_PROGRESS' : 'COMPLETED';
  bench.gh.pullRequest(number, (pull) => {
    pull.statusCheckRollup = [{ __typename: 'CheckRun', name: 'build', status, conclusion }];
  });
}

const start = (bench: Bench, ...args: string[]) => bench.world.invoke(['merge', 'p', ...args], bench.env);

describe.concurrent('merge --pr and checks that still run', () => {
  it('waits for them, says so, and leaves out what becomes red', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' }, '3': { c: '1' } });
    world.config({ forge: { cacheSeconds: 0.2 } });
    for (const number of [1, 2]) check(bench, number, null);
    const merging = start(bench, '--pr');
    await merging.says('Waiting for checks of p/1 (#1), p/2 (#2), 30 min at most');
    expect(states(bench)).toEqual(['OPEN', 'OPEN', 'OPEN']);
    check(bench, 2, 'FAILURE');
    await merging.says('Waiting for checks of p/1 (#1), ');
    expect(states(bench)).toEqual(['OPEN', 'OPEN', 'OPEN']);
    check(bench, 1, 'SUCCESS');
    const { code, out } = await merging.ended;
    expect({ code, out }).toMatchObject({
      code: 1,
      out: expect.stringContaining('- p/2  pull request #2 has red checks: build\n'),
    });
    expect(states(bench)).toEqual(['MERGED', 'OPEN', 'MERGED']);
  });

  it('does not wait longer than it was told, and says how to go on', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' }, '3': { c: '1' } }, { '2': ['1'] });
    check(bench, 1, null);
    const pending = 'p/1  pull request #1 is not ready: checks pending (build)';
    const preview = await start(bench, '--pr', '--dry-run').ended;
    expect(preview.out).toContain(`  - ${pending}\n`);
    const { code, out, err } = await start(bench, '--pr', '--wait', '0').ended;
    expect(code).toBe(1);
    expect(err).not.toContain('Waiting');
    expect(out.split('\n')).toEqual([
      '✓ p/3  https://github.com/acme/web/pull/3',
      `- ${pending}`,
      '- p/2  waits for feature/1-add-a-thing',
      expect.stringMatching(/^origin\/main is now at /),
      'Once the checks are done: signalbox merge p --pr',
      '',
    ]);
    expect(states(bench)).toEqual(['OPEN', 'OPEN', 'MERGED']);
    const soon = await start(bench, '--pr', '--wait', '1').ended;
    expect(soon.err).toContain('Waiting for checks of p/1 (#1), 1 s at most');
    expect(soon.out).toContain(`- ${pending}\n`);
  });

  it('merges nothing when it is interrupted', async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' } });
    check(bench, 1, null);
    const merging = start(bench, '--pr');
    await merging.says('Waiting for checks');
    const { code, err } = await merging.kill('SIGINT');
    expect({ code, err }).toMatchObject({ code: 130, err: expect.stringContaining('nothing was moved') });
    expect(states(bench)).toEqual(['OPEN', 'OPEN']);
    expect(leftovers(world)).toEqual([]);
  });
});

describe.concurrent('merge of branches whose pull request a person squashed on GitHub', () => {
  it('says that it is there, also before anything is fetched', { tags: 'full' }, async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' }, '2': { b: '1' } });
    const squash = ['pr', 'merge', '1', '--repo', 'acme/web', '--squash'];
    execFileSync(FakeGh.command, squash, { env: { ...process.env, ...bench.gh.env } });
    const { code, out } = await start(bench).ended;
    expect(code).toBe(0);
    expect(out).toContain('= p/1  already in main by pull request #1\n');
    expect(git(world.repo, 'ls-tree', '--name-only', 'signalbox/main').split('\n')).toEqual([
      'README.md',
      'b',
    ]);
  });

  it('does without GitHub where that cannot be asked', async ({ world }) => {
    const bench = await prepare(world, { '1': { a: '1' } });
    bench.gh.fail({ call: 'pr list', times: null, stderr: 'error connecting to api.github.com\n' });
    const { code, out } = await start(bench).ended;
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/^✓ p\/1 {2}/) });
  });
});
