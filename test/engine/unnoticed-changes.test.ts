import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { Engine } from '../../src/engine/engine.ts';
import { it, type World, waitFor } from '../support/index.ts';
import { partsOf } from './parts.ts';

/** An engine that is told of no change, as on a system that has no watches left. */
async function blindEngine(world: World): Promise<void> {
  world.agent('agent', 'commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
  const parts = await partsOf(world);
  vi.spyOn(parts.store, 'watch').mockImplementation(() => () => undefined);
  const engine = new Engine(parts, { maxConcurrency: 4, checkEveryMs: 20, mode: 'forever' });
  const running = engine.run();
  onTestFinished(async () => {
    await engine.stop('leave', 'the test');
    await running;
  });
}

/** Lets the engine's clock go on by so much. */
function later(): (ms: number) => void {
  const real = performance.now.bind(performance);
  let more = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + more);
  onTestFinished(() => clock.mockRestore());
  return (ms) => {
    more += ms;
  };
}

const isComplete = (world: World, plan: string) => () => world.readPlan(plan).status === 'complete';

describe('an engine without watches', () => {
  it('comes to the same end: it finds new plans and changes of open ones by its timer', async ({ world }) => {
    world.plan('p', { status: 'draft', tickets: { a: {} } });
    await blindEngine(world);
    world.plan('q', { tickets: { b: {}, c: { blockedBy: ['b'] } } });
    await waitFor('the new plan', isComplete(world, 'q'));
    world.editPlan('p', (plan) => {
      plan.status = 'active';
    });
    await waitFor('the approved plan', isComplete(world, 'p'));
    expect(world.ticket('p', 'a').status).toBe('complete');
  });

  it('finds within a minute that a finished plan was opened again', async ({ world }) => {
    const advance = later();
    world.plan('old', { status: 'complete', tickets: { a: { status: 'complete' } } });
    await blindEngine(world);
    world.plan('first', { tickets: { x: {} } });
    await waitFor('the engine is at work', isComplete(world, 'first'));
    world.plan('old', { tickets: { a: { status: 'queued' } } });
    // Passes go by in which it looks at open plans alone.
    world.plan('second', { tickets: { x: {} } });
    await waitFor('another plan', isComplete(world, 'second'));
    expect(world.readPlan('old').status).toBe('active');
    advance(60_000);
    // Not so long that a second minute could go by.
    await waitFor('the plan that was opened again', isComplete(world, 'old'), { timeoutMs: 5000 });
  });
});

describe.runIf(process.platform === 'linux')('the watches of an engine', () => {
  it('are fewer than 1,000 beside 2,000 open plans', { tags: 'full' }, async ({ world }) => {
    for (let number = 0; number < 2000; number += 1)
      world.plan(`p${number}`, { status: 'draft', tickets: {} });
    const parts = await partsOf(world);
    const before = watches();
    onTestFinished(parts.store.watch(() => undefined));
    expect(watches() - before).toBeGreaterThan(100);
    expect(watches() - before).toBeLessThan(1000);
  });
});

function watches(): number {
  const infos = readdirSync('/proc/self/fdinfo').flatMap((fd) => {
    try {
      return [readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')];
    } catch {
      // It was that of the listing itself.
      return [];
    }
  });
  return infos.join('\n').match(/^inotify /gm)?.length ?? 0;
}
