import { describe, expect } from 'vitest';
import { commitsOf } from '../support/index.ts';
import { it, setUp } from './support.ts';

describe.concurrent('a ticket that failed and then got a dependency', () => {
  it('has the work of what it depends on when it is retried', async ({ world }) => {
    setUp(world, 'commit "$SIGNALBOX_TICKET"; test -e "$HOME/mended" || exit 1', { b: {}, a: {} });
    await world.cli('run', 'p', 'b');
    expect(world.ticket('p', 'b').status).toBe('needs_attention');
    world.append('user/mended', '');
    world.editPlan('p', ({ tickets }) => {
      for (const entry of tickets) if (entry.ticketId === 'b') entry.blockedBy = ['a'];
    });
    expect((await world.cli('retry', 'p', 'b')).code).toBe(0);
    await world.cli('run', 'p');
    expect(world.ticket('p', 'b')).toMatchObject({ status: 'complete', base: { ref: 'main' } });
    expect(commitsOf(world.repo, 'ticket/p/b')).toContain('a');
  });
});
