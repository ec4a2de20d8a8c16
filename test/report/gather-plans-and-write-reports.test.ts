import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { followReports, makeReport } from '../../src/report/gather-plans-and-write-reports.ts';
import { partsOf } from '../engine/parts.ts';
import { CLAIM } from '../model/build.ts';
import { it } from '../support/index.ts';
import { status } from './samples.ts';

it('the report of a plan is written when nothing moves, and its tickets are not all read before that', async ({
  world,
}) => {
  world.plan('p', { tickets: { a: { status: 'complete' }, b: { status: 'ready' }, c: { status: 'ready' } } });
  const engine = await partsOf(world);
  const file = join(engine.settings.logDir, 'reports', 'p.md');
  const read = engine.store.tickets.bind(engine.store);
  let reads = 0;
  engine.store.tickets = (of) => {
    reads += 1;
    return read(of);
  };
  const reports = followReports(engine);
  const rests = async (ticketId: string) => {
    await engine.store.updateTicket({ planId: 'p', ticketId }, (ticket) => ({
      ...ticket,
      status: 'complete',
    }));
    reports.listen({ ...status(ticketId, 'complete'), planId: 'p' });
    await reports.close();
    return existsSync(file);
  };
  for (const ticketId of ['a', 'b', 'a']) expect(await rests(ticketId)).toBe(false);
  expect(reads).toBe(1);
  expect(await rests('c')).toBe(true);
});

it('the report of one plan explains no other: a daemon may have thousands', async ({ world }) => {
  for (const id of ['p', 'q', 'r']) world.plan(id, { tickets: { a: {} } });
  const engine = await partsOf(world);
  for (const planId of ['p', 'q', 'r'])
    await engine.store.updatePlan(planId, (plan) => ({ ...plan, claim: { ...CLAIM, token: planId } }));
  const asked: string[] = [];
  engine.holder.isLive = ({ token }) => {
    asked.push(token);
    return false;
  };
  await makeReport(engine, { since: 0, period: '', planId: 'q' });
  expect(asked).toEqual(['q']);
});
