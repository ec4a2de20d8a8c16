import { expect, vi } from 'vitest';
import { StateReader } from '../../src/store/parse-and-cache-state-files.ts';
import { it } from './support.ts';

it.for([
  ['status', 'p'],
  ['logs', 'p'],
  ['logs', 'p', 'a'],
  ['sessions', 'p', 'a'],
  ['plan', 'show', 'p'],
  ['plan', 'check', 'p'],
  ['merge', 'p'],
])('%s %s reads no tickets of plans that are finished', async (args, { world }) => {
  for (const id of ['old', 'older'])
    world.plan(id, { status: 'complete', tickets: { t: { status: 'complete' } } });
  world.plan('p', { tickets: { a: {} } });
  const read = vi.spyOn(StateReader.prototype, 'ticket');
  await world.cli(...args);
  expect(new Set(read.mock.calls.map(([, planId]) => planId))).toEqual(new Set(['p']));
});
