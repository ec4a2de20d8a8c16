import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messageOf, SignalboxError } from '../../src/model/errors.ts';
import { jsonText, parseKeepingExtra } from '../../src/model/extra-fields.ts';
import { sayHolder } from '../../src/model/lease-and-claim-messages.ts';
import { Plan } from '../../src/model/plan-schema.ts';
import { attemptKey, isOver, openAttempt } from '../../src/model/ticket.ts';
import { ATTEMPT_STATUSES, HOLD_KINDS, TICKET_STATUSES, Ticket } from '../../src/model/ticket-schema.ts';
import { attempt, CLAIM, NOW, ticket } from './build.ts';

/** The schemas drop the one name that would change what an object is. */
const anyJson = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__'));

/** Fields that no schema knows, as a planner or a later version may add them. */
const unknown = fc.dictionary(
  fc.string({ unit: fc.constantFrom('x', 'y', 'z'), minLength: 1, maxLength: 3 }).map((name) => `x-${name}`),
  anyJson,
  { maxKeys: 3 },
);
const id = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/).filter((text) => !text.endsWith('.'));
const text = fc.option(fc.string({ unit: 'binary', maxLength: 20 }));
const time = fc.constantFrom(NOW, '2026-02-03T04:05:06.789Z');

function loose<T extends object>(arb: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.tuple(arb, unknown).map(([known, more]) => ({ ...more, ...known }));
}

const attempts = loose(
  fc.record(
    {
      phase: id,
      visit: fc.nat(9),
      attempt: fc.nat(9),
      status: fc.constantFrom(...ATTEMPT_STATUSES),
      startedAt: time,
      completedAt: fc.option(time),
      outcome: text,
      output: text,
      error: fc.option(loose(fc.record({ class: id, message: fc.string() }))),
      usage: fc.option(loose(fc.record({ inputTokens: fc.option(fc.nat()) }))),
      checks: fc.nat(9),
    },
    { requiredKeys: ['phase', 'status', 'startedAt'] },
  ),
);
const tickets = loose(
  fc.record(
    {
      planId: id,
      ticketId: id,
      title: fc.string({ unit: 'binary' }),
      description: fc.string({ unit: 'binary' }),
      acceptanceCriteria: fc.array(fc.string(), { maxLength: 3 }),
      status: fc.constantFrom(...TICKET_STATUSES),
      hold: fc.option(loose(fc.record({ kind: fc.constantFrom(...HOLD_KINDS), reason: fc.string() }))),
      phaseHistory: fc.array(attempts, { maxLength: 3 }),
      context: fc.dictionary(id, anyJson, { maxKeys: 3 }),
      retries: fc.dictionary(id, fc.nat(5), { maxKeys: 2 }),
      base: fc.option(loose(fc.record({ ref: id, commit: id }))),
      claim: fc.option(loose(fc.constant(CLAIM))),
    },
    { requiredKeys: ['planId', 'ticketId', 'title'] },
  ),
);
const plans = loose(
  fc.record(
    {
      id,
      name: fc.string(),
      status: fc.constantFrom('draft', 'active', 'paused', 'complete', 'archived'),
      tickets: fc.array(loose(fc.record({ ticketId: id, order: fc.integer(), blockedBy: fc.array(id) })), {
        maxLength: 3,
      }),
      concurrency: fc.option(fc.integer({ min: 1, max: 9 })),
    },
    { requiredKeys: ['id'] },
  ),
);

/** What JSON keeps of a value: -0 and prototype-like keys are not our concern. */
const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

describe('state files', () => {
  it('a ticket keeps every field through reading and writing, known or not', () => {
    fc.assert(
      fc.property(tickets, (given) => {
        const read = parseKeepingExtra(Ticket, json(given));
        const written: unknown = JSON.parse(jsonText(read));
        expect(written).toMatchObject(json(given));
        expect(jsonText(parseKeepingExtra(Ticket, read))).toBe(jsonText(read));
        expect(jsonText(parseKeepingExtra(Ticket, written))).toBe(jsonText(read));
      }),
    );
  });

  it('a plan does too, its entries included', () => {
    fc.assert(
      fc.property(plans, (given) => {
        const read = parseKeepingExtra(Plan, json(given));
        const written: unknown = JSON.parse(jsonText(read));
        expect(written).toMatchObject(json(given));
        expect(jsonText(parseKeepingExtra(Plan, read))).toBe(jsonText(read));
        expect(jsonText(parseKeepingExtra(Plan, written))).toBe(jsonText(read));
      }),
    );
  });

  it('a planner may leave out everything the runner owns', () => {
    expect(Ticket.parse({ planId: 'p', ticketId: 't', title: 'T' })).toMatchObject({
      status: 'queued',
      hold: null,
      currentPhase: null,
      phaseHistory: [],
      branch: null,
      worktree: null,
      workflow: null,
      claim: null,
    });
    expect(Plan.parse({ id: 'p' })).toMatchObject({ status: 'draft', tickets: [], worktreeRoot: null });
    expect(Plan.parse({ id: 'p', tickets: [{ ticketId: 't' }] }).tickets).toMatchObject([
      { ticketId: 't', order: 0, blockedBy: [] },
    ]);
  });

  it.each([
    ['no title', { planId: 'p', ticketId: 't' }],
    ['an illegal id', { planId: '../p', ticketId: 't', title: 'T' }],
    ['an illegal branch', { planId: 'p', ticketId: 't', title: 'T', branch: '-x' }],
    ['an unknown status', { planId: 'p', ticketId: 't', title: 'T', status: 'done' }],
    ['a hold of unknown kind', { planId: 'p', ticketId: 't', title: 'T', hold: { kind: 'x', reason: 'r' } }],
    ['half a visit', { planId: 'p', ticketId: 't', title: 'T', visits: { a: 0.5 } }],
  ])('a ticket with %s is refused', (_name, data) => {
    expect(Ticket.safeParse(data).success).toBe(false);
  });

  it.each([
    ['no id', {}],
    ['an id that is a path', { id: 'a/b' }],
    ['an unknown status', { id: 'p', status: 'running' }],
    ['no concurrency at all', { id: 'p', concurrency: 0 }],
    ['an entry without a ticket', { id: 'p', tickets: [{ order: 1 }] }],
    ['an entry with an illegal id', { id: 'p', tickets: [{ ticketId: 'a\nb' }] }],
    ['an illegal base', { id: 'p', base: '--upload-pack' }],
  ])('a plan with %s is refused', (_name, data) => {
    expect(Plan.safeParse(data).success).toBe(false);
  });
});

describe('small words about tickets', () => {
  it('the open attempt is the last one, if it runs', () => {
    const open = attempt('a', 'running');
    expect(openAttempt(ticket({ phaseHistory: [attempt('a', 'failure'), open] }))).toEqual(open);
    expect(openAttempt(ticket({ phaseHistory: [open, attempt('a', 'failure')] }))).toBeUndefined();
    expect(openAttempt(ticket())).toBeUndefined();
  });

  it('an attempt has one name', () => {
    expect(attemptKey({ phase: 'build', visit: 2, attempt: 3 })).toBe('build#2#3');
  });

  it.each(TICKET_STATUSES)('%s', (status) => {
    expect(isOver(ticket({ status }))).toBe(status === 'complete' || status === 'failed');
  });

  it('a holder is told by what it is, its pid and its host', () => {
    expect(sayHolder(CLAIM)).toBe('run (pid 1 on here)');
  });

  it('errors carry code, hint, facts and cause', () => {
    const cause = new Error('deep');
    const error = new SignalboxError('x/y', 'It broke.', {
      hint: 'Mend it.',
      details: { path: '/p' },
      cause,
    });
    expect(error).toMatchObject({
      name: 'SignalboxError',
      code: 'x/y',
      hint: 'Mend it.',
      details: { path: '/p' },
      cause,
    });
    expect(new SignalboxError('x/y', 'm')).toMatchObject({ hint: undefined, details: {} });
    expect([messageOf(error), messageOf('text'), messageOf(undefined)]).toEqual([
      'It broke.',
      'text',
      'undefined',
    ]);
  });
});
