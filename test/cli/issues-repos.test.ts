import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Bench } from '../features/pull-requests/bench.ts';
import { commitsOf } from '../support/index.ts';
import { makeRepo } from '../support/repo.ts';
import { IssueWorld } from './issue-world.ts';
import { git, it, refusal } from './support.ts';

describe.concurrent('an issue of another repository', () => {
  it('is worked on where the settings say that it lies', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    const other = makeRepo(join(world.dir, 'api'));
    bench.gh.issues({ number: 1, title: 'Here' });
    bench.gh.repository((repository) => {
      repository.issues.push({ number: 7, title: 'There', body: 'Depends on: acme/web#1' });
    }, 'acme/api');
    world.config({ repos: { 'Acme/API': '../api' } });
    const issues = new IssueWorld(world, bench.env);
    const args = ['https://github.com/acme/api/issues/7', '1', '--phases', 'exec'];
    const dry = await issues.cli('run', ...args, '--dry-run');
    expect(dry.out).toMatch(/Would run #1: Here\n {2}phases .* → pull_request\n/);
    expect(dry.out).toMatch(/Would run api-7: There\n {2}phases .* → checks\n {2}after {5}#1\n/);
    const { code, out, err } = await issues.cli('run', ...args);
    expect(code, out + err).toBe(0);
    expect(out).toContain('✓ Issue api-7 completed');
    expect(out.indexOf('● api-7: exec started')).toBeGreaterThan(out.indexOf('✓ Issue #1 completed'));
    expect(commitsOf(other, 'feature/api-7-there')).toHaveLength(1);
    expect(git(world.repo, 'branch', '--list', 'feature/*', '--format=%(refname:short)')).toBe(
      'feature/1-here',
    );
    const again = await issues.cli('run', 'acme/api#7', '--phases', 'exec');
    expect(again.out).toMatch(/✓ +api-7 +done before/);
  });

  it.for([
    ['is not mentioned in the settings', {}, /acme\/api#7 is an issue of another repository/],
    ['lies where there is no repository', { 'acme/api': '/nowhere/api' }, /\/nowhere\/api/],
  ] as const)('that %s is refused with the way to say it', async ([, repos, message], { world }) => {
    const bench = new Bench(world);
    bench.gh.issues({ number: 1, title: 'Here' });
    bench.gh.repository((repository) => repository.issues.push({ number: 7, title: 'There' }), 'acme/api');
    world.config({ repos });
    const issues = new IssueWorld(world, bench.env);
    const alone = await issues.cli('run', 'acme/api#7');
    expect(alone.code).toBe(2);
    expect(refusal(alone)).toMatch(message);
    expect(alone.err).toContain('   repos:\n     acme/api: /path/to/its/checkout');
    expect(issues.runs()).toEqual([]);
    const { code, out } = await issues.cli('run', 'acme/api#7', '1', '--phases', 'exec', '--no-pr');
    expect(code).toBe(1);
    expect(out).toContain('✓ Issue #1 completed');
    expect(out).toMatch(/api-7: Set the path of its checkout in the settings:\n {2}repos:\n {4}acme\/api: /);
  });
});
