import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { it, put, runSpec, stateFile, story, tasks, writeSpec } from './support.ts';

const decided = (type: string, more = {}) => ({ type, owner: 'default', criticality: 'standard', ...more });
const own = { outcome: 'code', owner: 'default', criticality: 'complex', reason: 'It is first.' };
const asked = (data: unknown, more = {}) => ({
  when: { phase: 'assign', ...more },
  do: [{ result: { data } }],
});
const assigns = (world: Parameters<typeof stateFile>[0], ...ids: string[]) =>
  ids.map((id) => story(world.ticket('spec-limits', id)).filter((each) => each.startsWith('assign')).length);

describe.concurrent('contract 8: --assign all', () => {
  it('lets one agent decide about all open units, and keeps what it said', { tags: 'full' }, async ({
    world,
  }) => {
    const others = { 2: decided('review', { reason: 'Only looks.' }), 3: decided('ui') };
    world.rehearsal([asked({ ...own, others })]);
    const dir = writeSpec(world, `${tasks('One', 'Two', 'Three')}- [x] 4. Done before\n`, {
      assigned: false,
    });
    expect((await runSpec(world, dir, '--assign', 'all')).code).toBe(0);
    expect(assigns(world, '1', '2', '3')).toEqual([1, 0, 0]);
    expect(story(world.ticket('spec-limits', '2'))[0]).toBe('review success');
    expect(stateFile(world).specs.limits?.assignments).toMatchObject({
      1: {
        type: 'code',
        owner_agent: 'default',
        criticality: 'complex',
        by: 'agent',
        reason: 'It is first.',
      },
      2: {
        type: 'review',
        owner_agent: 'default',
        criticality: 'standard',
        by: 'agent',
        reason: 'Only looks.',
      },
      3: { type: 'ui', owner_agent: 'default', criticality: 'standard', by: 'agent' },
    });
    const prompt = world.promptOf('spec-limits', '1', 'assign.1.1');
    expect(prompt).toContain('## 2 Two');
    expect(prompt).toContain('## 3 Three');
    expect(prompt).not.toContain('Done before');
  });

  it.for([
    ['one is left out', { 2: decided('ui') }],
    ['a foreign one is there', { 2: decided('ui'), 3: decided('ui'), 9: decided('ui') }],
    ['one has an unknown owner', { 2: decided('ui'), 3: decided('ui', { owner: 'nobody' }) }],
  ] as const)('has the answer repaired once where %s', { tags: 'full' }, async ([, others], { world }) => {
    const good = { 2: decided('ui'), 3: decided('code') };
    world.rehearsal([
      asked({ ...own, others }, { resumed: false }),
      asked({ ...own, others: good }, { resumed: true }),
    ]);
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'), { assigned: false });
    expect((await runSpec(world, dir, '--assign', 'all', '--max-iterations', '1')).code).toBe(1);
    expect(assigns(world, '1', '2', '3')).toEqual([1, 0, 0]);
    expect(stateFile(world).specs.limits?.assignments).toMatchObject({
      2: { type: 'ui', by: 'agent' },
      3: { type: 'code', by: 'agent' },
    });
  });

  it('falls back where the answer never fits, says so, and asks for the others one by one', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([{ when: { ticket: '1', phase: 'assign' }, do: [{ result: { text: 'Who knows.' } }] }]);
    const dir = writeSpec(world, tasks('One', 'Two'), { assigned: false });
    const { code, out } = await world.cli('spec', dir, '--no-tmux', '--delay', '0', '--assign', 'all');
    expect(code).toBe(0);
    expect(out).toContain('1: fallback');
    expect(assigns(world, '1', '2')).toEqual([1, 1]);
    const { assignments } = stateFile(world).specs.limits ?? { assignments: {} };
    expect(assignments).toMatchObject({ 1: { by: 'fallback' }, 2: { by: 'agent' } });
    const again = await runSpec(world, dir);
    expect(again.code).toBe(0);
    expect(stateFile(world).specs.limits?.assignments[1]).toMatchObject({ by: 'fallback' });
  });

  it('leaves out what a person has decided, and gives way to it later', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([asked({ ...own, others: { 3: decided('ui'), 4: decided('ui') } })]);
    const dir = writeSpec(world, tasks('One', 'Two', 'Three', 'Four'), { assigned: false });
    const file = join(dir, '..', 'SEQUENTIAL_STATE.json');
    const byHand = { 2: { type: 'review', owner_agent: 'default' } };
    put(file, JSON.stringify({ version: 1, specs: { limits: { assignments: byHand } } }));
    expect((await runSpec(world, dir, '--assign', 'all', '--max-iterations', '2')).code).toBe(1);
    const state = JSON.parse(readFileSync(file, 'utf8'));
    expect(state.specs.limits.assignments).toMatchObject({
      2: { by: 'person' },
      4: { type: 'ui', by: 'agent' },
    });
    state.specs.limits.assignments[4].type = 'review';
    writeFileSync(file, JSON.stringify(state));
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(assigns(world, '1', '2', '3', '4')).toEqual([1, 0, 0, 0]);
    expect(story(world.ticket('spec-limits', '4'))[0]).toBe('review success');
    expect(stateFile(world).specs.limits?.assignments[4]).toMatchObject({ type: 'review', by: 'person' });
  });

  it('is kept over a crash, also without the state file', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([asked({ ...own, others: { 2: decided('ui'), 3: decided('review') } })]);
    const dir = writeSpec(world, tasks('One', 'Two', 'Three'), { assigned: false });
    const env = { SIGNALBOX_CRASH_AT: 'attempt:closed' };
    const args = ['spec', dir, '--no-tmux', '--delay', '0', '--assign', 'all'];
    expect((await world.start(args, env).ended).signal).toBe('SIGKILL');
    put(join(dir, '..', 'SEQUENTIAL_STATE.json'), '');
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(assigns(world, '1', '2', '3')).toEqual([1, 0, 0]);
    expect(story(world.ticket('spec-limits', '3'))[0]).toBe('review success');
  });

  it('refuses a word that it does not know', async ({ world }) => {
    const dir = writeSpec(world, tasks('One'), { assigned: false });
    const { code, err } = await runSpec(world, dir, '--assign', 'some');
    expect({ code, err }).toEqual({ code: 5, err: expect.stringContaining('Must be each or all.') });
  });
});

describe.concurrent('an assignment written by hand while the run is under way', () => {
  it('counts for units that have not begun', async ({ world }) => {
    world.rehearsal([
      {
        when: { ticket: '1', phase: 'implement' },
        do: [
          { write: { path: 'a.txt', text: 'a\n' } },
          { run: `until [ -e ${world.dir}/go-on ]; do sleep 0.05; done` },
          { commit: 'Do 1' },
        ],
      },
    ]);
    const dir = writeSpec(world, tasks('One', 'Two'), { assigned: false });
    const run = world.start(['spec', dir, '--no-tmux', '--delay', '0', '--json']);
    await run.says('"a.txt"');
    const state = stateFile(world);
    Object.assign(state.specs.limits?.assignments ?? {}, { 2: { type: 'review', owner_agent: 'default' } });
    put(join(dir, '..', 'SEQUENTIAL_STATE.json'), JSON.stringify(state));
    world.append('go-on', '');
    expect((await run.ended).code).toBe(0);
    expect(story(world.ticket('spec-limits', '2'))[0]).toBe('review success');
    expect(stateFile(world).specs.limits?.assignments[2]).toMatchObject({ type: 'review', by: 'person' });
  });
});
