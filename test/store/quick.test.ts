import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Plan } from '../../src/model/plan-schema.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';
import { quickPlan, quickTicket } from '../../src/store/quick.ts';

const attempt = {
  phase: 'a',
  visit: 1,
  attempt: 1,
  status: 'success',
  startedAt: 't',
  completedAt: 't',
  outcome: 'success',
  output: 'x',
  agent: null,
  sessionId: 's',
  usage: { inputTokens: 1, outputTokens: null, cacheReadTokens: null, cacheWriteTokens: null, costUsd: 0.5 },
  error: { class: 'exit', message: 'm' },
};
const claim = { token: 't', host: 'h', boot: '', pid: 1, started: '9', by: 'run', renewedAt: 'n' };
const TICKET = {
  schema: 1,
  rev: 3,
  planId: 'p',
  ticketId: 't1',
  title: 'x',
  description: 'd',
  acceptanceCriteria: ['a'],
  linearUrl: null,
  repo: '/r',
  branch: 'feature/x',
  status: 'running',
  hold: { kind: 'poll', reason: 'r', until: null },
  phaseHistory: [attempt, { phase: 'b', status: 'running', startedAt: 't' }],
  context: { a: 'b', n: 1, z: null },
  retries: { a: 1 },
  visits: { a: 2 },
  skipPhases: ['q'],
  base: { ref: 'main', commit: 'c' },
  claim,
  mine: { own: [1] },
};
const PLAN = {
  schema: 1,
  rev: 1,
  id: 'p',
  name: 'n',
  repo: '/r',
  base: 'main',
  concurrency: 2,
  stopOnFailure: true,
  status: 'active',
  tickets: [{ ticketId: 't1' }, { ticketId: 't2', order: 2, blockedBy: ['t1'], group: 1, extra: true }],
  claim,
};

/** Values that are wrong somewhere, or right where one would not think so. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    'x',
    '-x',
    '..',
    'a b',
    0,
    -1,
    1.5,
    1e300,
    true,
    [],
    {},
    [1],
    { a: 1 },
    ['a'],
    'queued',
    'draft',
    undefined,
  ),
  fc.jsonValue(),
);

/** Replaces one value anywhere in an object. */
function changed(value: unknown, path: number[], to: unknown): unknown {
  if (typeof value !== 'object' || value === null || path.length === 0) return to;
  const keys = Object.keys(value);
  if (keys.length === 0) return to;
  const key = keys[(path[0] ?? 0) % keys.length] as string;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value };
  const next = changed((value as Record<string, unknown>)[key], path.slice(1), to);
  (copy as Record<string, unknown>)[key] = next;
  return JSON.parse(JSON.stringify(copy));
}

describe('quick reading', () => {
  it('reads what we and planners write', () => {
    expect(quickTicket(TICKET)).toEqual(Ticket.parse(TICKET));
    expect(quickTicket({ planId: 'p', ticketId: 't', title: 'x' })).toEqual(
      Ticket.parse({ planId: 'p', ticketId: 't', title: 'x' }),
    );
    expect(quickPlan(PLAN)).toEqual(Plan.parse(PLAN));
    expect(quickPlan({ id: 'p' })).toEqual(Plan.parse({ id: 'p' }));
  });

  it.each([
    ['ticket', TICKET, quickTicket, Ticket],
    ['plan', PLAN, quickPlan, Plan],
  ] as const)('never reads a %s otherwise than its schema', (_name, sample, quick, schema) => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { minLength: 1, maxLength: 3 }), odd, (path, to) => {
        const data = changed(sample, path, to);
        const read = quick(data);
        if (read === undefined) return;
        expect(schema.safeParse(data)).toEqual({ success: true, data: read });
      }),
      { numRuns: 1500 },
    );
  });
});
