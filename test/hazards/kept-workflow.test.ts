import { describe, expect } from 'vitest';
import { it, story } from '../support/index.ts';

describe('a ticket keeps the workflow it started with', () => {
  it.concurrent('an edited workflow and prompt reach the next ticket, not the one under way', async ({
    world,
  }) => {
    world.agent('agent', 'note at; go; commit');
    world.prompt('polish.md', 'Polish it the old way.');
    const build = { id: 'build', type: 'agent', prompt: 'Build.' };
    world.workflow('work', [
      { ...build, onSuccess: 'polish' },
      { id: 'polish', type: 'agent', promptTemplate: 'polish.md' },
    ]);
    world.plan('p', { concurrency: 1, tickets: { old: {}, new: { order: 1 } } });
    const run = world.start(['run', 'p']);
    await world.call('at', { ticket: 'p/old' });
    world.prompt('polish.md', 'Polish it the new way.');
    world.workflow('work', [
      { ...build, onSuccess: 'shine' },
      { id: 'shine', type: 'agent', promptTemplate: 'polish.md' },
    ]);
    // Not even an engine that starts afresh may bring the new one to the old ticket.
    await run.kill('SIGKILL');
    world.go();
    const { code, out, err } = await world.cli('run', 'p');
    expect(code, out + err).toBe(0);
    expect(story(world.ticket('p', 'old'))).toEqual(['build success', 'polish success']);
    expect(world.promptOf('p', 'old', 'polish.1.1')).toBe('Polish it the old way.');
    expect(story(world.ticket('p', 'new'))).toEqual(['build success', 'shine success']);
    expect(world.promptOf('p', 'new', 'shine.1.1')).toBe('Polish it the new way.');
  });

  it.concurrent('a workflow that was broken or deleted meanwhile does not touch it either', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'note at; go; commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'polish' },
      { id: 'polish', type: 'agent', prompt: 'Polish.' },
    ]);
    world.plan('p', { concurrency: 1, tickets: { old: {}, new: { order: 1 } } });
    const run = world.invoke(['run', 'p']);
    await world.call('at', { ticket: 'p/old' });
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', onSucces: 'polish' }]);
    world.go();
    expect((await run.ended).code).toBe(1);
    expect(world.ticket('p', 'old').status).toBe('complete');
    expect(world.ticket('p', 'new')).toMatchObject({ status: 'needs_attention', hold: { kind: 'broken' } });
    expect(world.ticket('p', 'new').error).toContain('onSucces');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    expect((await world.cli('retry', 'p', 'new')).code).toBe(0);
    expect((await world.cli('run', 'p')).code).toBe(0);
  });
});
