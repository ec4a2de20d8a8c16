import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { RunResult } from '../../src/features/issue-runs/request-and-result-types.ts';
import { processStart } from '../../src/machine/process-identity-and-signals.ts';
import { makeRepo } from '../support/repo.ts';
import { IssueWorld, WORKS } from './issue-world.ts';
import { it, linesOf, setUp, waitFor } from './support.ts';

describe.concurrent('resume of a run', () => {
  it('goes on in the foreground as it began, shows the same, and finishes its log', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world)
      .write('one.md', '# One\n', { labels: ['x'] })
      .write('two.md', '# Two\n')
      .write('lost.md', '# Lost\n', { dependsOn: ['nowhere'] });
    const args = ['one.md', 'two.md', 'lost.md', '--concurrency', '1', '--phases', 'exec'];
    const first = issues.invoke('run', ...args);
    await world.call('working');
    const run = await issues.run();
    const stopped = await first.kill('SIGINT');
    expect(stopped.code).toBe(130);
    expect(stopped.out).toMatch(/^! lost is not run: depends on nowhere, /m);
    expect(stopped.out).toMatch(/^0 of 3 done · 1 needs you · 2 waiting · /m);
    expect(stopped.out).not.toMatch(/^(one|two): /m);
    expect(stopped.out).toContain(`Stopped. Continue with: signalbox resume ${run}\n`);
    const before = issues.log(run);
    expect(before).toMatchObject({
      summary: { aborted: true, passed: 0, failed: 1, stopped: 1, notStarted: 1 },
    });

    world.go();
    const { code, out, err } = await issues.cli('resume');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n')[0]).toBe('Progress: one ⏳ two ⏳');
    expect(out).toContain('● one: exec started');
    expect(out.indexOf('● two: exec started')).toBeGreaterThan(out.indexOf('✓ Issue one completed'));
    expect(out).toMatch(/^2 of 2 done · /m);
    expect(issues.runs()).toEqual([run]);
    expect(world.readPlan(run)).toMatchObject({ status: 'complete', claim: null });

    const after = issues.log(run);
    expect(after.runId).toBe(run);
    expect(after.startTime).toBe(before.startTime);
    expect(after.issues.map(({ id, status }) => [id, status])).toEqual([
      ['one', 'success'],
      ['two', 'success'],
      ['lost', 'failure'],
    ]);
    expect(after.issues[0]?.labels).toEqual(['x']);
    expect(after.summary).toMatchObject({ totalIssues: 3, passed: 2, failed: 1, aborted: false });
    expect(after.summary.totalDurationSeconds).toBeGreaterThan(before.summary.totalDurationSeconds);
  });

  it('takes up a run whose process was killed, where its agent is', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const first = issues.start('run', 'one.md', '--phases', 'exec');
    const { pid } = await world.call('working');
    await first.kill('SIGKILL');
    expect(processStart(pid)).toBeDefined();
    world.go();
    const { code, out } = await issues.cli('resume', '--json');
    expect(code).toBe(0);
    const last = linesOf<{ type: string } & RunResult>(out).at(-1);
    expect(last?.wallClockDurationSeconds).toBeGreaterThanOrEqual(last?.results[0]?.durationSeconds ?? 99);
    expect(last).toMatchObject({
      type: 'result',
      ok: true,
      results: [{ id: 'one', success: true }],
    });
    expect(world.calls('working')).toHaveLength(1);
  });

  it('counts the time of an agent that ended alone up to its end, not up to the resume', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const first = issues.start('run', 'one.md', ...['--phases', 'exec', '--no-smart-tests']);
    await world.call('working');
    const run = await issues.run();
    await first.kill('SIGKILL');
    world.go();
    const job = join(world.stateDir, 'jobs', run, 'one', 'exec.1.1');
    await waitFor('the end of the agent', () => existsSync(join(job, 'exit.json')));
    // All of it was an hour ago, and took five seconds.
    const began = Date.now() - 3_600_000;
    utimesSync(join(job, 'command.json'), new Date(began), new Date(began));
    utimesSync(join(job, 'exit.json'), new Date(began + 5000), new Date(began + 5000));
    const file = world.ticketFile(run, 'one');
    const ticket = JSON.parse(readFileSync(file, 'utf8'));
    ticket.phaseHistory.at(-1).startedAt = new Date(began).toISOString();
    writeFileSync(file, JSON.stringify(ticket));
    const { code, out } = await issues.cli('resume', run);
    expect(code).toBe(0);
    expect(out).toContain('● one: exec ✓ (5s)');
    expect(out).toMatch(/✓ Issue one completed \([5-9]s\)/);
    expect(issues.log(run).issues[0]?.phaseResults[0]?.durationSeconds).toBe(5);
  });

  it.for(['log-json', 'no-log-json'])(
    'counts the part of a killed run up to the last sign of its agents, with --%s',
    { tags: 'full' },
    async (log, { world }) => {
      world.agent('agent', 'note working; [ $SIGNALBOX_TICKET = two ] || go; commit');
      const issues = new IssueWorld(world)
        .write('one.md', '# One\n')
        .write('two.md', '# Two\n', { dependsOn: ['one'] });
      const args = ['one.md', 'two.md', '--phases', 'exec', '--no-smart-tests', `--${log}`];
      const first = issues.start('run', ...args);
      await world.call('working');
      const run = await issues.run();
      await first.kill('SIGKILL');
      // All of it was an hour ago; the second part is killed, too, while the agent works on.
      const began = Date.now() - 3_600_000;
      const plan = world.readPlan(run);
      const claim = { ...plan.claim, renewedAt: new Date(began).toISOString() };
      writeFileSync(world.planFile(run), JSON.stringify({ ...plan, claim }));
      const second = issues.start('resume', run);
      await second.says('Progress: ');
      await waitFor('the first part', () => {
        const { spentSeconds = 0 } = world.readPlan(run).run as { spentSeconds?: number };
        return spentSeconds > 3600;
      });
      await second.kill('SIGKILL');
      world.go();
      const { code, out } = await issues.cli('resume', run, '--json');
      expect(code).toBe(0);
      const last = linesOf<RunResult>(out).at(-1);
      const [one = 0, two = 0] = last?.results.map(({ durationSeconds }) => durationSeconds) ?? [];
      expect(last?.wallClockDurationSeconds).toBeGreaterThan(3600 + two);
      expect(last?.wallClockDurationSeconds).toBeGreaterThanOrEqual(one + two);
      expect(last?.wallClockDurationSeconds).toBeLessThan(3700);
      if (log === 'log-json')
        expect(issues.log(run).summary.totalDurationSeconds).toBeGreaterThan(3600 + two);
    },
  );

  it('without a name takes the one that was stopped last, not one that a newer run has replaced', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world).write('one.md', '# One\n').write('two.md', '# Two\n');
    for (const name of ['one.md', 'two.md', 'one.md']) {
      const running = issues.invoke('run', name, '--phases', 'exec');
      const count = world.calls('working').length;
      await world.call('working', {}, count + 1);
      expect((await running.kill('SIGINT')).code).toBe(130);
    }
    const [old = '', , last = ''] = issues.runs();
    const status = await issues.cli('status', '--plan', old);
    expect(status.out).toContain(`superseded by ${last}\n`);
    expect(status.out).toContain(`→ signalbox status --plan ${last}\n`);
    world.go();
    const again = await issues.cli('resume', old);
    expect(again.out).toMatch(/^0 of 1 done · 1 superseded/m);
    expect(again.out).toMatch(/^Progress: one ‖$/m);
    expect(world.readPlan(old)).toMatchObject({ status: 'paused', claim: null });
    const resumed = await issues.cli('resume');
    expect(resumed.code).toBe(0);
    expect(resumed.out).toContain('✓ Issue one completed');
    const second = await issues.cli('resume');
    expect(second.out).toContain('✓ Issue two completed');
    const none = await issues.cli('resume');
    expect(none.code).toBe(1);
    expect(none.err).toContain('Nothing is paused or stopped.');
  });

  it('of an old run leads to the newer one that has its failed issue, and offers no retry', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'exit 1');
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const args = ['one.md', '--phases', 'exec', '--no-retry'];
    for (const _ of [1, 2]) expect((await issues.cli('run', ...args)).code).toBe(1);
    const [old = '', last = ''] = issues.runs();
    expect(world.readPlan(old).status).toBe('paused');
    const again = await issues.cli('resume', old);
    expect(again.out).not.toContain('signalbox retry');
    expect(again.out).toContain(`signalbox status --plan ${last}`);
    expect(world.readPlan(old).status).toBe('paused');
    expect((await issues.cli('resume', last)).out).toContain(`signalbox retry ${last} one`);
  });

  it('without a name leaves runs of other repositories alone, and names the last one', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const running = issues.invoke('run', 'one.md', '--phases', 'exec');
    await world.call('working');
    expect((await running.kill('SIGINT')).code).toBe(130);
    const run = await issues.run();
    const other = makeRepo(join(world.dir, 'other'));
    const refused = await world.invoke(['resume'], {}, other).ended;
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(
      `Nothing of this repository is paused or stopped; ${run} of ${world.repo} is.`,
    );
    expect(refused.err).toContain(`signalbox resume ${run}`);
    world.go();
    expect((await world.invoke(['resume'], {}, world.dir).ended).code).toBe(0);
  });

  it('is refused with 3 while it still runs, and with 1 when it is complete', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', WORKS);
    const issues = new IssueWorld(world).write('one.md', '# One\n');
    const first = issues.start('run', 'one.md', '--phases', 'exec');
    await world.call('working');
    const run = await issues.run();
    expect(await issues.cli('resume', run)).toMatchObject({
      code: 3,
      err: expect.stringContaining(
        `Run "${run}" is already being run by another process (pid ${first.pid} on `,
      ),
    });
    world.go();
    expect((await first.ended).code).toBe(0);
    expect(await issues.cli('resume', run)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`Cannot resume run "${run}": it is complete.`),
    });
  });

  it('of a plan that is none says how to run it, as ever', async ({ world }) => {
    setUp(world, 'note working; go; commit');
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    await run.kill('SIGINT');
    expect((await world.cli('resume', 'p')).out).toBe(
      'Plan p is active (a resumed). Run it with: signalbox run p\n',
    );
  });
});

describe.concurrent('the way on', () => {
  it('is to retry what failed, and nothing for what was not started', async ({ world }) => {
    world.agent('agent', 'test -e "$HOME/mended" || exit 1; commit');
    const issues = new IssueWorld(world).write('one.md', '# One\n').write('two.md', '# Two\n');
    const failed = await issues.cli('run', 'one.md', 'two.md', '--sequential', '--phases', 'exec');
    const [run = ''] = issues.runs();
    expect(failed.code).toBe(1);
    const way = `signalbox retry ${run} one && signalbox resume ${run}`;
    expect(failed.out).toContain(`one: see signalbox logs ${run} one; continue with: ${way}\n`);
    expect(failed.out).toMatch(/◌ +two +not started +the plan stops at the first failure, and one failed/);
    expect(failed.out).not.toContain('two: ');

    world.append('user/mended', '');
    expect((await issues.cli('retry', run, 'one')).code).toBe(0);
    const resumed = await issues.cli('resume', run);
    expect(resumed.code).toBe(0);
    expect(resumed.out).toContain('✓ Issue two completed');
    expect(issues.log(run).summary).toMatchObject({ passed: 2, failed: 0 });
  });

  it('is to answer at a gate, and the chain goes on from there', { tags: 'full' }, async ({ world }) => {
    const issues = new IssueWorld(world).write('one.md', '# One\n').write('two.md', '# Two\n');
    const gated = await issues.cli('run', 'one.md', 'two.md', '--chain', '--qa-gate', '--json');
    expect(gated.code).toBe(1);
    const [run = ''] = issues.runs();
    const { results } =
      linesOf<{ results: { id: string; next?: string; answers?: string[] }[] }>(gated.out).at(-1) ?? {};
    expect(results?.map(({ id, next }) => [id, next])).toEqual([
      ['one', `signalbox respond ${run} one approve && signalbox resume ${run}`],
      ['two', undefined],
    ]);
    expect(results?.[0]?.answers).toEqual(
      ['approve', 'reject'].map((each) => `signalbox respond ${run} one ${each} && signalbox resume ${run}`),
    );
    expect((await issues.cli('respond', run, 'one', 'approve')).code).toBe(0);
    const second = await issues.cli('resume', run);
    expect(second.code).toBe(1);
    expect(second.out.split('\n')[0]).toBe('Progress: one ✓ two ⏳');
    expect(second.out).toContain('waits for approval');
    expect((await issues.cli('respond', run, 'two', 'approve')).code).toBe(0);
    await waitFor('the run to be complete', () => world.ticket(run, 'two').status === 'complete');
    expect(world.exists('worktrees/feature/two-two')).toBe(false);
  });
});
