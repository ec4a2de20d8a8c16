import { describe, expect, expectTypeOf, it } from 'vitest';
import { openEngine } from '../../src/api/open-engine-with-features.ts';
import type { EngineContext, OpenOptions, PlanKind } from '../../src/engine/context.ts';
import type { MergedRunOptions } from '../../src/features/issue-runs/request-and-result-types.ts';
import type { CommonPlan, Plan, PlanSpec } from '../../src/model/plan.ts';
import type { IssueRun } from '../../src/model/plan-schema.ts';
import type { Attempt, Hold, Ticket } from '../../src/model/ticket.ts';
import type { TicketUnit } from '../../src/model/ticket-schema.ts';
import type { Store } from '../../src/store/store-interface.ts';
import { plan as makePlan, ticket as makeTicket } from './build.ts';

// `npm run typecheck` fails where a line below a @ts-expect-error compiles.
describe('types of plans and tickets', () => {
  it('know no misspelt field', () => {
    const plan = makePlan({ id: 'p' });
    const ticket = makeTicket();
    // @ts-expect-error
    expect(plan.knid === 'spec').toBe(false);
    // @ts-expect-error
    expect(ticket.stauts).toBeUndefined();
    // @ts-expect-error
    expect(plan.tickets[0]?.tiketId).toBeUndefined();
    // @ts-expect-error
    const hold: Hold = { kind: 'poll', reason: 'r', until: null, resaon: 'x' };
    // @ts-expect-error
    const options: IssueRun['options'] = { qualityLop: true };
    // @ts-expect-error
    const kind: Plan['kind'] = 'sprint';
    // @ts-expect-error
    const changed: Ticket = { ...ticket, stauts: 'ready' };
    expect([hold, options, kind, changed].length).toBe(4);
    // A plan keeps every option of its run.
    expectTypeOf<keyof NonNullable<IssueRun['options']>>().toEqualTypeOf<keyof MergedRunOptions>();
    expectTypeOf<Attempt>().not.toHaveProperty('oucome');
  });

  it('know no misspelt field in what a change returns', () => {
    const poll: Hold = { kind: 'poll', reason: 'r', until: null };
    const changes = (store: Store) => [
      store.updateTicket({ planId: 'p', ticketId: 't' }, (latest) => ({ ...latest, title: 'new' })),
      // @ts-expect-error
      store.updateTicket({ planId: 'p', ticketId: 't' }, (latest) => ({ ...latest, stauts: 'ready' })),
      store.updatePlan('p', (latest) => (latest.claim ? latest : { ...latest, name: 'new' })),
      // @ts-expect-error
      store.updatePlan('p', (latest) => (latest.claim ? latest : { ...latest, nmae: 'new' })),
      store.updateTicket({ planId: 'p', ticketId: 't' }, (latest) => ({
        ...latest,
        // @ts-expect-error
        hold: { ...poll, utnil: '' },
      })),
      store.updatePlan('p', (latest) => ({
        ...latest,
        // @ts-expect-error
        tickets: latest.tickets.map((entry) => ({ ...entry, ordr: 1 })),
      })),
    ];
    expect(changes).toBeDefined();
  });

  it('know no misspelt field in what is stored anew', () => {
    const plan = { ...makePlan({ id: 'p' }), nmae: 'new' };
    const ticket = { ...makeTicket(), stauts: 'ready' };
    const writes = (store: Store) => [
      store.create(makePlan({ id: 'p' }), [makeTicket()]),
      // @ts-expect-error
      store.create(plan, []),
      // @ts-expect-error
      store.create(makePlan({ id: 'p' }), [ticket]),
      // @ts-expect-error
      store.updatePlan('p', (latest) => latest, [ticket]),
      // @ts-expect-error
      store.restoreTicket(ticket),
    ];
    expect(writes).toBeDefined();
  });

  it('let another program register a kind with fields of its own', () => {
    interface NightlyPlan extends CommonPlan {
      kind: 'nightly';
      night: { title: string };
    }
    const nightly: PlanKind<NightlyPlan> = {
      kind: 'nightly',
      hooks: () => ({ variables: ({ night }) => ({ title: night.title }) }),
    };
    const open = (options: OpenOptions) => openEngine({ ...options, kinds: [nightly] });
    expectTypeOf(open).returns.toEqualTypeOf<EngineContext>();
  });

  it('are unions on the kind and on the origin', () => {
    const plan: Plan = makePlan({ id: 'p' });
    if (plan.kind === 'spec') expectTypeOf(plan.spec).toEqualTypeOf<PlanSpec>();
    else expectTypeOf(plan.spec).toEqualTypeOf<undefined>();
    if (plan.kind === undefined) expectTypeOf(plan.run).toEqualTypeOf<undefined>();
    expectTypeOf<Plan['kind']>().toEqualTypeOf<undefined | 'run' | 'spec'>();
    const ticket: Ticket = makeTicket();
    if (ticket.unit) {
      expectTypeOf(ticket.unit).toEqualTypeOf<TicketUnit>();
      expectTypeOf(ticket.source).toEqualTypeOf<undefined>();
    }
    // @ts-expect-error A unit of a spec has no issue.
    const both: Ticket = { ...ticket, unit: {} as TicketUnit, source: {} };
    expect(both.planId).toBe(ticket.planId);
  });
});
