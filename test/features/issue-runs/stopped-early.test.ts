import { relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect } from 'vitest';
import { getManifest } from '../../../src/api/manifest.ts';
import type { RunInit } from '../../../src/api/run-orchestrator.ts';
import { RunOrchestrator } from '../../../src/api/run-orchestrator.ts';
import { getSettings } from '../../../src/api/settings.ts';
import { EXEC, IssueWorld, inCode, it, settingsOf } from './support.ts';

async function surroundings(issues: IssueWorld) {
  const { world, env } = issues;
  return { settings: await settingsOf(issues), cwd: world.repo, env: { ...world.env, ...env } };
}

describe.concurrent('a run that is stopped at an odd moment', () => {
  it('says so when it is resumed with a signal that is aborted, and how to go on', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'note working; go; commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n');
    const abort = new AbortController();
    const options = { ...EXEC, sequential: true };
    const first = inCode(issues, { options, signal: abort.signal }, ['a.md', 'b.md']);
    await world.call('working');
    abort.abort();
    const planId = (await first).planId ?? '';
    const next = `signalbox resume ${planId}`;
    const init = await surroundings(issues);
    const again = await RunOrchestrator.resume({ ...init, signal: AbortSignal.abort() }, planId);
    expect(again).toMatchObject({
      exitCode: 130,
      results: [
        { id: 'a', success: false, stopped: true, abortReason: 'stopped by the caller', next },
        { id: 'b', success: false, notStarted: true, next },
      ],
    });
    world.go();
    expect(await RunOrchestrator.resume(init, planId)).toMatchObject({ exitCode: 0 });
  });

  it('before its first phase says how to go on', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const abort = new AbortController();
    const init: Partial<RunInit> = { options: EXEC, signal: abort.signal, onPhasePlan: () => abort.abort() };
    const { planId, exitCode, results } = await inCode(issues, init, ['a.md']);
    expect(exitCode).toBe(130);
    expect(results).toMatchObject([{ id: 'a', notStarted: true, next: `signalbox resume ${planId}` }]);
    expect(await RunOrchestrator.resume(await surroundings(issues), planId ?? '')).toMatchObject({
      exitCode: 0,
    });
  });

  it('before there is one calls its issues as it would have', async ({ world }) => {
    const issues = new IssueWorld(world)
      .write('issues/a.md', '# A\n')
      .write('issues/b.md', '# B\n', { id: 'second' });
    const references = ['issues/a.md', 'issues/b.md', '#12', '13'];
    const { results, planId } = await inCode(
      issues,
      { options: EXEC, signal: AbortSignal.abort() },
      references,
    );
    expect(planId).toBeNull();
    expect(results).toMatchObject([
      { id: 'a', issueNumber: 0, title: 'A', notStarted: true },
      { id: 'second', issueNumber: 0, title: 'B', notStarted: true },
      { id: '12', issueNumber: 12, notStarted: true },
      { id: '13', issueNumber: 13, notStarted: true },
    ]);
  });

  it('when all is done has done all', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const abort = new AbortController();
    const run = await inCode(
      issues,
      {
        options: EXEC,
        signal: abort.signal,
        onEvent: (event) => {
          if (event.type === 'ticket:status' && event.status === 'complete') abort.abort();
        },
      },
      ['a.md'],
    );
    expect(run).toMatchObject({ exitCode: 0, results: [{ id: 'a', success: true }] });
    expect(issues.log(run.planId ?? '').summary).toMatchObject({ passed: 1, aborted: false });
    expect(world.readPlan(run.planId ?? '').status).toBe('complete');
  });
});

describe.concurrent('what the library cannot work with', () => {
  const call = (init: object) => async (issues: IssueWorld) =>
    RunOrchestrator.run({ ...(await surroundings(issues)), options: {}, ...init } as RunInit, ['a.md']);

  it.for<[string, (issues: IssueWorld) => Promise<unknown>, string]>([
    [
      'no run',
      async (issues) => RunOrchestrator.resume(await surroundings(issues), undefined as never),
      'id',
    ],
    ['nothing', () => RunOrchestrator.resume(undefined as never, 'run-1'), 'settings'],
    ['empty settings', call({ settings: {} }), '`settings` are not complete.'],
    ['a signal that is none', call({ signal: {} }), '`signal` is no AbortSignal.'],
    ['a URL as cwd', call({ cwd: new URL('file:///tmp') }), '`cwd` is not the path'],
    ['a text as env', call({ env: 'PATH=/bin' }), '`env` is no object'],
    ['a URL as cwd of the settings', () => getSettings({ cwd: pathToFileURL('/') as never }), '`cwd`'],
    ['a URL as cwd of the manifest', () => getManifest({ cwd: pathToFileURL('/') as never }), '`cwd`'],
  ])('is refused with a hint: %s', async ([, work, message], { world }) => {
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const error = await work(issues).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: 'InputError', hint: expect.stringMatching(/./) });
    expect(String(error)).toContain(message);
    expect(issues.runs()).toEqual([]);
  });

  it('is not a relative directory, which is one of the process', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const cwd = relative(process.cwd(), world.repo);
    const { env } = await surroundings(issues);
    const settings = await getSettings({ cwd, env });
    const run = await RunOrchestrator.run({ settings, cwd, env, options: EXEC }, ['a.md']);
    expect(run).toMatchObject({ exitCode: 0, results: [{ id: 'a', success: true }] });
  });
});
