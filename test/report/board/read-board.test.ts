import { describe, expect } from 'vitest';
import { BoardReader } from '../../../src/report/board/read-board.ts';
import { partsOf } from '../../engine/parts.ts';
import { it } from '../../support/index.ts';

describe('the log of a ticket that asks', () => {
  it('is the one of the work before its question', async ({ world }) => {
    world.script('work', 'echo "this is what I did"');
    world.workflow('asks', [
      { id: 'work', type: 'script', command: 'work', onSuccess: 'ask' },
      { id: 'ask', type: 'gate', prompt: 'Ship it?', on: { yes: 'done' } },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { workflow: 'asks', tickets: { a: {} } });
    await world.cli('run', 'p');
    const { store, settings, machine } = await partsOf(world);
    const reader = new BoardReader({ store, settings, machine, redact: String, isShown: () => true });
    expect(reader.read(Date.now()).rows[0]).toMatchObject({ phase: 'ask', decisions: ['yes'] });
    expect(reader.logTail({ planId: 'p', ticketId: 'a' })).toContain('this is what I did');
  });
});
