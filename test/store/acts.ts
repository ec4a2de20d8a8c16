import { setImmediate as turn } from 'node:timers/promises';
import type { Store } from '../../src/store/store-interface.ts';
import { planOf, REF, ticketOf } from './store-support.ts';

type Say = (value: unknown) => void;

const forever = () => new Promise<never>(() => undefined);
export const NOTICE = { key: 'k', place: 'bell', since: '2026-01-02' };
export const WISH = { places: ['bell'], wanted: [NOTICE], start: '2026-01-01', now: '2026-01-03' };

/** What another process does with a store until it is killed. Each says when it has done something. */
export const ACTS = {
  /** Takes the ticket and the place of the daemon. */
  async claim(store: Store, say: Say) {
    const holder = store.holder('daemon');
    await holder.start();
    const claim = await holder.claimDaemon('2026-01-01');
    await store.updateTicket(REF, (ticket) => ({ ...ticket, claim }));
    say(claim);
    await forever();
  },

  async alone(store: Store, say: Say) {
    await store.alone('slots', () => {
      say('inside');
      return forever();
    });
  },

  /** Adds one ticket after the other to the plan. */
  async add(store: Store, say: Say) {
    for (let n = 0; ; n++) {
      const { tickets } = planOf('p', `x${n}`);
      await store.updatePlan('p', (plan) => ({ ...plan, tickets: [...plan.tickets, ...tickets] }), [
        ticketOf('p', `x${n}`),
      ]);
      say(n);
      await turn();
    }
  },

  /** Counts up in the ticket. */
  async bump(store: Store, say: Say) {
    for (;;) {
      const { context } = await store.updateTicket(REF, (ticket) => ({
        ...ticket,
        context: { ...ticket.context, n: Number(ticket.context.n ?? 0) + 1 },
      }));
      say(context.n);
      await turn();
    }
  },

  async create(store: Store, say: Say) {
    for (let n = 0; ; n++) {
      await store.create(planOf(`c${n}`, 'a', 'b'), [ticketOf(`c${n}`, 'a'), ticketOf(`c${n}`, 'b')]);
      say(`c${n}`);
      await turn();
    }
  },

  async notify(store: Store, say: Say) {
    say(await store.claimNotices('p', WISH));
    await forever();
  },
} satisfies Record<string, (store: Store, say: Say) => Promise<void>>;

export type Act = keyof typeof ACTS;
