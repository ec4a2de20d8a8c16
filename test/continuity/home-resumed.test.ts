import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, layOut, story, type World } from './support.ts';

type Fields = Record<string, unknown>;

/** Fields that people wrote into files of plans and tickets themselves. */
const isOwn = (key: string) => /^(x-|\$|zzz)/.test(key);

/** All plan and ticket files that can be read, by path. */
function files(world: World): Map<string, Fields> {
  const found = new Map<string, Fields>();
  for (const name of readdirSync(world.stateDir, { recursive: true, encoding: 'utf8' })) {
    if (!/^plans\/[^/]+\/(plan|tickets\/[^/]+)\.json$/.test(name) || name.endsWith('torn.json')) continue;
    found.set(name, JSON.parse(readFileSync(join(world.stateDir, name), 'utf8')));
  }
  return found;
}

function expectOwnFieldsKept(before: Fields, after: Fields, where: string): void {
  const own = (fields: Fields) => Object.entries(fields).filter(([key]) => isOwn(key));
  expect(own(after), where).toEqual(own(before));
  expect(after.tickets, where).toEqual(before.tickets);
}

async function passes(world: World, ...args: string[]): Promise<string> {
  const { code, out, err } = await world.invoke(args, {}, world.repo).ended;
  expect(code, `${args.join(' ')}\n${out}${err}`).toBe(0);
  return out;
}

describe('what a home of version 0.1 holds', () => {
  it('is resumed and finished, with the workflows it began with and nothing done twice', async ({
    world,
  }) => {
    const { stopped } = layOut(world);
    const before = files(world);
    const worked = world.calls().length;
    world.go();
    for (const name of ['fixed', 'ready']) world.append(name, '');

    await passes(world, 'respond', 'open', 'asks', 'approve');
    await passes(world, 'resume', 'open', 'slow-1');
    await passes(world, 'retry', 'open', 'bad-1');
    await passes(world, 'retry', 'open', 'bad-2');
    // What waits for a person's answer ends the run with 1.
    expect((await world.invoke(['run', 'open'], {}, world.repo).ended).code).toBe(1);
    for (const id of ['bad-1', 'slow-1']) await passes(world, 'respond', 'open', id, 'approve');
    expect((await world.invoke(['run', 'open'], {}, world.repo).ended).code).toBe(1);
    await passes(world, 'respond', 'open', 'later', 'approve');
    await passes(world, 'run', 'open');
    expect(world.readPlan('open')).toMatchObject({ status: 'complete', claim: null });
    const stories = Object.fromEntries(
      world.readPlan('open').tickets.map(({ ticketId }) => [ticketId, story(world.ticket('open', ticketId))]),
    );
    const house = ['build success', 'check success', 'approve success'];
    expect(stories).toEqual({
      fine: house,
      asks: house,
      'slow-1': ['build interrupted', ...house],
      'bad-1': ['build failure', ...house],
      'bad-2': ['implement failure', 'implement failure', 'implement success'],
      waits: ['wait success'],
      // It had not begun when a person edited the workflow.
      later: ['build success', 'inspect success', 'approve success'],
    });
    expect(world.promptOf('open', 'bad-1', 'build.1.2')).toContain('Build it. No hint.');
    expect(world.promptOf('open', 'later', 'build.1.1')).toContain('Build it in another way. No hint.');

    await passes(world, 'resume', stopped);
    expect(world.readPlan(stopped)).toMatchObject({ status: 'complete', claim: null });
    const log = JSON.parse(readFileSync(join(world.repo, '.signalbox', 'logs', `${stopped}.json`), 'utf8'));
    expect(log.issues.map(({ id, status }: Fields) => [id, status])).toEqual([
      ['first', 'success'],
      ['slow-issue', 'success'],
      ['last', 'success'],
    ]);
    expect(log.summary).toMatchObject({ totalIssues: 3, passed: 3, failed: 0, aborted: false });

    await passes(world, 'resume', 'spec-limits', '--no-tmux');
    expect(world.readPlan('spec-limits')).toMatchObject({ status: 'complete', claim: null });
    const tasks = git(world.repo, 'show', 'spec/limits:.kiro/specs/limits/tasks.md');
    expect(tasks.match(/- \[.\] \d/g)).toEqual(['- [x] 1', '- [x] 2', '- [x] 3']);

    const calls = world.calls().slice(worked);
    expect(calls.map(({ ticket, attempt }) => `${ticket} ${attempt}`.replace(stopped, 'run')).sort()).toEqual(
      [
        'open/bad-1 build.1.2',
        'open/bad-2 implement.1.3',
        'open/later build.1.1',
        'open/slow-1 build.1.2',
        'run/last exec.1.1',
        'run/slow-issue exec.1.2',
        'spec-limits/2 implement.1.2',
        'spec-limits/3 implement.1.1',
      ],
    );
    const after = files(world);
    for (const [name, fields] of before) expectOwnFieldsKept(fields, after.get(name) ?? {}, name);
    const rows = (await passes(world, 'stats', '--csv')).trim().split('\n');
    expect(rows).toHaveLength(5);
  });

  it('keeps the fields that people add, with their values and in their order', async ({ world }) => {
    layOut(world);
    await passes(world, 'plan', 'approve', 'draft');
    await passes(world, 'plan', 'edit', 'draft', 'a', '--title', 'Another title');
    const own = (fields: object) => Object.entries(fields).filter(([key]) => isOwn(key));
    const plan = JSON.parse(readFileSync(world.planFile('draft'), 'utf8'));
    expect(plan.status).toBe('active');
    expect(own(plan)).toEqual([
      ['$comment', 'Written by a person.'],
      ['x-team', { lead: 'Ada', members: ['Bob', 'Cyd'] }],
      ['zzz', "The last of the person's own fields."],
    ]);
    const ticket = JSON.parse(readFileSync(world.ticketFile('draft', 'a'), 'utf8'));
    expect(ticket.title).toBe('Another title');
    expect(own(ticket)).toEqual([
      ['x-estimate', 3],
      ['x-note', 'Between two known fields.'],
      ['x-last', ['stays', 'last']],
    ]);
    // A broken ticket is left as it is.
    await passes(world, 'resume-plan', 'odd');
    expect(readFileSync(world.ticketFile('odd', 'torn'), 'utf8')).toContain('"title": 7');
  });
});
