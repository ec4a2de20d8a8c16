import { describe, expect, it } from 'vitest';
import type { AttemptEnd } from '../../../src/model/state/attempt-end-types-and-waits.ts';
import { command } from '../../../src/model/state/commands.ts';
import { reduce } from '../../../src/model/state/reduce.ts';
import type { Ticket } from '../../../src/model/ticket.ts';
import { Ticket as TicketSchema } from '../../../src/model/ticket-schema.ts';
import { Workflow } from '../../../src/model/workflow.ts';

const NOW = '2026-01-31T09:30:00.000Z';
const FLOW = Workflow.parse({
  name: 'w',
  phases: [
    {
      id: 'work',
      type: 'agent',
      prompt: 'x',
      maxAttempts: 3,
      maxRetries: 5,
      onSuccess: 'checks',
      signals: true,
      on: { halt: 'ask' },
    },
    { id: 'checks', type: 'script', command: 'c.sh', onFailure: 'work' },
    { id: 'ask', type: 'gate', on: { answer: 'work' }, maxVisits: 9 },
  ],
});
const CLAIM = { token: 't', host: 'h', pid: 1, boot: 'b', started: 's', by: 'run', renewedAt: NOW };
const failed: AttemptEnd = { type: 'failed', error: { class: 'exit', message: 'no' } };
const done = (outcome: string): AttemptEnd => ({ type: 'done', outcome, captured: {} });

/** A ticket after these ends of its attempts, in whichever phase it then is. */
function walked(...ends: AttemptEnd[]): Ticket {
  const fresh = TicketSchema.parse({ planId: 'p', ticketId: 'a', title: 'a' });
  const begun = reduce(FLOW, fresh, { type: 'claim', claim: CLAIM, workflowHash: 'x' }, NOW);
  return ends.reduce((ticket, end, index) => {
    const started = reduce(FLOW, ticket, { type: 'start', attempt: index + 1, agent: 'g' }, NOW);
    return reduce(FLOW, started, { type: 'end', end }, NOW);
  }, begun);
}

describe('maxAttempts', () => {
  it.each([
    ['failures alone', [failed, failed, failed]],
    ['failed checks', [done('success'), failed, done('success'), failed, done('success'), failed]],
    ['both together', [failed, done('success'), failed, failed]],
  ])('counts %s', (_name, ends) => {
    const ticket = walked(...ends);
    expect(ticket).toMatchObject({ status: 'failed', currentPhase: 'work', tries: { work: 3 } });
    expect(ticket.error).toMatch(/^(work|checks): no$/);
  });

  it('waits after failed checks as after a failure of its own, and longer each time', () => {
    const slow = structuredClone(FLOW);
    const [work] = slow.phases;
    Object.assign(work ?? {}, { retry: { max: 5, delaySeconds: 5, factor: 3, maxDelaySeconds: 300 } });
    const ended = (ticket: Ticket, end: AttemptEnd, attempt: number) => {
      const going: Ticket = { ...ticket, status: 'running', hold: null };
      const started = reduce(slow, going, { type: 'start', attempt, agent: 'g' }, NOW);
      return reduce(slow, started, { type: 'end', end }, NOW);
    };
    const seconds = ({ hold }: Ticket) => (Date.parse(hold?.until ?? NOW) - Date.parse(NOW)) / 1000;
    const first = ended(walked(done('success')), failed, 2);
    expect([first.status, first.hold?.kind, seconds(first)]).toEqual(['ready', 'backoff', 5]);
    const second = ended(ended(first, done('success'), 3), failed, 4);
    expect([second.currentPhase, second.hold?.kind, seconds(second)]).toEqual(['work', 'backoff', 15]);
  });

  it('counts neither halts nor what was cut off', () => {
    const cut: AttemptEnd = { type: 'interrupted', reason: 'gone', deliberate: false };
    const ticket = walked(cut, failed, cut, failed, done('halt'));
    expect(ticket).toMatchObject({ currentPhase: 'ask', tries: { work: 2 } });
  });

  it('counts deaths of the agent itself after the first of a visit, and waits after them', () => {
    const died: AttemptEnd = { type: 'interrupted', reason: 'killed', deliberate: false, died: true };
    const once = walked(died);
    expect(once).toMatchObject({ status: 'running', hold: null });
    expect(once.tries).toBeUndefined();
    expect(walked(died, died, died)).toMatchObject({ status: 'running', tries: { work: 2 } });
    const over = walked(died, died, died, died);
    expect(over).toMatchObject({ status: 'failed', error: 'work: killed', tries: { work: 3 } });
    expect(over.phaseHistory.map(({ status }) => status)).toEqual([
      'interrupted',
      ...Array(3).fill('failure'),
    ]);
    expect(command(FLOW, over, { type: 'retry', ready: true }, NOW).tries).toBeUndefined();
  });

  it('starts anew when a person tries again', () => {
    const ticket = command(FLOW, walked(failed, failed, failed), { type: 'retry', ready: true }, NOW);
    expect(ticket).toMatchObject({ status: 'ready', currentPhase: 'work' });
    expect(ticket.tries).toBeUndefined();
  });
});
