import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { RunInit } from '../../../../src/api/run-orchestrator.ts';
import { RunOrchestrator } from '../../../../src/api/run-orchestrator.ts';
import { buildExecutionConfig } from '../../../../src/features/issue-runs/options/execution-config-and-workflow-changes.ts';
import { EXEC, EXEC_FLAGS, it, NumberedWorld, settingsOf, titled, writeOldLog } from '../support.ts';

describe.concurrent('what a run counts', () => {
  it('calls groups a batch, in log and stats', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const { code, out } = await issues.cli('run', '--batch', '1', '--batch', '2', ...EXEC_FLAGS);
    expect(code, out).toBe(0);
    expect(issues.log(await issues.run()).config.mode).toBe('batch');
    expect(JSON.parse((await issues.cli('stats', '--json')).out).byMode).toHaveProperty('batch');
    // An empty list of groups is none, also before those of the options.
    const none = await issues.library({ options: { ...EXEC, force: true, batch: ['1'] } }, ['1', '2'], []);
    expect(issues.log(none.planId ?? '').config.mode).toBe('parallel');
  });

  it('leaves issues that never began, or were done before, out of stats and CSV', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'test "$SIGNALBOX_TICKET" != 2 && commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    expect((await issues.cli('run', '1', ...EXEC_FLAGS)).code).toBe(0);
    const { out } = await issues.cli('run', '1', '2', '3', '--sequential', '--no-retry', ...EXEC_FLAGS);
    expect(out).toMatch(/^1 of 3 done · 1 needs you · 1 waiting · /m);
    const log = issues.log(issues.runs().at(-1) ?? '');
    expect(log.summary).toMatchObject({ totalIssues: 3, passed: 1, failed: 1, notStarted: 1 });
    expect(log.issues.find(({ id }) => id === '3')?.status).toBe('not_started');
    const stats = JSON.parse((await issues.cli('stats', '--json')).out);
    expect(stats.issues).toMatchObject({ total: 2, passed: 1 });
    expect(stats.failures).not.toHaveProperty('other');
    const rows = (await issues.cli('stats', '--csv')).out.trim().split('\n').slice(1);
    expect(rows.map((row) => row.split(',')[2])).toEqual(['1', '2']);
  });

  it('does not count a rejected gate as a success, nor the time it waited', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const { out } = await issues.cli('run', '1', '--chain', '--qa-gate', ...EXEC_FLAGS);
    // There was no qa whose verdict could be shown.
    expect(out).toContain('◌ #1 waits: Approve? (approve | reject)\n');
    const run = await issues.run();
    await issues.cli('respond', run, '1', 'reject', 'too slow');
    await issues.cli('resume', run);
    const [issue] = issues.log(run).issues;
    const gate = issue?.phaseResults.find(({ phase }) => phase === 'qa_gate');
    expect(gate).toMatchObject({ success: false, durationSeconds: 0 });
    expect(issue).toMatchObject({ failureCategory: 'rejected' });
    const sum = issue?.phaseResults.reduce((all, { durationSeconds }) => all + durationSeconds, 0);
    expect(issue?.durationSeconds).toBeCloseTo(sum ?? -1, 3);
  });

  it('counts no time between a failure and its retry', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'test -e "$HOME/well" && commit');
    const issues = new NumberedWorld(world, ...titled(1));
    await issues.cli('run', '1', '--no-retry', ...EXEC_FLAGS);
    const run = await issues.run();
    world.append('user/well', '');
    await issues.cli('retry', run, '1');
    expect((await issues.cli('resume', run)).code).toBe(0);
    const [issue] = issues.log(run).issues;
    const history = world.ticket(run, '1').phaseHistory.filter(({ status }) => status !== 'skipped');
    const times = history.map(({ startedAt, completedAt }) => [startedAt, completedAt ?? ''].map(Date.parse));
    const worked = times.reduce((sum, [from = 0, to = 0]) => sum + to - from, 0);
    expect(history.length).toBeGreaterThan(1);
    expect(issue?.durationSeconds).toBeCloseTo(worked / 1000, 3);
  });

  it('gives the cause of a failure in the table', async ({ world }) => {
    world.agent('agent', 'exit 0');
    const issues = new NumberedWorld(world, ...titled(1));
    const { out } = await issues.cli('run', '1', '--no-retry', ...EXEC_FLAGS);
    const cause = world.ticket(await issues.run(), '1').phaseHistory.findLast(({ error }) => error)?.error;
    expect(cause?.message).toBeTruthy();
    expect(out).toContain(`Phase exec failed: ${cause?.message.split('\n')[0]?.slice(0, 40)}`);
  });
});

describe.concurrent('two runs', () => {
  it('that begin together share no issue: one has it, the other says who', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'note working; go; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const options = { ...EXEC, concurrency: 2 };
    const runs = [1, 2].map(() => issues.library({ options }, ['1', '2']));
    await world.call('working', {}, 2);
    // The one that came second ends while the first is still at work.
    const second = await Promise.race(runs);
    expect(second.results.map(({ locked }) => locked?.pid)).toEqual([process.pid, process.pid]);
    world.go();
    const results = (await Promise.all(runs)).flatMap((run) => run.results);
    expect(
      results
        .filter(({ success }) => success)
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['1', '2']);
    const others = results.filter(({ success }) => !success);
    expect(others).toHaveLength(2);
    for (const other of others) expect(other).toMatchObject({ locked: { pid: process.pid } });
    expect(world.calls('working')).toHaveLength(2);
  });

  it('leave each other their logs, however few are kept', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'test "$SIGNALBOX_TICKET" = 2 && { note working; go; }; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const first = issues.start('run', '1', '2', '--concurrency', '1', ...EXEC_FLAGS);
    await world.call('working');
    const logs = join(world.repo, '.signalbox', 'logs');
    const current = `${await issues.run()}.json`;
    writeOldLog(logs, 'run-20200101-000000-aaaa');
    const second = await issues.library({ options: { ...EXEC, rotation: { maxFiles: 1 } } }, ['3']);
    expect(second.exitCode).toBe(0);
    expect(readdirSync(logs).sort()).toEqual(['.gitignore', current, `${second.planId}.json`].sort());
    world.go();
    expect((await first.ended).code).toBe(0);
  });
});

describe.concurrent('a call that cannot be meant', () => {
  it('is not taken for another one', async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const init = { options: { ...EXEC }, settings: await settingsOf(issues), cwd: world.repo };
    const run = RunOrchestrator.run as (...args: unknown[]) => Promise<unknown>;
    for (const args of [
      [undefined, ['1']],
      [init, '12'],
      [init, [1]],
      [init, ['1'], '12'],
      [init, ['1'], [['1']]],
      [init, ['1'], [[0]]],
      [init, ['1'], [[1.5]]],
    ])
      await expect(run(...args)).rejects.toMatchObject({ name: 'InputError', code: 'run/call' });
    const config = buildExecutionConfig(EXEC, init.settings, 1);
    const low = new RunOrchestrator({ ...init, config, issueInfoMap: new Map() });
    for (const numbers of ['12', ['1'], [0]])
      await expect(low.execute(numbers as number[])).rejects.toMatchObject({ code: 'run/call' });
    expect(issues.runs()).toEqual([]);
  });

  it('is refused in words', async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1));
    const bare = { options: {} } as unknown as RunInit;
    await expect(RunOrchestrator.run(bare, ['1'])).rejects.toMatchObject({ name: 'InputError' });
    const outside = { cwd: world.dir, options: { ...EXEC }, settings: await settingsOf(issues) };
    await expect(RunOrchestrator.run(outside, ['1'])).rejects.toMatchObject({
      name: 'InputError',
      hint: expect.stringContaining('inside the repository'),
    });
    const { code, err } = await issues.cli('run', '1', '--phases', '');
    expect(code).toBe(2);
    expect(err).toContain('--phases names no phase.');
  });
});
