import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, put, runSpec, stateFile, story, tasks, writeSpec } from './support.ts';

const answers = (...results: unknown[]) =>
  results.map((result, index) => ({
    when: { phase: 'assign', ...(index === 0 ? { resumed: false } : {}) },
    do: [{ result }],
  }));

describe.concurrent('contract 8: an assignment', () => {
  it('that does not fit is repaired once', { tags: 'full' }, async ({ world }) => {
    world.rehearsal(
      answers(
        { text: 'A tricky one.', data: { outcome: 'backend', owner: 'me', criticality: 'high' } },
        { data: { outcome: 'ui', owner: 'default', criticality: 'complex', reason: 'It is a page.' } },
      ),
    );
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(stateFile(world).specs.limits?.assignments).toMatchObject({
      1: { type: 'ui', owner_agent: 'default', criticality: 'complex', by: 'agent', reason: 'It is a page.' },
    });
  });

  it('that never fits falls back, and says that it does', { tags: 'full' }, async ({ world }) => {
    const results = [
      { text: 'I would give this to somebody who knows CSS.' },
      { data: { outcome: 'code', owner: 'nobody', criticality: 'standard' } },
      { data: { outcome: 1, owner: 2, criticality: 3 } },
      { data: { assignments: [{ task_id: 9, type: 'code', owner_agent: 'x' }] } },
    ];
    world.rehearsal(
      results.map((result, index) => ({
        when: { ticket: String(index + 1), phase: 'assign' },
        do: [{ result }],
      })),
    );
    const list = tasks('Prose', 'Another owner', 'Numbers', 'A list of other ids');
    const dir = writeSpec(world, list, { assigned: false });
    const { code, out } = await world.cli('spec', dir, '--no-tmux', '--delay', '0');
    expect(code).toBe(0);
    expect(out.match(/assign ✗/g)).toHaveLength(4);
    for (const id of ['1', '2', '3', '4']) {
      expect(out).toContain(`${id}: fallback`);
      expect(story(world.ticket('spec-limits', id)).slice(0, 3)).toEqual([
        'assign failure',
        'fallback success',
        'implement success',
      ]);
      expect(stateFile(world).specs.limits?.assignments[id]).toMatchObject({ by: 'fallback', type: 'code' });
    }
  });

  it('decides by its owner which agent does the work', async ({ world }) => {
    world.agent('painter', 'echo painted > painted.txt; commit "Paint"; echo "<promise>TASK_DONE</promise>"');
    world.config({ defaultAgent: 'rehearsal', specs: { owners: { ui: 'painter' } } });
    world.rehearsal(answers({ data: { outcome: 'ui', owner: 'ui', criticality: 'standard' } }));
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    expect((await runSpec(world, dir, '--backend', 'rehearsal')).code).toBe(0);
    const agents = world.ticket('spec-limits', '1').phaseHistory.map(({ phase, agent }) => [phase, agent]);
    expect(agents.slice(0, 2)).toEqual([
      ['assign', 'rehearsal'],
      ['implement', 'painter'],
    ]);
  });

  it('is not asked for before the agents of all owners are there', async ({ world }) => {
    world.config({
      specs: { owners: { ui: 'painter' } },
      agents: { painter: { command: 'no-such-painter' } },
    });
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    const refused = await world.cli('spec', dir, '--no-tmux');
    expect(refused.err).toContain(
      '❌ Agent painter of specs.owners.ui: no-such-painter not found on PATH.\n',
    );
    expect(refused.code).toBe(5);
    expect(git(world.repo, 'branch', '--list', 'spec/*')).toBe('');
    writeSpec(world, tasks('One'), { commit: false });
    expect((await runSpec(world, dir)).code).toBe(0);
  });

  it('that a person wrote into the state file is not asked for again', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, tasks('One', 'Two'), { assigned: false });
    const assignments = {
      1: { type: 'review', owner_agent: 'default' },
      2: { type: 'cooking', owner_agent: 'default' },
    };
    put(
      join(dir, '..', 'SEQUENTIAL_STATE.json'),
      JSON.stringify({ version: 1, specs: { limits: { assignments } }, mine: 'stays' }),
    );
    const { code, err } = await runSpec(world, dir);
    expect(code).toBe(0);
    expect(err).toContain('the assignment of 2 is ignored');
    expect(story(world.ticket('spec-limits', '1'))[0]).toBe('review success');
    expect(story(world.ticket('spec-limits', '2'))[0]).toBe('assign success');
    expect(stateFile(world)).toMatchObject({
      mine: 'stays',
      specs: { limits: { assignments: { 1: { type: 'review', by: 'person' }, 2: { by: 'agent' } } } },
    });
  });

  it('is lost with a state file that cannot be read, which is moved aside', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    put(join(dir, '..', 'SEQUENTIAL_STATE.json'), '{"specs": ');
    const { code, err } = await runSpec(world, dir);
    expect(code).toBe(0);
    expect(err).toContain('It is moved aside.');
    expect(world.read('repo/.kiro/specs/SEQUENTIAL_STATE.json.broken-1')).toBe('{"specs": ');
    expect(stateFile(world).specs.limits?.completed).toEqual(['1']);
  });

  it('is made by the agent of --assign-backend', { tags: 'full' }, async ({ world }) => {
    world.agent('clerk', 'echo no');
    world.config({ defaultAgent: 'rehearsal' });
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    expect((await runSpec(world, dir, '--assign-backend', 'clerk')).code).toBe(0);
    expect(world.ticket('spec-limits', '1').phaseHistory[0]).toMatchObject({
      phase: 'assign',
      agent: 'clerk',
    });
    const { code, err } = await runSpec(world, dir, '--assign-backend', 'clark');
    expect(code).toBe(5);
    expect(err).toContain('Did you mean');
  });
});
