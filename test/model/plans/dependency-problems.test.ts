import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRef, refKey } from '../../../src/model/ids-and-branch-names.ts';
import type { Plan } from '../../../src/model/plan.ts';
import { dependencyProblems } from '../../../src/model/plans/dependency-and-branch-problems.ts';
import { firstOnly } from '../../support/tiers.ts';
import { within } from '../../support/within.ts';
import { plan } from '../build.ts';

/** `a<b` reads: a is blocked by b. */
function planOf(id: string, ...entries: string[]): Plan {
  return plan({
    id,
    tickets: entries.map((text) => {
      const [ticketId, ...blockedBy] = text.split('<');
      return { ticketId, blockedBy };
    }),
  });
}

const messages = (of: Plan, ...others: Plan[]) =>
  dependencyProblems(of, { plans: others }).map((each) => each.message);

describe('dependencyProblems', () => {
  it.each([
    ['no tickets', []],
    ['a chain', ['a', 'b<a', 'c<b']],
    ['a diamond', ['a', 'b<a', 'c<a', 'd<b<c']],
    ['a blocker listed later', ['b<a', 'a']],
  ])('finds nothing in %s', (_name, entries) => {
    expect(messages(planOf('p', ...entries))).toEqual([]);
  });

  it.each([
    ['a ticket listed twice', ['a', 'a'], ['Ticket "a" is listed twice.']],
    ['an unknown blocker', ['a<x'], ['Ticket "a" is blocked by "x", which does not exist.']],
    ['an unknown plan', ['a<q/x'], ['There is no plan "q" that can be read, and a waits for its tickets.']],
    [
      'an unknown plan, once for all that wait for it',
      ['a<q/x<q/y', 'b<q/x', 'c'],
      ['There is no plan "q" that can be read, and a, b wait for its tickets.'],
    ],
    ['an empty name', ['a<'], ['Ticket "a" is blocked by "", which does not exist.']],
    ['a ticket that waits for itself', ['a<a'], ['Tickets wait for each other: a → a.']],
    ['itself by its full name', ['a<p/a'], ['Tickets wait for each other: a → a.']],
    ['two that wait for each other', ['a<b', 'b<a'], ['Tickets wait for each other: a → b → a.']],
    ['a cycle behind a chain', ['x<a', 'a<b', 'b<c', 'c<a'], ['Tickets wait for each other: a → b → c → a.']],
    [
      'a cycle whose edge is written twice',
      ['a<b', 'b<a<a'],
      ['Ticket "b" lists "a" twice in blockedBy.', 'Tickets wait for each other: a → b → a.'],
    ],
  ])('finds %s', (_name, entries, expected) => {
    expect(messages(planOf('p', ...entries))).toEqual(expected);
  });

  it('says which ticket of the plan it is about', () => {
    const [problem] = dependencyProblems(planOf('p', 'ok', 'a<x'), { plans: [] });
    expect(problem).toMatchObject({ planId: 'p', ticketId: 'a' });
  });

  it('follows blockers into other plans', () => {
    const q = planOf('q', 'x<p/a');
    expect(messages(planOf('p', 'a<q/x'), q)).toEqual(['Tickets wait for each other: a → q/x → a.']);
    expect(messages(planOf('p', 'b<q/x', 'a'), q)).toEqual([]);
  });

  it('leaves a cycle of another plan to that plan', () => {
    const q = planOf('q', 'x<y', 'y<x');
    expect(messages(planOf('p', 'a<q/x'), q)).toEqual([]);
    expect(messages(q)).toHaveLength(1);
  });

  it('refuses a blocker that is listed twice, in whichever words', () => {
    expect(messages(planOf('p', 'a', 'b<p/a<a', 'c<a<a'))).toEqual([
      'Ticket "b" lists "a" twice in blockedBy.',
      'Ticket "c" lists "a" twice in blockedBy.',
    ]);
  });

  it('sees a cycle that leads through a knot of another plan', () => {
    const p = planOf('p', 'r<q/v', 't<q/w');
    const q = planOf('q', 'v<p/t<w', 'w<v');
    expect(messages(p, q)).toEqual(['Tickets wait for each other: t → q/w → q/v → t.']);
  });

  it('names every ticket of the plan that is part of some cycle, and no cycle that does not exist', () => {
    const edge = fc.record({ from: fc.nat(7), to: fc.nat(7) });
    fc.assert(
      fc.property(
        fc.uniqueArray(edge, { maxLength: 14, selector: ({ from, to }) => `${from} ${to}` }),
        (edges) => {
          const name = (n: number) => (n < 4 ? `p/t${n}` : `q/t${n}`);
          const blockers = (n: number) =>
            edges.filter((each) => each.from === n).map((each) => name(each.to));
          const make = (id: string, numbers: number[]) =>
            plan({ id, tickets: numbers.map((n) => ({ ticketId: `t${n}`, blockedBy: blockers(n) })) });
          const p = make('p', [0, 1, 2, 3]);
          const q = make('q', [4, 5, 6, 7]);
          const problems = dependencyProblems(p, { plans: [q] });
          const cycles = problems.map((problem) =>
            (problem.message.match(/: (.*)\.$/)?.[1] ?? '')
              .split(' → ')
              .map((text) => refKey(parseRef(text, 'p'))),
          );
          const has = (from: string, to: string) =>
            edges.some((each) => name(each.from) === from && name(each.to) === to);
          for (const cycle of cycles) {
            expect(cycle.at(-1)).toBe(cycle[0]);
            for (const [i, key] of cycle.slice(1).entries()) expect(has(cycle[i] ?? '', key)).toBe(true);
          }
          const onCycle = (n: number) => {
            const seen = new Set<number>();
            const open = [n];
            for (let at = open.pop(); at !== undefined; at = open.pop()) {
              for (const { from, to } of edges) {
                if (from !== at) continue;
                if (to === n) return true;
                if (!seen.has(to)) open.push(to);
                seen.add(to);
              }
            }
            return false;
          };
          for (const n of [0, 1, 2, 3]) {
            expect(cycles.some((cycle) => cycle.includes(name(n)))).toBe(onCycle(n));
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  const many = <T>(count: number, make: (n: number) => T): T[] =>
    Array.from({ length: count }, (_, n) => make(n));

  const LARGE: [name: string, entries: string[], problems: number][] = [
    ['a chain', many(20_000, (n) => (n === 0 ? 't0' : `t${n}<t${n - 1}`)), 0],
    ['blockers that are all listed twice', many(20_000, (n) => (n === 0 ? 't0' : `t${n}<t0<t0`)), 19_999],
    ['a chain behind a cycle', ['x<y', 'y<x', ...many(20_000, (n) => `t${n}<${n ? `t${n - 1}` : 'x'}`)], 1],
    [
      'one that waits for all others',
      [...many(20_000, (n) => `t${n}`), many(20_000, (n) => `<t${n}`).join('')],
      0,
    ],
  ];
  for (const [index, [name, entries, count]] of LARGE.entries())
    it(`looks through twenty thousand tickets in no time: ${name}`, firstOnly(index), () => {
      const of = planOf('p', ...entries.map((entry) => entry.replace(/^</, 'last<')));
      const began = performance.now();
      expect(messages(of)).toHaveLength(count);
      expect(performance.now() - began).toBeLessThan(within(2_500));
    });

  it('looks through two thousand plans that wait for each other in no time', { tags: 'full' }, () => {
    const plans = many(2000, (n) => planOf(`p${n}`, n < 1999 ? `a<p${n + 1}/a` : 'a', 'b<a'));
    const knownAcyclic = new Set<string>();
    const began = performance.now();
    for (const each of plans) expect(dependencyProblems(each, { plans }, knownAcyclic)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(within(5_000));
  });
});
