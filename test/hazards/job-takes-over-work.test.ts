import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { IssueWorld } from '../cli/issue-world.ts';
import { tasks, writeSpec } from '../features/spec-runs/support.ts';
import { it, type World } from '../support/index.ts';

const inJob = ({ stateDir }: World) => ({ SIGNALBOX_JOB: join(stateDir, 'jobs', 'p', 'a', 'build.1.1') });

async function codeOf(world: World, ...words: string[]): Promise<string> {
  const { code, err } = await world.invoke([...words, '--json'], inJob(world), world.repo).ended;
  return code === 0 ? 'allowed' : JSON.parse(err.trimEnd().split('\n').at(-1) ?? '').error.code;
}

describe.concurrent('inside a job', () => {
  it('a new run cannot take over an issue that waits for a person or was stopped by one', async ({
    world,
  }) => {
    const issues = new IssueWorld(world);
    for (const id of ['asks', 'paused', 'cancelled', 'held', 'failed', 'taken', 'other'])
      issues.write(`${id}.md`, `# ${id}\n`);
    const ticket = (id: string, more: object) => ({
      [id]: { source: { key: `markdown:${join(world.repo, `${id}.md`)}`, labels: [] }, ...more },
    });
    const failed = { status: 'failed', error: 'It broke.' };
    const stopped = { kind: 'stopped', reason: 'paused by a person', until: null };
    const gate = { kind: 'gate', reason: 'Ship it?', until: null };
    const plan = { kind: 'run', repo: world.repo } as const;
    world.plan('open', {
      ...plan,
      tickets: {
        ...ticket('asks', { status: 'needs_attention', hold: gate }),
        ...ticket('paused', { status: 'paused', hold: stopped }),
        ...ticket('cancelled', { ...failed, cancelledAt: '2026-01-01T00:00:00.000Z' }),
        ...ticket('failed', failed),
        ...ticket('taken', { status: 'paused', hold: { ...stopped, supersededBy: 'newer' } }),
      },
    });
    world.plan('stopped', { ...plan, status: 'paused', tickets: ticket('held', { status: 'ready' }) });
    const run = (id: string) => codeOf(world, 'run', `${id}.md`, '--force', '--dry-run');
    for (const id of ['asks', 'paused', 'cancelled', 'held'])
      expect([id, await run(id)]).toEqual([id, 'job/decides']);
    // No person has decided about these.
    for (const id of ['failed', 'taken', 'other']) expect([id, await run(id)]).toEqual([id, 'allowed']);
    expect(world.ticket('open', 'paused').hold).toEqual(stopped);
  });

  it('a spec that was begun can neither be continued nor started anew', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'));
    const other = writeSpec(world, tasks('Two'), { name: 'other' });
    const spec = {
      name: 'limits',
      dir,
      inTree: '.kiro/specs/limits',
      files: { tasks: 'tasks.md', others: [] },
    };
    const kept = { ...spec, tracked: true, text: '', base: null, startedAt: '2026-01-01T00:00:00.000Z' };
    world.plan('spec-limits', {
      ...({ kind: 'spec', status: 'paused', repo: world.repo, spec: kept } as const),
      tickets: { 1: { status: 'paused' } },
    });
    expect(await codeOf(world, 'spec', dir)).toBe('job/decides');
    expect(await codeOf(world, 'spec', dir, '--fresh')).toBe('job/decides');
    expect(world.readPlan('spec-limits').status).toBe('paused');
    expect(await codeOf(world, 'spec', other, '--dry-run')).toBe('allowed');
  });
});
