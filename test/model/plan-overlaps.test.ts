import { expect, it } from 'vitest';
import { Plan } from '../../src/model/plan-schema.ts';
import { overlaps } from '../../src/model/plans/overlapping-ticket-paths.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';

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
