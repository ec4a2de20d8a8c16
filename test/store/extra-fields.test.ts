import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extraFields, withExtra } from '../../src/model/extra-fields.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { State } from './scratch.ts';

type Data = Record<string, unknown>;

const time = '2026-01-01T00:00:00.000Z';
const claim = { token: 't', host: 'h', boot: 'b', pid: 1, started: '9', by: 'run', renewedAt: time };
const attempt = {
  phase: 'a',
  status: 'success',
  startedAt: time,
  usage: { inputTokens: 1 },
  error: { class: 'exit', message: 'm' },
  criteria: [{ criterion: 'c', met: true, evidence: 'e' }],
};
const unit = {
  id: '1',
  tasks: [{ id: '1', title: 'x', numbered: true }],
  ids: ['1'],
  work: '',
  context: '',
  requirements: '',
  design: '',
  verify: [],
  checkpoint: false,
  hash: 'h',
};
const ticket = {
  planId: 'p',
  ticketId: 't',
  title: 'T',
  hold: { kind: 'poll', reason: 'r' },
  phaseHistory: [attempt, { phase: 'b', status: 'failure', startedAt: time }],
  base: { ref: 'main', commit: 'c' },
  claim: { ...claim, agent: { pid: 2, started: '3' } },
  left: { head: 'c', files: { a: 's' } },
};
const TICKETS = [
  ticket,
  { ...ticket, unit },
  { ...ticket, source: { key: 'k', number: 1, labels: ['bug'] }, supersedes: [] },
];
const plan = {
  id: 'p',
  tickets: [{ ticketId: 't', order: 1 }, { ticketId: 'u' }],
  starts: { max: 2, since: time },
  claim,
};
const PLANS = [
  plan,
  {
    ...plan,
    kind: 'run',
    run: {
      config: {
        phases: ['exec'],
        phaseTimeout: 1,
        maxIterations: 1,
        concurrency: 1,
        rules: [{ labels: ['a'] }],
      },
      manifest: { stack: null },
      missing: [{ key: 'a', on: 'b' }],
    },
  },
  {
    ...plan,
    kind: 'spec',
    spec: {
      name: 's',
      dir: '/s',
      inTree: 's',
      tracked: true,
      files: { tasks: 'tasks.md', others: [] },
      text: '',
      base: null,
      startedAt: time,
      aside: [{ ...ticket, unit }],
    },
    windows: { session: 's', cwd: '/', env: {} },
    ended: { at: time, lines: [] },
  },
];

/** Records, where every key is known. */
const RECORDS = ['context', 'retries', 'visits', 'files', 'asked'];

/**
 * Puts fields of a person into every object, each at a random place, and changes the order of the others. The names count
 * up, so that none occurs twice.
 */
function withOwn(value: unknown, places: () => number, key = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => withOwn(each, places));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, each]): [string, unknown] => [
    name,
    withOwn(each, places, name),
  ]);
  for (let left = places() % 3; left > 0; left--)
    entries.splice(places() % entries.length, 0, ...entries.splice(places() % entries.length, 1));
  if (RECORDS.includes(key) && !('tasks' in value)) return Object.fromEntries(entries);
  for (let left = places() % 3; left > 0; left--) {
    const place = places();
    const own = [null, 'text', 7, ['a', { b: 1 }], { deep: { er: [] } }][place % 5];
    entries.splice(place % (entries.length + 1), 0, [`x-${place}-${left}`, own]);
  }
  return Object.fromEntries(entries);
}

/** What was there before is there in the same order, whatever the program has added. */
function keepsOrder(before: unknown, after: unknown): void {
  if (Array.isArray(before)) {
    before.forEach((each, index) => {
      keepsOrder(each, (after as unknown[])[index]);
    });
    return;
  }
  if (typeof before !== 'object' || before === null) return;
  const keys = Object.keys(before);
  expect(Object.keys(after as Data).filter((key) => keys.includes(key))).toEqual(keys);
  for (const key of keys) keepsOrder((before as Data)[key], (after as Data)[key]);
}

const places = fc.infiniteStream(fc.nat(1000)).map((stream) => () => stream.next().value ?? 0);

describe('a file that is written again', () => {
  it('keeps the order of its keys, with no field of a person in it', async () => {
    const state = new State();
    state.plan('p');
    const own = {
      title: 'T',
      status: 'queued',
      phaseHistory: [],
      ticketId: 't',
      planId: 'p',
      rev: 3,
      description: 'd',
    };
    const file = state.write('p/tickets/t.json', own);
    await state.store.updateTicket({ planId: 'p', ticketId: 't' }, (latest) => ({ ...latest, title: 'new' }));
    const keys = Object.keys(JSON.parse(readFileSync(file, 'utf8')));
    expect(keys.slice(0, 7)).toEqual(Object.keys(own));
  });
});

it('keys that are whole numbers stay where they are, and texts that look like them as they are', async () => {
  const state = new State();
  state.plan('p');
  const file = state.path('p/tickets/t.json');
  const own = '"x-own":{"b":1,"100":{"z":"\\"7\\": 8","2":[{"y":0,"1":"\\\\"}]},"a":3,"5":4}';
  writeFileSync(file, `{"planId":"p","ticketId":"t",${own},"title":"T","3":"three","phaseHistory":[]}`);
  const ref = { planId: 'p', ticketId: 't' };
  for (const title of ['one', 'two'])
    await state.store.updateTicket(ref, (latest) => ({
      ...latest,
      title,
      context: { 4: 'four', '"6":': '"6":' },
    }));
  const written = readFileSync(file, 'utf8');
  const keys = [...written.matchAll(/^ {2}"(\w+(?:-\w+)?)":/gm)].map(([, key]) => key);
  expect(keys.slice(0, 6)).toEqual(['planId', 'ticketId', 'x-own', 'title', '3', 'phaseHistory']);
  expect(written.replace(/\n */g, '').replaceAll('": ', '":')).toContain(own.replaceAll('\\": ', '\\":'));
  expect(state.store.ticket(ref).context).toEqual({ 4: 'four', '"6":': '"6":' });
});

describe('fields that people add themselves', () => {
  it.each([
    ['a ticket', 0],
    ['a unit of a spec', 1],
    ['an issue', 2],
  ])('stay where they are in %s, at every level, through every write', async (_name, index) => {
    const state = new State();
    state.plan('p');
    await fc.assert(
      fc.asyncProperty(places, async (next) => {
        const given = withOwn(TICKETS[index], next);
        const file = state.write('p/tickets/t.json', given);
        const ref = { planId: 'p', ticketId: 't' };
        const read = state.store.ticket(ref);
        expect(Object.keys(read).filter((key) => key.startsWith('x-'))).toEqual([]);
        for (const title of ['one', 'two'])
          await state.store.updateTicket(ref, (latest) => ({ ...latest, title, description: 'new' }));
        const written: unknown = JSON.parse(readFileSync(file, 'utf8'));
        expect(written).toMatchObject({ ...(given as Data), title: 'two', description: 'new' });
        keepsOrder(given, written);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['a plan', 0],
    ['the plan of an issue run', 1],
    ['the plan of a spec run', 2],
  ])('stay where they are in %s, at every level, through every write', async (_name, index) => {
    const state = new State();
    state.plan('p', ['t', 'u']);
    await fc.assert(
      fc.asyncProperty(places, async (next) => {
        const given = withOwn(PLANS[index], next);
        const file = state.write('p/plan.json', given);
        for (const name of ['one', 'two'])
          await state.store.updatePlan('p', (latest) => ({ ...latest, name, status: 'paused' }));
        const written: unknown = JSON.parse(readFileSync(file, 'utf8'));
        expect(written).toMatchObject({ ...(given as Data), name: 'two', status: 'paused' });
        keepsOrder(given, written);
      }),
      { numRuns: 60 },
    );
  });

  it('are in one place in memory, also those that only look like an origin', () => {
    const state = new State();
    state.plan('p', ['t'], { run: 'make', colour: 'red' });
    state.ticket('p', 't', { source: 'the meeting', unit: 'cm', 'x-mine': 1 });
    const read = state.store.ticket({ planId: 'p', ticketId: 't' });
    expect(extraFields(read)).toEqual({ source: 'the meeting', unit: 'cm', 'x-mine': 1 });
    expect([read.source, read.unit]).toEqual([undefined, undefined]);
    expect(extraFields(state.store.plan('p'))).toEqual({ run: 'make', colour: 'red' });
  });

  it('are added by a change that spreads them from an object', async () => {
    const state = new State();
    state.plan('p');
    const own: object = { team: 'web' };
    await state.store.updatePlan('p', (latest) => ({ ...latest, ...own }));
    expect(extraFields(openStore(state.dir).plan('p'))).toEqual(own);
  });
});

describe('a plan of an unknown kind', () => {
  it.for([null, '', 5])('is a plain plan where the field names none: %j', async (kind) => {
    const state = new State();
    state.plan('p', ['t'], { kind });
    expect(state.store.view().problems).toEqual([]);
    const written = await state.store.updatePlan('p', (plan) => ({ ...plan, name: 'x' }));
    expect(written.kind).toBeUndefined();
    expect(JSON.parse(readFileSync(state.path('p/plan.json'), 'utf8'))).toMatchObject({ kind, name: 'x' });
  });

  it('is held back and never rewritten', async () => {
    const state = new State();
    state.plan('p', ['t'], { kind: 'sprint', length: 14 });
    state.plan('q');
    const before = readFileSync(state.path('p/plan.json'), 'utf8');
    const { plans, problems } = state.store.view();
    expect(plans.map(({ id }) => id)).toEqual(['q']);
    expect(problems).toMatchObject([
      { planId: 'p', ticketId: null, message: expect.stringContaining('kind') },
    ]);
    expect(problems[0]?.message).toContain('plans of kind "sprint" are not known here');
    await expect(state.store.updatePlan('p', (plan) => ({ ...plan, name: 'x' }))).rejects.toMatchObject({
      code: 'state/kind',
      hint: expect.stringContaining('The plan stays as it is'),
    });
    expect(readFileSync(state.path('p/plan.json'), 'utf8')).toBe(before);
  });
});

it('what has nothing extra inside is not copied to be written', () => {
  const plain = { ticket, list: [attempt] };
  expect(withExtra(plain)).toBe(plain);
});
