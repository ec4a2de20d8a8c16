import { describe, expect } from 'vitest';
import { runHeader } from '../../../src/report/plan-headers-and-summaries.ts';
import { style } from '../../../src/report/style-and-phrases.ts';
import { openStore } from '../../../src/store/open-file-store-with-schemas.ts';
import { EXEC_FLAGS, it, linesOf, NumberedWorld, titled } from '../../features/issue-runs/support.ts';
import { variants } from '../../support/index.ts';

const header = (issues: NumberedWorld, run: string) =>
  runHeader(openStore(issues.world.stateDir), run, style(false)).filter(Boolean);

describe.concurrent('a chain', () => {
  it('is called one wherever a run is told of', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const { code, out } = await issues.cli('run', '1', '2', '--chain', '--json', ...EXEC_FLAGS);
    expect(code, out).toBe(0);
    const run = await issues.run();
    const mode = { chain: true, sequential: true };
    const told = linesOf<{ type: string; config: object }>(out).find(({ type }) => type === 'result');
    expect(told?.config).toMatchObject({ ...mode, parallel: false, concurrency: 1 });
    expect(issues.log(run).config).toMatchObject({ ...mode, mode: 'chain', concurrency: 1 });
    const { byMode } = JSON.parse((await issues.cli('stats', '--json')).out);
    expect(byMode).toEqual({ chain: expect.objectContaining({ total: 2, passed: 2 }) });
    const stats = (await issues.cli('stats')).out;
    expect(stats).toMatch(/^ {2}chain +2 +100%/m);
    expect(stats).toMatch(/^usage: cost unknown$/m);
    expect((await issues.cli('stats', '--csv')).out).toMatch(/\bchain\b.*\n.*\bchain\b/);
    expect(header(issues, run)).toEqual([`${run}: 2 issues, chain`, '  #1  Issue 1', '  #2  Issue 2']);
  });

  it('shows phase details and warnings of each of its issues', async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in 2) exit 3 ;; esac; commit');
    world.config({ checks: ['echo loose > loose.txt'] });
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const { code, out } = await issues.cli('run', '1', '2', '3', '--chain', '--no-retry', ...EXEC_FLAGS);
    expect(code).toBe(1);
    for (const name of ['#1', '#2']) expect(out).toContain(`\n  ${name}   agent agent\n`);
    expect(out).toContain('\n  #2   the agent ended with exit code 3.\n');
    expect(out).toMatch(/^! #1: worktree kept at .*1-issue-1 \(.+\)$/m);
    expect(out).toMatch(/^1 of 3 done · 1 needs you · 1 waiting · /m);
  });
});

describe.concurrent('what a live view begins with', () => {
  variants([
    [['1', '2'], '2 issues, parallel (concurrency 3)'],
    [['1', '2', '--concurrency', '1'], '2 issues, parallel'],
    [['1', '2', '--sequential'], '2 issues, sequential'],
    [['1'], '1 issue, parallel (concurrency 3)'],
    [['--batch', '1', '--batch', '2', '--concurrency', '2'], '2 issues, batch of 2 groups (concurrency 2)'],
  ] as const)('%j: %s', async ([words, text], { world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    expect((await issues.cli('run', ...words, ...EXEC_FLAGS)).code).toBe(0);
    const run = await issues.run();
    expect(header(issues, run)[0]).toBe(`${run}: ${text}`);
  });
});
