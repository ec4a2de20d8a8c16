import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRef, refKey } from '../../../src/model/ids-and-branch-names.ts';
import type { Plan, PlanEntry } from '../../../src/model/plan.ts';
import { PLAN_STATUSES } from '../../../src/model/plan-schema.ts';
import { type Decision, eligible, type Limits, type WorkView } from '../../../src/model/state/eligible.ts';
import { isDue } from '../../../src/model/state/next-step-or-rest.ts';
import type { Ticket } from '../../../src/model/ticket.ts';
import { at, attempt, NOW, plan, ticket } from '../build.ts';

const until = fc.constantFrom(null, at(-5), at(0), at(5), at(500));
const hold = (kind: string) => until.map((time) => ({ kind, reason: 'r', until: time }));
const open = [attempt('a', 'running')];
const closed = [attempt('a', 'failure')];

/** Tickets in every state that the model can bring about. */
const states: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.constantFrom({ status: 'queued' }, { status: 'queued', hold: { kind: 'blocked', reason: 'old' } }),
  fc.constantFrom(
    { status: 'ready' },
    { status: 'ready', phaseHistory: closed },
    { status: 'running', phaseHistory: open },
  ),
  fc.constantFrom({ status: 'complete' }, { status: 'complete', phaseHistory: closed }),
  fc.constantFrom(
    { status: 'failed' },
    { status: 'paused', phaseHistory: open },
    { status: 'needs_attention' },
  ),
  hold('poll').map((each) => ({ status: 'ready', hold: each, phaseHistory: open })),
  hold('limit').map((each) => ({ status: 'ready', hold: each, phaseHistory: closed })),
  hold('gate').map((each) => ({ status: 'needs_attention', hold: each, phaseHistory: open })),
);

interface Scene {
  picture: WorkView;
  limits: Limits;
}

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    plans: fc.array(
      fc.record({
        status: fc.oneof(
          { weight: 5, arbitrary: fc.constant('active') },
          { weight: 1, arbitrary: fc.constantFrom(...PLAN_STATUSES) },
        ),
        concurrency: fc.option(fc.integer({ min: 1, max: 3 })),
        stopOnFailure: fc.boolean(),
        repo: fc.constantFrom(null, '/one', '/two'),
        broken: fc.integer({ min: 0, max: 9 }),
        tickets: fc.array(
          fc.record({
            state: states,
            order: fc.integer({ min: -1, max: 2 }),
            blockers: fc.array(fc.tuple(fc.nat(2), fc.nat(5)), { maxLength: 2 }),
            driven: fc.integer({ min: 0, max: 9 }),
            unreadable: fc.integer({ min: 0, max: 19 }),
            theirs: fc.integer({ min: 0, max: 9 }),
            repo: fc.constantFrom(null, null, '/one', '/two'),
          }),
          { maxLength: 6 },
        ),
      }),
      { maxLength: 3 },
    ),
    maxConcurrency: fc.integer({ min: 0, max: 5 }),
    maxPerRepository: fc.option(fc.integer({ min: 1, max: 2 })),
  })
  .map(({ plans, maxConcurrency, maxPerRepository }) => {
    const driven = new Set<string>();
    const busy = new Set<string>();
    const theirs = new Set<string>();
    const tickets = new Map<string, Ticket>();
    const made = plans.map((each, p) => {
      const id = `plan${p}`;
      for (const [t, one] of each.tickets.entries()) {
        const ref = { planId: id, ticketId: `t${t}` };
        if (one.unreadable !== 0) tickets.set(refKey(ref), ticket({ ...ref, repo: one.repo, ...one.state }));
        if (one.driven < 2) driven.add(refKey(ref));
        if (one.driven === 1) busy.add(refKey(ref));
        if (one.theirs === 0) theirs.add(refKey(ref));
      }
      const entries = each.tickets.map((one, t) => ({
        ticketId: `t${t}`,
        order: one.order,
        blockedBy: one.blockers.map(([bp, bt]) => `plan${bp}/t${bt}`),
      }));
      return plan({
        id,
        status: each.status,
        concurrency: each.concurrency,
        stopOnFailure: each.stopOnFailure,
        repo: each.repo,
        tickets: entries,
      });
    });
    const broken = new Map(
      plans.flatMap((each, p) => (each.broken === 0 ? [[`plan${p}`, 'why'] as const] : [])),
    );
    const mine = (of: Plan, entry: PlanEntry) => !theirs.has(`${of.id}/${entry.ticketId}`);
    return {
      picture: { plans: made, tickets, broken },
      limits: { maxConcurrency, maxPerRepository, busy, driven, mine },
    };
  });

function property(check: (scene: Scene, decision: Decision) => void): void {
  fc.assert(
    fc.property(scenes, (scene) => check(scene, eligible(scene.picture, scene.limits, NOW))),
    { numRuns: 300 },
  );
}

/** Everything known about one dispatched ticket. */
function about(scene: Scene, ref: { planId: string; ticketId: string }) {
  const of = scene.picture.plans.find((each) => each.id === ref.planId) as Plan;
  const index = of.tickets.findIndex((each) => each.ticketId === ref.ticketId);
  const entry = of.tickets[index] as PlanEntry;
  return {
    plan: of,
    entry,
    index,
    ticket: scene.picture.tickets.get(refKey(ref)) as Ticket,
    key: refKey(ref),
  };
}

const isFailure = (of: Ticket | undefined) =>
  of?.status === 'failed' || (of?.status === 'needs_attention' && of.hold?.kind !== 'gate');

describe('eligible, for any picture', () => {
  it('never dispatches more than the slots there are, in all and per plan', () => {
    property(({ picture, limits }, { dispatch }) => {
      const slots = dispatch.filter((each) => each.slot);
      expect(slots.length).toBeLessThanOrEqual(Math.max(0, limits.maxConcurrency - limits.busy.size));
      for (const of of picture.plans) {
        if (of.concurrency === null) continue;
        const busy = [...limits.busy].filter((key) => key.startsWith(`${of.id}/`)).length;
        const more = slots.filter((each) => each.planId === of.id).length;
        if (more > 0) expect(busy + more).toBeLessThanOrEqual(of.concurrency);
      }
    });
  });

  it('never dispatches more tickets of one repository than may run there, whatever plans they are in', () => {
    property((scene, { dispatch }) => {
      const { maxPerRepository: most } = scene.limits;
      const repositoryOf = (ref: { planId: string; ticketId: string }) => {
        const { plan: of, ticket: it } = about(scene, ref);
        return it ? (it.repo ?? of.repo) : null;
      };
      const started = dispatch.filter((each) => each.slot).map(repositoryOf);
      const busy = [...scene.limits.busy].map((key) => repositoryOf(parseRef(key, '')));
      for (const repo of new Set(started)) {
        if (most === null || most === undefined || repo === null) continue;
        const all = [...started, ...busy].filter((each) => each === repo);
        expect(all.length).toBeLessThanOrEqual(most);
      }
    });
  });

  it('dispatches only what may run: active, whole, ours, driven by nobody, moving by itself, due, unblocked', () => {
    property((scene, { dispatch }) => {
      for (const each of dispatch) {
        const { plan: of, entry, ticket: it, key } = about(scene, each);
        expect(of.status).toBe('active');
        expect(scene.picture.broken.has(of.id)).toBe(false);
        expect(scene.limits.mine(of, entry)).toBe(true);
        expect(scene.limits.driven.has(key)).toBe(false);
        const gate = it.status === 'needs_attention' && it.hold?.kind === 'gate' && it.hold.until !== null;
        expect(gate || ['queued', 'ready', 'running'].includes(it.status)).toBe(true);
        if (it.status !== 'queued') expect(isDue(it, NOW)).toBe(true);
        if (it.status === 'queued' || it.phaseHistory.length === 0) {
          for (const text of entry.blockedBy) {
            const blocker = scene.picture.tickets.get(refKey(parseRef(text, of.id)));
            expect(blocker?.status).toBe('complete');
          }
          const siblings = of.tickets.map((other) => scene.picture.tickets.get(`${of.id}/${other.ticketId}`));
          expect(of.stopOnFailure && siblings.some(isFailure)).toBe(false);
        }
        expect(each.slot).toBe(it.hold?.kind !== 'poll' && it.hold?.kind !== 'gate');
      }
    });
  });

  it('dispatches nothing twice, and in order: begun first, then by order, plan and place', () => {
    property((scene, { dispatch }) => {
      const facts = dispatch.map((each) => about(scene, each));
      expect(new Set(facts.map((each) => each.key)).size).toBe(facts.length);
      const rank = facts.map(({ ticket: it, entry, plan: of, index }) => [
        it.phaseHistory.length > 0 ? 0 : 1,
        entry.order,
        scene.picture.plans.indexOf(of),
        index,
      ]);
      expect(rank).toEqual(
        [...rank].sort((a, b) => a.map((n, i) => n - (b[i] ?? 0)).find((d) => d !== 0) ?? 0),
      );
    });
  });

  it('leaves no slot empty while something could use it', () => {
    property((scene, decision) => {
      const free = eligible(scene.picture, { ...scene.limits, maxConcurrency: 1000 }, NOW);
      const wanted = free.dispatch.filter((each) => each.slot).length;
      const slots = Math.max(0, scene.limits.maxConcurrency - scene.limits.busy.size);
      expect(decision.dispatch.filter((each) => each.slot)).toHaveLength(Math.min(wanted, slots));
    });
  });

  it('changes nothing but queued and blocked, and once that is written there is nothing to change', () => {
    property(({ picture, limits }, { changes, dispatch }) => {
      for (const changed of changes) {
        const before = picture.tickets.get(refKey(changed)) as Ticket;
        expect(['queued', 'ready']).toContain(changed.status);
        expect(changed.hold?.kind ?? null).toBe(changed.status === 'queued' ? 'blocked' : null);
        expect({ ...changed, status: 0, hold: 0, since: 0 }).toEqual({
          ...before,
          status: 0,
          hold: 0,
          since: 0,
        });
        expect(dispatch.map(refKey)).not.toContain(refKey(changed));
      }
      const tickets = new Map([...picture.tickets, ...changes.map((each) => [refKey(each), each] as const)]);
      const again = eligible({ ...picture, tickets }, limits, NOW);
      // A dependent may first hear that its blocker is itself blocked now.
      const settled = new Map([...tickets, ...again.changes.map((each) => [refKey(each), each] as const)]);
      expect(again.dispatch).toEqual(dispatch);
      expect(eligible({ ...picture, tickets: settled }, limits, NOW).changes).toEqual([]);
    });
  });

  it('wakes at the earliest hold that ends by itself, and never in the past', () => {
    property((_scene, { wakeAt }) => {
      if (wakeAt !== null) expect(Date.parse(wakeAt)).toBeGreaterThan(Date.parse(NOW));
    });
  });

  it('completes a plan exactly when it is active, has tickets, and all of them are complete', () => {
    property(({ picture }, { completed }) => {
      const expected = picture.plans.filter(
        (of) =>
          of.status === 'active' &&
          !picture.broken.has(of.id) &&
          of.tickets.length > 0 &&
          of.tickets.every(
            (entry) => picture.tickets.get(`${of.id}/${entry.ticketId}`)?.status === 'complete',
          ),
      );
      expect(completed).toEqual(expected.map((of) => of.id));
    });
  });
});
