import { describe, expect } from 'vitest';
import type { RunResult } from '../../../src/features/issue-runs/request-and-result-types.ts';
import { git, IssueWorld, it, linesOf, type World } from './support.ts';

const CRITERIA = '## Acceptance criteria\n\n- [ ] Prints the age\n- [ ] Looks right on paper\n';
const MET = { criterion: 'Prints the age', met: true, evidence: 'age.test.ts' };
const GAP = { criterion: 'Looks right on paper', met: false, evidence: 'no printer here' };
const SAID = 'NEEDS_VERIFICATION: not met or not verified: Looks right on paper';
const FLAGS = ['--phases', 'exec,qa', '--no-smart-tests', '--integrate', '--plain'];

const verdict = (outcome: string, criteria: object[]) => ({
  result: { text: outcome, data: { outcome, summary: 'Looked at it.', criteria, findings: [] } },
});

/** An issue that qa cannot verify, and one that builds on it and is fine. */
function unverified(world: World): IssueWorld {
  world.rehearsal([
    { when: { ticket: 'age', phase: 'qa' }, do: [verdict('NEEDS_VERIFICATION', [MET, GAP])] },
    { when: { phase: 'qa' }, do: [verdict('READY_FOR_MERGE', [])] },
  ]);
  return new IssueWorld(world)
    .write('age.md', `# Age\n\n${CRITERIA}`, { id: 'age', title: 'Age' })
    .write('next.md', '# Next\n', { id: 'next', title: 'Next', dependsOn: ['age'] });
}

const merged = (world: World, branch: string) =>
  git(world.repo, 'branch', '--list', '--format=%(refname:short)', '--contains', branch).includes('main');

describe.concurrent('work that needs verification', () => {
  it('is complete, is not merged, and everything says so', { tags: 'full' }, async ({ world }) => {
    const issues = unverified(world);
    const { code, out, err } = await issues.cli('run', 'age.md', ...FLAGS);
    expect(code, out + err).toBe(0);
    const run = await issues.run();
    const left = `Not merged: the verdict is NEEDS_VERIFICATION. Once it is verified: signalbox integrate ${run} age`;
    expect(out).toMatch(
      /● age: integrate ✓ \(\d+s\)\n {2}age {3}Not merged: the verdict is NEEDS_VERIFICATION/,
    );
    expect(out).toMatch(
      /✓ Issue age completed \(\d+s\)\n {2}age {3}NEEDS_VERIFICATION: not met or not verified: Looks right on paper\n/,
    );
    const table = out.slice(out.lastIndexOf('Progress:'));
    expect(table).toContain(SAID);
    expect(table).toContain(`age: ${left}\n`);
    expect((await issues.cli('status', '--plan', run)).out).toContain(SAID);
    const told = { success: true, verdict: 'NEEDS_VERIFICATION', reservation: SAID, notMerged: left };
    expect(issues.log(run).issues[0]).toMatchObject(told);
    expect(merged(world, 'feature/age-age')).toBe(false);

    // Asked again, it is as before; by hand it is merged, and then there is nothing to say.
    const again = await issues.cli('run', 'age.md', ...FLAGS.slice(0, -1), '--json');
    const result = linesOf(again.out).at(-1) as RunResult & { type: string };
    expect(result.results).toMatchObject([{ success: true, verdict: 'NEEDS_VERIFICATION' }]);
    expect(result.results[0]?.notMerged).toContain('Not merged: ');
    expect(await issues.cli('integrate', run, 'age')).toMatchObject({ code: 0 });
    expect(merged(world, 'feature/age-age')).toBe(true);
    const after = await issues.cli('run', 'age.md', ...FLAGS);
    expect(after).toMatchObject({ code: 0, out: expect.not.stringContaining('Not merged') });
    expect((await issues.cli('run', 'age.md', ...FLAGS)).out).toContain('done before');
  });

  it('takes what builds on it with it', { tags: 'full' }, async ({ world }) => {
    const issues = unverified(world);
    const { code, out } = await issues.cli('run', 'age.md', 'next.md', ...FLAGS);
    expect(code).toBe(0);
    const run = await issues.run();
    expect(out).toContain(
      `next: Not merged: it builds on age, still to be verified. Once it is verified: signalbox integrate ${run} age && signalbox integrate ${run} next\n`,
    );
    expect(merged(world, 'feature/next-next')).toBe(false);
    expect(merged(world, 'feature/age-age')).toBe(false);
  });

  it('is merged when a person approves it at the gate', { tags: 'full' }, async ({ world }) => {
    const issues = unverified(world);
    await issues.cli('run', 'age.md', '--chain', '--qa-gate', ...FLAGS);
    const run = await issues.run();
    expect(await issues.cli('respond', run, 'age', 'approve')).toMatchObject({ code: 0 });
    const { code, out } = await issues.cli('resume', run, '--plain');
    expect(code, out).toBe(0);
    expect(out).not.toContain('Not merged');
    expect(out).toContain(SAID);
    expect(merged(world, 'feature/age-age')).toBe(true);
  });

  it('is merged without a word where qa is content', async ({ world }) => {
    const issues = new IssueWorld(world).write('a.md', '# A\n', { id: 'a', title: 'A' });
    const { code, out } = await issues.cli('run', 'a.md', ...FLAGS);
    expect(code).toBe(0);
    expect(out).not.toMatch(/READY_FOR_MERGE|Not merged/);
    expect(merged(world, 'feature/a-a')).toBe(true);
    expect(issues.log(await issues.run()).issues[0]).toMatchObject({ verdict: 'READY_FOR_MERGE' });
  });
});
