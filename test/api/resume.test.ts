import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { IllegalMoveError, RunOrchestrator } from '../../src/api/index.ts';
import { getSettings } from '../../src/api/settings.ts';
import { it, type World } from '../support/index.ts';

async function surroundings(world: World) {
  const about = { cwd: world.repo, env: world.env };
  return { ...about, settings: await getSettings(about) };
}

describe('RunOrchestrator.resume', () => {
  it('goes on with a run that its signal stopped, and leaves nothing claimed', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'note working; go; commit');
    world.append('repo/a.md', '# A\n');
    world.append('repo/b.md', '# B\n');
    const abort = new AbortController();
    const init = await surroundings(world);
    const first = RunOrchestrator.run(
      { ...init, signal: abort.signal, options: { phases: 'exec', chain: true } },
      ['a.md', 'b.md'],
    );
    await world.call('working');
    abort.abort();
    const stopped = await first;
    expect(stopped).toMatchObject({
      exitCode: 130,
      results: [
        { id: 'a', success: false, next: `signalbox resume ${stopped.planId}` },
        { id: 'b', success: false, notStarted: true },
      ],
    });
    world.go();
    const seen: string[] = [];
    const onProgress = (issue: number | string, phase: string, event: string) =>
      void seen.push(`${issue} ${phase} ${event}`);
    const resumed = await RunOrchestrator.resume({ ...init, onProgress }, stopped.planId ?? '');
    expect(resumed).toMatchObject({
      exitCode: 0,
      planId: stopped.planId,
      logPath: stopped.logPath,
      config: { chain: true, phases: ['exec'] },
      results: [
        { id: 'a', success: true },
        { id: 'b', success: true },
      ],
    });
    expect(seen.filter((line) => line.includes('exec'))).toEqual([
      'a exec start',
      'a exec complete',
      'b exec start',
      'b exec complete',
    ]);
    expect(readdirSync(join(world.repo, '.signalbox', 'logs'))).toEqual([
      '.gitignore',
      `${stopped.planId}.json`,
    ]);
    expect(world.readPlan(stopped.planId ?? '').claim).toBeNull();
    const over = RunOrchestrator.resume(init, stopped.planId ?? '');
    await expect(over).rejects.toThrow('it is complete');
    await expect(over).rejects.toBeInstanceOf(IllegalMoveError);
  });

  it('takes no less than before where its signal stops it at once', async ({ world }) => {
    world.agent('agent', 'note working; go; commit');
    world.append('repo/a.md', '# A\n');
    const abort = new AbortController();
    const init = { ...(await surroundings(world)), signal: abort.signal };
    const first = RunOrchestrator.run({ ...init, options: { phases: 'exec' } }, ['a.md']);
    await world.call('working');
    abort.abort();
    let { planId, wallClockDurationSeconds: before } = await first;
    for (const turn of [1, 2]) {
      const again = await RunOrchestrator.resume(init, planId ?? '');
      expect(again.exitCode).toBe(130);
      expect(again.wallClockDurationSeconds, String(turn)).toBeGreaterThan(before);
      ({ planId, wallClockDurationSeconds: before } = again);
    }
  });

  it('refuses what is no run', async ({ world }) => {
    world.workflow('work', [{ id: 'end', type: 'terminal' }]);
    world.plan('p', { tickets: { a: {} } });
    await expect(RunOrchestrator.resume(await surroundings(world), 'p')).rejects.toMatchObject({
      code: 'run/plan',
      hint: 'Run it with: signalbox run p',
    });
  });
});

describe('the option detach', () => {
  it('makes a run that no process holds', async ({ world }) => {
    world.append('repo/a.md', '# A\n');
    const options = { phases: 'exec', detach: true };
    const run = await RunOrchestrator.run({ ...(await surroundings(world)), options }, ['a.md']);
    expect(run).toMatchObject({ exitCode: 0, detached: true, results: [{ id: 'a', pending: true }] });
    expect(world.readPlan(run.planId ?? '')).toMatchObject({ status: 'active', claim: null });
    const orchestrator = new RunOrchestrator({
      config: run.config,
      issueInfoMap: new Map([[1, { title: 'One', labels: [] }]]),
    });
    await expect(orchestrator.execute([1])).rejects.toMatchObject({ code: 'run/config' });
  });
});
