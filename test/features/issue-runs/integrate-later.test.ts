import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, IssueWorld, it, story, type World } from './support.ts';

const REHEARSED = ['--agent', 'rehearsal', '--no-smart-tests', '--no-pr'];
const verdict = (outcome: string) => ({
  result: { text: outcome, data: { outcome, summary: outcome, criteria: [], findings: [] } },
});
const ran = (world: World, run: string) =>
  story(world.ticket(run, 'a')).filter((line) => !line.endsWith(' skipped'));
const merged = (world: World) => git(world.repo, 'branch', '--list', 'signalbox/main') !== '';

async function worked(world: World): Promise<IssueWorld> {
  const issues = new IssueWorld(world).write('a.md', '# A\n');
  expect((await issues.cli('run', 'a.md', '--phases', 'spec,exec', ...REHEARSED)).code).toBe(0);
  return issues;
}

describe.concurrent('--phases qa with --integrate', () => {
  it('merges the work of an earlier run once it is judged', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([]);
    const issues = await worked(world);
    const { code, out } = await issues.cli('run', 'a.md', '--phases', 'qa', '--integrate', ...REHEARSED);
    expect(code).toBe(0);
    expect(ran(world, issues.runs().at(-1) ?? '')).toEqual(['qa success', 'integrate success']);
    expect(out).toContain('merge --ff-only signalbox/main');
    git(
      world.repo,
      'merge-base',
      '--is-ancestor',
      git(world.repo, 'rev-parse', 'feature/a-a'),
      'signalbox/main',
    );
  });

  it('merges nothing that is judged to be wrong', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'qa' }, do: [verdict('AC_NOT_MET')] }]);
    const issues = await worked(world);
    const { code } = await issues.cli('run', 'a.md', '--phases', 'qa', '--integrate', ...REHEARSED);
    expect(code).toBe(1);
    expect(merged(world)).toBe(false);
  });

  it('fails where the work cannot be merged', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([
      { when: { phase: 'exec' }, do: [{ write: { path: 'b.txt', text: 'mine' } }, { commit: 'b' }] },
    ]);
    const issues = await worked(world);
    issues.write('b.txt', 'theirs\n');
    const { code, out } = await issues.cli('run', 'a.md', '--phases', 'qa', '--integrate', ...REHEARSED);
    expect(code).toBe(1);
    expect(out).toContain('Phase integrate failed');
    expect(merged(world)).toBe(false);
  });

  it('fails where there is no work', async ({ world }) => {
    world.rehearsal([]);
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const { code, out } = await issues.cli('run', 'a.md', '--phases', 'qa', '--integrate', ...REHEARSED);
    expect(code).toBe(1);
    expect(out).toContain('feature/a-a has no commit that main does not have');
    expect(merged(world)).toBe(false);
  });
});

describe.concurrent('a setting that the phases of a run leave nothing to do for', () => {
  it('stops no run', async ({ world }) => {
    world.rehearsal([]);
    const issues = new IssueWorld(world, { SIGNALBOX_TESTGEN: '1', SIGNALBOX_QUALITY_LOOP: '1' });
    issues.write('a.md', '# A\n');
    mkdirSync(join(world.repo, '.signalbox'));
    const run = { integrate: true, securityReview: true, pr: true };
    writeFileSync(join(world.repo, '.signalbox', 'settings.json'), JSON.stringify({ run }));
    const { code, err } = await issues.cli('run', 'a.md', '--phases', 'spec', '--agent', 'rehearsal');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(ran(world, issues.runs()[0] ?? '')).toEqual(['spec success']);
  });
});
