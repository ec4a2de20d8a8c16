import { describe, expect } from 'vitest';
import { EXEC, EXEC_FLAGS, IssueWorld, inCode, it } from '../features/issue-runs/support.ts';

/** What differs from run to run: times, and the run's own name. */
const alike = (lines: string[]) =>
  lines.map((line) =>
    line
      .replace(/\b\d+s\b/g, 'Ns')
      .replace(/run-[\w-]+/g, 'RUN')
      .replace(/ +/g, ' '),
  );

describe.concurrent('the output of a run in code', () => {
  it('is what the command line prints, line by line', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'case "$SIGNALBOX_TICKET" in b) exit 1;; esac; commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n');
    const lines: string[] = [];
    const options = { ...EXEC, sequential: true, agent: 'agent' };
    const run = await inCode(issues, { options, output: (line) => lines.push(line) }, ['a.md', 'b.md']);
    expect(run.exitCode).toBe(1);
    expect(lines).toContain('● a: exec started');
    expect(alike(lines)).toContain('1 of 2 done · 1 needs you · Ns · cost unknown');
    const shown = await issues.cli(
      'run',
      'a.md',
      'b.md',
      '--sequential',
      '--force',
      '--agent',
      'agent',
      ...EXEC_FLAGS,
    );
    expect(alike(lines)).toEqual(alike(shown.out.trimEnd().split('\n')));
  });

  it('is the result alone when it is quiet, the plan in a dry run, and may break', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const said = async (options: object) => {
      const lines: string[] = [];
      const output = (line: string) => {
        lines.push(line);
        throw new Error('the caller is broken');
      };
      const run = await inCode(issues, { options: { ...EXEC, agent: 'agent', ...options }, output }, [
        'a.md',
      ]);
      expect(run.exitCode).toBe(0);
      return lines;
    };
    expect((await said({ dryRun: true }))[0]).toBe('Would run a: A');
    expect(alike(await said({ quiet: true }))).toContain('1 of 1 done · Ns · cost unknown');
    expect((await said({ force: true }))[0]).toBe('Progress: a ⏳');
  });
});
