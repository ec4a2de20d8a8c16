import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { EXEC, EXEC_FLAGS, it, NumberedWorld, refusal, titled, waitFor, writeOldLog } from '../support.ts';

describe.concurrent('the log of a run', () => {
  it('has an entry of its own for each of many issues that run at once, and the statistics see it', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([
      { when: { ticket: '5', phase: 'exec' }, do: [{ fail: { class: 'crash', message: 'five broke' } }] },
      ...[1, 2, 3, 4, 6].map((number) => ({
        when: { ticket: String(number), phase: 'spec' },
        do: [{ say: `plan of ${number}` }, { result: { text: `spec of ${number}` } }],
      })),
    ]);
    const numbers = [1, 2, 3, 4, 5, 6];
    const issues = new NumberedWorld(world, ...titled(...numbers));
    const options = { phases: 'spec,exec', smartTests: false, pr: false, concurrency: 6 };
    const run = await issues.library({ options }, numbers.map(String));
    const log = issues.log(run.planId ?? '');
    expect(log.issues.map(({ issueNumber, status }) => [issueNumber, status])).toEqual(
      numbers.map((number) => [number, number === 5 ? 'partial' : 'success']),
    );
    for (const { issueNumber, phaseResults } of log.issues) {
      expect(phaseResults.map(({ phase }) => phase)).toEqual(
        issueNumber === 5 ? ['spec', 'exec'] : ['spec', 'exec', 'checks'],
      );
      if (issueNumber === 5) expect(phaseResults[1]).toMatchObject({ success: false, error: 'five broke' });
      else expect(phaseResults[0]?.output).toContain(`spec of ${issueNumber}`);
    }
    expect(log.summary).toMatchObject({ totalIssues: 6, passed: 5, failed: 1, aborted: false });
    expect(log.config).toMatchObject({ mode: 'parallel', concurrency: 6, phases: ['spec', 'exec'] });
    const stats = JSON.parse((await issues.cli('stats', '--json')).out);
    expect(stats).toMatchObject({
      runs: 1,
      issues: { total: 6, passed: 5 },
      byMode: { parallel: { total: 6, passed: 5 } },
      byPhase: { spec: { total: 6, passed: 6 }, exec: { total: 6, passed: 5 } },
      failures: { crash: 1 },
    });
  });

  it('has rounded durations that agree with its timestamps', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const run = await issues.library({ options: { ...EXEC } }, ['1']);
    const {
      startTime,
      endTime,
      issues: [issue],
      summary,
    } = issues.log(run.planId ?? '');
    expect(Date.parse(endTime ?? '') - Date.parse(startTime)).toBe(
      Math.round(summary.totalDurationSeconds * 1000),
    );
    const all = [issue?.durationSeconds, summary.totalDurationSeconds, run.wallClockDurationSeconds];
    for (const seconds of all) expect(String(seconds)).toMatch(/^\d+(\.\d{1,3})?$/);
  });

  it('is not needed for the statistics', { tags: 'full' }, async ({ world }) => {
    const issues = new NumberedWorld(world, ...titled(1, 2));
    world.agent('agent', 'commit');
    expect((await issues.cli('run', '1', '2', ...EXEC_FLAGS, '--no-log-json')).code).toBe(0);
    const stats = JSON.parse((await issues.cli('stats', '--json')).out);
    expect(stats).toMatchObject({
      runs: 1,
      issues: { total: 2, passed: 2 },
      byPhase: { exec: { passed: 2 } },
    });
  });

  it('is written when a phase ends: what a kill leaves can be read and is true', async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in 2) note working; go ;; esac; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2));
    const running = issues.start('run', '1', '2', ...EXEC_FLAGS);
    await world.call('working');
    const run = await issues.run();
    await world.reaches(run, '1', 'complete');
    await waitFor('it in the log', () => issues.log(run).issues[0]?.success);
    await running.kill('SIGKILL');
    expect(issues.log(run)).toMatchObject({
      endTime: null,
      issues: [
        { issueNumber: 1, status: 'success', phaseResults: [{ phase: 'exec' }, { phase: 'checks' }] },
        { issueNumber: 2, status: 'running', phaseResults: [] },
      ],
    });
  });

  it('tells while others run who has failed and who has not begun', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in 1) exit 1 ;; 2) note working; go ;; esac; commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const flags = [...EXEC_FLAGS, '--concurrency', '1', '--no-retry'];
    const running = issues.start('run', '1', '2', '3', ...flags);
    await world.call('working');
    await running.kill('SIGKILL');
    expect(issues.log(await issues.run())).toMatchObject({
      endTime: null,
      issues: [{ status: 'failure' }, { status: 'running' }, { status: 'not_started' }],
      summary: { totalIssues: 3, passed: 0, failed: 1, notStarted: 1 },
    });
  });

  it('is there only when it is wanted, goes where it is wanted, and old ones make room', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1, 2, 3));
    const none = await issues.library({ options: { ...EXEC, logJson: false } }, ['1']);
    expect(none).toMatchObject({ logPath: null, exitCode: 0 });
    expect(existsSync(join(world.repo, '.signalbox'))).toBe(false);

    mkdirSync(join(world.repo, '.signalbox'));
    const rules = { run: { rotation: { maxFiles: 2 } } };
    writeFileSync(join(world.repo, '.signalbox', 'settings.json'), `${JSON.stringify(rules)} // few\n`);
    const logs = join(world.repo, '.signalbox', 'logs');
    mkdirSync(logs);
    for (const day of ['01', '02', '03']) writeOldLog(logs, `run-202601${day}-000000-abcd`);
    const kept = await issues.library({ options: { ...EXEC } }, ['2']);
    expect(readdirSync(logs).sort()).toEqual(['run-20260103-000000-abcd.json', `${kept.planId}.json`]);

    const other = join(world.dir, 'other');
    const moved = await issues.library({ options: { ...EXEC, logPath: other } }, ['3']);
    expect(moved.logPath).toBe(join(other, `${moved.planId}.json`));
    expect(JSON.parse(readFileSync(moved.logPath ?? '', 'utf8'))).toMatchObject({ runId: moved.planId });
  });

  it('that cannot be begun is refused before anything is, and one that breaks is told of', {
    tags: 'full',
  }, async ({ world }) => {
    const logs = join(world.dir, 'user', 'logs');
    world.agent('agent', 'rm -r "$HOME/logs"; touch "$HOME/logs"; commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const bad = await issues.cli('run', '1', '--log-path', '/dev/null/logs', ...EXEC_FLAGS);
    expect(bad.code).toBe(2);
    expect(refusal(bad)).toMatch(/cannot be written to \/dev\/null\/logs: .*\n {3}.*--no-log-json/);
    expect(issues.runs()).toEqual([]);
    const broken = await issues.cli('run', '1', '--log-path', logs, ...EXEC_FLAGS);
    expect(broken.code).toBe(0);
    expect(broken.out.match(/! The log of the run cannot be written any more: /g)).toHaveLength(1);
    expect(broken.out).toContain('✓ Issue #1 completed');
  });
});
