import { expect, it } from 'vitest';
import { rehearsal } from '../../src/agents/rehearsal.ts';
import type { PhaseOf } from '../../src/model/workflow.ts';
import { AgentStream } from '../../src/phases/follow-and-stop-agent.ts';
import type { PhaseContext } from '../../src/phases/phase-context.ts';
import { bench, commit, write } from '../workspaces/helpers.ts';

/** An agent in a worktree, as an engine sees it, with the limit `most`. */
async function watched(most: number) {
  const { workspaces, spec } = bench();
  const { path } = spec('one');
  await workspaces.ensure(spec('one'));
  const context = {
    ...{ workspaces, place: { worktree: path }, settings: { limits: { sameToolCalls: most } } },
    ...{ now: () => '2026-01-01T00:00:00.000Z', onTool: () => undefined, onText: () => undefined },
  } as unknown as PhaseContext<PhaseOf<'agent'>>;
  const options = { usageBefore: null, wantsData: false, spent: null, overBudget: () => null };
  const stream = new AgentStream(context, { adapter: rehearsal, file: 'stdout', ...options });
  const { onOutput, isOver } = stream.follow();
  const print = (...lines: unknown[]) =>
    onOutput?.(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
  return {
    path,
    stream,
    print,
    /** Whether the agent has to be stopped after these calls. */
    async loopsAfter(times: number, name = 'read'): Promise<boolean> {
      for (let i = 0; i < times; i++) print({ type: 'tool', name, summary: 'a.txt', done: true });
      await stream.settled();
      expect(isOver?.()).toBe(stream.loop !== null);
      return stream.loop !== null;
    },
  };
}

it('an agent that repeats a call is stopped at the limit, whatever it says in between', async () => {
  const agent = await watched(4);
  expect(await agent.loopsAfter(3)).toBe(false);
  agent.print({ type: 'text', text: 'Once more.' });
  expect(await agent.loopsAfter(1)).toBe(true);
  expect(agent.stream.loop).toBe(
    'called read 4 times in a row with the same input and result (limits.sameToolCalls)',
  );
});

it.each<[string, (path: string) => unknown]>([
  ['a new file', (path) => write(path, { new: '1' })],
  ['a changed file', (path) => write(path, { 'a.txt': 'b\n' })],
  ['a commit', (path) => commit(path, { 'a.txt': 'b\n' })],
])('%s between the calls begins the count again', async (_name, change) => {
  const agent = await watched(4);
  expect(await agent.loopsAfter(2)).toBe(false);
  change(agent.path);
  expect(await agent.loopsAfter(2)).toBe(false);
  expect(await agent.loopsAfter(3)).toBe(false);
  expect(await agent.loopsAfter(1)).toBe(true);
});

it('another call begins the count again, also while the worktree is looked at', async () => {
  const agent = await watched(4);
  expect(await agent.loopsAfter(3)).toBe(false);
  expect(await agent.loopsAfter(1, 'list')).toBe(false);
  agent.print(...Array.from({ length: 4 }, () => ({ type: 'tool', name: 'read', summary: 'a', done: true })));
  expect(await agent.loopsAfter(1, 'list')).toBe(false);
});

it.each([
  [0, 40, false],
  [1, 1, true],
  [2, 1, false],
  [2, 2, true],
])('with the limit %i, %i calls are a loop: %s', async (most, calls, isLoop) => {
  expect(await (await watched(most)).loopsAfter(calls)).toBe(isLoop);
});
