import { describe, expect } from 'vitest';
import { openEngine } from '../../../src/api/open-engine-with-features.ts';
import { resolveRunOptions } from '../../../src/api/orchestrator-arguments.ts';
import { releasePlanClaim } from '../../../src/engine/claim-and-complete-plan.ts';
import { buildExecutionConfig } from '../../../src/features/issue-runs/options/execution-config-and-workflow-changes.ts';
import { prepareIssueRun } from '../../../src/features/issue-runs/prepare-issue-run.ts';
import { startIssueRun } from '../../../src/features/issue-runs/write-plan-supersede-earlier-and-create-workspaces.ts';
import { emptyTextError, itemFromText } from '../../../src/issues/issues-and-tasks-from-caller.ts';
import { CliCall } from '../../support/cli-call.ts';
import { commitsOf, EXEC, EXEC_FLAGS, git, IssueWorld, inCode, it, refusal, settingsOf } from './support.ts';

describe('a task', () => {
  it('is named by its first line, differently from those that are taken', async () => {
    const taken = new Set(['fix-the-typo', 'fix-the-typo-2']);
    const isTaken = ({ id }: { id: string }) => taken.has(id);
    const item = await itemFromText('Fix the typo\n\n## Acceptance Criteria\n- [ ] no typo', isTaken);
    expect(item).toMatchObject({
      key: 'task:fix-the-typo-3',
      id: 'fix-the-typo-3',
      title: 'Fix the typo',
      body: expect.stringContaining('no typo'),
      acceptanceCriteria: ['no typo'],
    });
    expect(await itemFromText(' Say hello ', isTaken)).toMatchObject({ title: 'Say hello', body: '' });
  });

  it('keeps the whole text where its first line is too long for a title', async () => {
    const text = 'word '.repeat(60).trim();
    const item = await itemFromText(text, () => false);
    expect(item.title).toHaveLength(100);
    expect(item.body).toBe(text);
  });

  it('is never taken for the number of an issue', async () => {
    expect((await itemFromText('123', () => false)).id).toBe('task-123');
  });

  it('says what is to be done', async () => {
    await expect(itemFromText(' \u0007 \n', () => false)).rejects.toThrow(emptyTextError().message);
  });
});

describe.concurrent('signalbox run --task', () => {
  it('runs tasks beside issues, each on a branch of its own, and says how to look and merge', async ({
    world,
  }) => {
    world.agent('agent', 'commit "$SIGNALBOX_TICKET"');
    git(world.repo, 'branch', 'feature/say-hello');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const tasks = ['--task', 'Say hello', '--task', 'Say hello'];
    const { code, out } = await issues.cli('run', 'a.md', ...tasks, ...EXEC_FLAGS);
    expect(code).toBe(0);
    const [run = ''] = issues.runs();
    expect(world.readPlan(run).tickets.map(({ ticketId }) => ticketId)).toEqual([
      'a',
      'say-hello-2',
      'say-hello-3',
    ]);
    expect(commitsOf(world.repo, 'feature/say-hello-2')).toEqual(['say-hello-2']);
    expect(out).toContain(`To look at one: signalbox diff ${run} a\nTo merge: signalbox merge ${run}\n`);
  });

  it('stores the text, so that resume needs nothing', async ({ world }) => {
    world.agent('agent', 'note working; case $(cat) in *"be polite"*) go; commit ;; esac');
    const issues = new IssueWorld(world);
    const first = issues.start('run', '--task', 'Say hello\nand be polite', ...EXEC_FLAGS);
    await world.call('working');
    await first.kill('SIGKILL');
    world.go();
    expect(await issues.cli('resume', await issues.run())).toMatchObject({
      code: 0,
      out: expect.stringContaining('✓ Issue say-hello completed'),
    });
    expect(commitsOf(world.repo, 'feature/say-hello')).toHaveLength(1);
  });

  it('reads one task from standard input', async ({ world }) => {
    world.agent('agent', 'commit');
    const place = { cwd: world.repo, env: world.env, input: 'Say hello\n' };
    const { code, out } = await new CliCall(['run', '--task', '-', '--dry-run'], place).ended;
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringContaining('Would run say-hello: Say hello\n'),
    });
  });

  it('is refused with a plan, without words, and twice from standard input', async ({ world }) => {
    world.plan('sprint', { tickets: { a: {} } });
    const issues = new IssueWorld(world);
    const refused = async (...args: string[]) => refusal(await issues.cli('run', ...args));
    expect(await refused('sprint', '--task', 'x')).toContain(
      'Add a ticket to the plan: signalbox plan add sprint <ticket> --title x',
    );
    for (const blank of ['', ' \t\n'])
      expect(await refused('--task', blank)).toContain('A task does not say what is to be done.');
    expect(await refused('Say hello')).toContain("As a task: signalbox run --task 'Say hello'");
    expect(await refused('--task', '-', '--task', '-')).toContain('--task - is given twice');
    expect(issues.runs()).toEqual([]);
  });

  it('is the option `task` of the library', async ({ world }) => {
    world.agent('agent', 'commit');
    const options = { task: ['Say hello'], phases: 'exec', smartTests: false, pr: false };
    const { results } = await inCode(new IssueWorld(world), { options }, []);
    expect(results).toMatchObject([{ id: 'say-hello', success: true, branch: 'feature/say-hello' }]);
  });

  it('and issues are planned without reading all plans, however many there are', async ({ world }) => {
    const issues = new IssueWorld(world);
    const settings = await settingsOf(issues);
    const engine = openEngine({ settings, env: world.env as Record<string, string>, by: 'run' });
    const view = engine.store.view.bind(engine.store);
    let whole = 0;
    engine.store.view = (planId) => {
      if (planId === undefined) whole += 1;
      return view(planId);
    };
    const options = { ...EXEC, base: 'main', task: ['Say hello', 'Say goodbye'] };
    const config = buildExecutionConfig(resolveRunOptions(options, settings, { env: {} }), settings, 2);
    const more = { references: [], batches: null, packageManager: null, run: {} };
    const request = { config, tasks: options.task, cwd: world.repo, ...more };
    const { items } = await prepareIssueRun(engine, request);
    expect([items.map(({ id }) => id), whole]).toEqual([['say-hello', 'say-goodbye'], 0]);
  });

  it('starts again where another run has taken the id of its task meanwhile', async ({ world }) => {
    const settings = await settingsOf(new IssueWorld(world));
    const engine = openEngine({ settings, env: world.env as Record<string, string>, by: 'run' });
    const options = { ...EXEC, base: 'main', task: ['Same thing'] };
    const config = buildExecutionConfig(resolveRunOptions(options, settings, { env: {} }), settings, 2);
    const more = { references: [], batches: null, packageManager: null, run: {} };
    const request = { config, tasks: options.task, cwd: world.repo, ...more };
    const [one, other] = [await prepareIssueRun(engine, request), await prepareIssueRun(engine, request)];
    expect(await startIssueRun(engine, one)).toBe(true);
    // The first run may be over by then.
    await releasePlanClaim(engine, one.plan.id);
    expect(await startIssueRun(engine, other)).toBe(false);
    const { items } = await prepareIssueRun(engine, request);
    expect(items.map(({ id }) => id)).toEqual(['same-thing-2']);
  });

  it('gives tasks of runs that start at once ids of their own', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world);
    const run = () => issues.cli('run', '--task', 'Same thing', ...EXEC_FLAGS);
    const ended = await Promise.all([run(), run(), run()]);
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
    const ids = issues.runs().flatMap((id) => world.readPlan(id).tickets.map(({ ticketId }) => ticketId));
    expect(ids.sort()).toEqual(['same-thing', 'same-thing-2', 'same-thing-3']);
  });
});
