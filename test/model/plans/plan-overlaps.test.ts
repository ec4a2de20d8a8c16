import { expect, it } from 'vitest';
import type { PlanEntry } from '../../../src/model/plan.ts';
import { Plan } from '../../../src/model/plan-schema.ts';
import { overlaps } from '../../../src/model/plans/overlapping-ticket-paths.ts';
import { Ticket } from '../../../src/model/ticket-schema.ts';
import { within } from '../../support/within.ts';

interface Entry {
  paths?: string[];
  entryPaths?: string[];
  blockedBy?: string[];
  group?: number;
  repo?: string;
  status?: Ticket['status'];
}

function pairs(entries: Record<string, Entry>, more: Partial<Plan> = {}): string[] {
  const plan = Plan.parse({
    id: 'p',
    repo: '/r',
    ...more,
    tickets: Object.entries(entries).map(([ticketId, { blockedBy, group, entryPaths }]) => ({
      ticketId,
      blockedBy,
      group,
      paths: entryPaths,
    })),
  });
  const tickets = new Map(
    Object.entries(entries).map(([ticketId, { paths, repo, status }]) => [
      `p/${ticketId}`,
      Ticket.parse({ planId: 'p', ticketId, title: ticketId, paths, repo: repo ?? null, status }),
    ]),
  );
  return overlaps(plan, { tickets }).map(({ a, b, paths }) => `${a} ${b} ${paths.join('=')}`);
}

const SAME = { paths: ['src/a.ts'] };

it('finds tickets that may run at once and change the same files', () => {
  expect(
    pairs({ a: { paths: ['src'] }, b: { paths: ['docs', 'src/x.ts'] }, c: { paths: ['test'] } }),
  ).toEqual(['a b src=src/x.ts']);
});

it('takes paths of the entry and of the ticket together', () => {
  expect(pairs({ a: { entryPaths: ['src/a.ts'] }, b: SAME })).toEqual(['a b src/a.ts=src/a.ts']);
});

it('leaves out tickets that wait for each other, however far', () => {
  expect(pairs({ a: SAME, b: { blockedBy: ['a'] }, c: { ...SAME, blockedBy: ['b'] } })).toEqual([]);
});

it.each([
  ['of other repositories', { a: SAME, b: { ...SAME, repo: '/other' } }, {}],
  ['of other groups', { a: SAME, b: { ...SAME, group: 1 } }, {}],
  ['that are complete', { a: { ...SAME, status: 'complete' as const }, b: SAME }, {}],
  ['of a plan that runs one at a time', { a: SAME, b: SAME }, { concurrency: 1 }],
  ['that declare nothing', { a: SAME, b: {} }, {}],
])('leaves out tickets %s', (_what, entries, more) => {
  expect(pairs(entries, more)).toEqual([]);
});

it('looks through a chain of 20,000 tickets without comparing each with each', () => {
  const plan = Plan.parse({ id: 'p', tickets: [{ ticketId: 'a', ...SAME }] });
  const entry = plan.tickets[0] as PlanEntry;
  const chain = Array.from({ length: 20_000 }, (_, number) => ({
    ...entry,
    ticketId: `t${number}`,
    paths: number === 19_999 ? SAME.paths : [],
    blockedBy: [number === 0 ? 'a' : `t${number - 1}`],
  }));
  const began = performance.now();
  expect(overlaps({ ...plan, tickets: [entry, ...chain] }, { tickets: new Map() })).toEqual([]);
  expect(performance.now() - began).toBeLessThan(within(2_500));
});
