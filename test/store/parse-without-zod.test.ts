import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseKeepingExtra, withExtra } from '../../src/model/extra-fields.ts';
import { planSchemaFor } from '../../src/model/plan-schema.ts';
import { ticketSchemaFor } from '../../src/model/ticket-schema.ts';
import { quickPlan, quickTicket } from '../../src/store/parse-without-zod.ts';

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

const UNIT = {
  ...TICKET,
  unit: {
    id: '1.2',
    tasks: [{ id: '1.2', title: 'x', numbered: true, hash: 'h' }],
    ids: ['1.2'],
    work: 'w',
    context: '',
    requirements: '',
    design: '',
    verify: [],
    checkpoint: false,
    asked: { '1.3': 'h' },
    hash: 'h',
    note: 'mine',
  },
  left: { head: 'c', files: { 'a.ts': 's' } },
};
const ISSUE = {
  ...TICKET,
  source: { key: 'github:a/b#1', number: 1, labels: ['bug'] },
  supersedes: ['p/t0'],
};
const RUN = {
  ...PLAN,
  kind: 'run',
  install: true,
  run: {
    config: {
      phases: ['exec'],
      phaseTimeout: 5,
      maxIterations: 3,
      concurrency: 1,
      phasePolicies: { exec: {} },
    },
    options: { batch: ['1 2'], rotation: { maxSizeMB: 1, maxFiles: 3 } },
  },
};
const SPEC = {
  ...PLAN,
  kind: 'spec',
  spec: {
    name: 's',
    dir: '/r/s',
    inTree: 's',
    tracked: true,
    files: { tasks: 'tasks.md', others: [] },
    text: '',
    base: null,
    startedAt: 't',
    aside: [UNIT],
  },
};

function read<T>(schema: { parse(data: unknown): T } | undefined, data: unknown): T | undefined {
  try {
    return schema && parseKeepingExtra(schema, data);
  } catch {
    return undefined;
  }
}

describe('quick reading', () => {
  it.each([
    ['of a ticket', TICKET, quickTicket, ticketSchemaFor],
    ['of a short ticket', { planId: 'p', ticketId: 't', title: 'x' }, quickTicket, ticketSchemaFor],
    ['of a unit', UNIT, quickTicket, ticketSchemaFor],
    ['of an issue', ISSUE, quickTicket, ticketSchemaFor],
    ['of a plan', PLAN, quickPlan, planSchemaFor],
    ['of a short plan', { id: 'p' }, quickPlan, planSchemaFor],
    ['of an issue run', RUN, quickPlan, planSchemaFor],
    ['of an issue run without options', { ...PLAN, kind: 'run' }, quickPlan, planSchemaFor],
    ['of a spec run', SPEC, quickPlan, planSchemaFor],
  ] as const)('%s is as its schema reads it', (_name, sample, quick, schemaFor) => {
    const before = JSON.stringify(sample);
    const found = quick(sample);
    expect(found).toBeDefined();
    expect(withExtra(found)).toEqual(withExtra(read<unknown>(schemaFor(sample), sample)));
    expect(JSON.stringify(sample)).toBe(before);
  });

  it.each([
    ['ticket', TICKET, quickTicket, ticketSchemaFor],
    ['unit', UNIT, quickTicket, ticketSchemaFor],
    ['issue', ISSUE, quickTicket, ticketSchemaFor],
    ['plan', PLAN, quickPlan, planSchemaFor],
    ['issue run', RUN, quickPlan, planSchemaFor],
    ['spec run', SPEC, quickPlan, planSchemaFor],
  ] as const)('never reads a changed %s otherwise than its schema', (_name, sample, quick, schemaFor) => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { minLength: 1, maxLength: 5 }), odd, (path, to) => {
        const data = changed(sample, path, to);
        const found = quick(data);
        if (found === undefined) return;
        const wanted = read<unknown>(schemaFor(data), data);
        expect(withExtra(found)).toEqual(withExtra(wanted));
      }),
      { numRuns: 400 },
    );
  });
});
