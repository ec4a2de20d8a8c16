import { expect } from 'vitest';
import { reportEnd } from '../../src/engine/report-status-changes.ts';
import { followLogs } from '../../src/features/issue-runs/logs/rewrite-run-log.ts';
import type { EngineEvent } from '../../src/model/events.ts';
import { attempt, ticket } from '../model/build.ts';
import { status } from '../report/samples.ts';
import { it } from '../support/index.ts';
import { partsOf } from './parts.ts';

it('an attempt that costs far more is reported, and the tickets of its plan are read once', async ({
  world,
}) => {
  const costing = (ticketId: string, costUsd: number) =>
    ticket({ ticketId, phaseHistory: [attempt('build', 'success', { usage: { costUsd } })] });
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  world.plan('p', { tickets: Object.fromEntries(names.map((name) => [name, costing(name, 0.1)])) });
  const events: EngineEvent[] = [];
  const engine = { ...(await partsOf(world)), listen: (event: EngineEvent) => void events.push(event) };
  const read = engine.store.tickets.bind(engine.store);
  let reads = 0;
  engine.store.tickets = (of) => {
    reads += 1;
    return read(of);
  };
  for (const [ticketId, cost] of [
    ['f', 0.1],
    ['g', 0.1],
    ['h', 0.9],
  ] as const)
    reportEnd(engine, costing(ticketId, cost), {
      planId: 'p',
      ticketId,
      phase: 'build',
      visit: 1,
      attempt: 1,
    });
  expect(events.flatMap((event) => (event.type === 'attempt:text' ? event.text : []))).toEqual([
    'build cost $0.90, 9 times the median of its 8 attempts',
  ]);
  expect(reads).toBe(1);
});

it('the tickets of a plan without a log of issues are not read for one', async ({ world }) => {
  world.plan('p', { tickets: { a: { status: 'complete' }, b: {} } });
  const engine = await partsOf(world);
  engine.store.tickets = () => expect.unreachable('all tickets of the plan were read');
  const problems: EngineEvent[] = [];
  const listen = followLogs(engine, (event) => void problems.push(event));
  listen({ ...status('a', 'complete'), planId: 'p' } as EngineEvent);
  expect(problems).toEqual([]);
});
