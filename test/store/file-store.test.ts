import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StoredEvent } from '../../src/model/events.ts';
import { Plan } from '../../src/model/plan-schema.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';
import { FileStore } from '../../src/store/file-store.ts';
import { Fixture } from '../support/fixture.ts';
import { waitFor } from '../support/wait-for.ts';
import { State } from './scratch.ts';

let worker: Fixture;
beforeAll(async () => {
  worker = await Fixture.build(new URL('worker.ts', import.meta.url));
});
afterAll(() => worker.remove());

const REF = { planId: 'p', ticketId: 't' };
const planOf = (id: string, ...tickets: string[]) =>
  Plan.parse({ id, tickets: tickets.map((ticketId) => ({ ticketId })) });
const ticketOf = (planId: string, ticketId: string) => Ticket.parse({ planId, ticketId, title: 'T' });
const codeOf = async (operation: () => unknown): Promise<unknown> => {
  try {
    await operation();
    return 'fine';
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
};

describe('reading', () => {
  it('sees nothing where nothing is', () => {
    expect(new State().store.view()).toEqual({ plans: [], tickets: new Map(), problems: [] });
  });

  it('reads what a planner wrote, with everything that may be left out', () => {
    const state = new State();
    state.plan('p', ['a', 'b']);
    const { plans, tickets, problems } = state.store.view();
    expect(plans).toMatchObject([{ id: 'p', status: 'active' }]);
    expect([...tickets.keys()]).toEqual(['p/a', 'p/b']);
    expect(tickets.get('p/a')).toMatchObject({ status: 'queued', phaseHistory: [] });
    expect(problems).toEqual([]);
  });

  it('shows own changes in a glance at once, and those of others soon', async () => {
    const state = new State();
    state.plan('p', ['t', 'u']);
    const { store } = state;
    const title = () => store.glance().tickets.get('p/t')?.title;
    expect(title()).toBe('T');
    await store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'mine' }));
    expect(title()).toBe('mine');
    await store.updatePlan('p', (plan) => ({ ...plan, tickets: plan.tickets.slice(0, 1) }));
    await store.removeTicket({ planId: 'p', ticketId: 'u' });
    expect([...store.glance().tickets.keys()]).toEqual(['p/t']);
    await new FileStore(state.dir).updateTicket(REF, (ticket) => ({ ...ticket, title: 'theirs' }));
    expect(store.view().tickets.get('p/t')?.title).toBe('theirs');
    await waitFor('the change of another', () => title() === 'theirs');
  });

  it('sees a change at once, and reads a file that is the same only once', () => {
    const state = new State();
    state.plan('p');
    const first = state.store.ticket(REF);
    expect(state.store.ticket(REF)).toBe(first);
    state.ticket('p', 't', { title: 'changed' });
    expect(state.store.ticket(REF).title).toBe('changed');
    expect(state.store.view().tickets.get('p/t')?.title).toBe('changed');
  });

  it('says which plans and tickets there are when one is asked for that is not', () => {
    const state = new State();
    expect(() => state.store.plan('x')).toThrow(
      expect.objectContaining({ code: 'plan/unknown', hint: 'There are no plans yet.' }),
    );
    state.plan('p', ['a', 'b']);
    expect(() => state.store.plan('x')).toThrow(expect.objectContaining({ hint: 'Plans: p.' }));
    expect(() => state.store.ticket({ planId: 'p', ticketId: 'x' })).toThrow(
      expect.objectContaining({ code: 'ticket/unknown', hint: 'Its tickets: a, b.' }),
    );
  });
});

describe('files that cannot be used', () => {
  const broken: [string, string, RegExp][] = [
    ['empty', '', /the file is empty/],
    ['blank', ' \n', /the file is empty/],
    ['truncated', '{"planId":"p","ticketId":"bad","tit', /not valid JSON/],
    ['not JSON at all', 'title: yaml', /not valid JSON/],
    ['a list', '[]', /expected object/i],
    ['null', 'null', /expected object/i],
    ['without a title', '{"planId":"p","ticketId":"bad"}', /title: /],
    [
      'of a later version',
      '{"schema":2,"planId":"p","ticketId":"bad","title":"T"}',
      /newer Signalbox \(schema 2; this one reads up to 1\)/,
    ],
    [
      'of another ticket',
      '{"planId":"p","ticketId":"other","title":"T"}',
      /calls itself "p\/other" but lies at "p\/bad"/,
    ],
    [
      'of another plan',
      '{"planId":"q","ticketId":"bad","title":"T"}',
      /calls itself "q\/bad" but lies at "p\/bad"/,
    ],
    ['with an illegal status', '{"planId":"p","ticketId":"bad","title":"T","status":"done"}', /status: /],
    [
      'with an illegal branch',
      '{"planId":"p","ticketId":"bad","title":"T","branch":"-x"}',
      /branch: .*starts with "-"/,
    ],
  ];

  it.each(broken)(
    'a ticket file that is %s holds back that ticket alone, with path and reason',
    async (_name, text, why) => {
      const state = new State();
      state.plan('p', ['good', 'bad']);
      state.plan('q');
      const path = state.write('p/tickets/bad.json', text);
      for (let look = 0; look < 2; look++) {
        const { plans, tickets, problems } = state.store.view();
        expect(plans.map((plan) => plan.id)).toEqual(['p', 'q']);
        expect([...tickets.keys()]).toEqual(['p/good', 'q/t']);
        expect(problems).toEqual([
          { planId: 'p', ticketId: 'bad', path, message: expect.stringMatching(why) },
        ]);
        expect(problems[0]?.message).toContain(path);
      }
      await expect(
        state.store.updateTicket({ planId: 'p', ticketId: 'bad' }, (each) => ({ ...each })),
      ).rejects.toThrow(why);
      expect(readFileSync(path, 'utf8')).toBe(text);
      state.ticket('p', 'bad');
      expect(state.store.view().problems).toEqual([]);
    },
  );

  it.each<[string, string, RegExp]>([
    ['empty', '', /the file is empty/],
    ['truncated', '{"id":"p"', /not valid JSON/],
    ['of a later version', '{"schema":9,"id":"p"}', /newer Signalbox/],
    [
      'called otherwise than its directory',
      '{"id":"other"}',
      /calls itself "other" but its directory is "p"/,
    ],
    [
      'with an illegal ticket id',
      '{"id":"p","tickets":[{"ticketId":"../x"}]}',
      /tickets\.0\.ticketId: id "\.\.\/x"/,
    ],
    ['with an illegal id', '{"id":"a/b"}', /id: id "a\/b"/],
  ])('a plan file that is %s holds back that plan alone', (_name, text, why) => {
    const state = new State();
    state.plan('p');
    state.plan('q');
    const path = state.write('p/plan.json', text);
    const { plans, tickets, problems } = state.store.view();
    expect(plans.map((plan) => plan.id)).toEqual(['q']);
    expect([...tickets.keys()]).toEqual(['q/t']);
    expect(problems).toEqual([{ planId: 'p', ticketId: null, path, message: expect.stringMatching(why) }]);
  });

  it('a plan directory without a plan, or with a name that is no id, is named', () => {
    const state = new State();
    state.plan('p');
    mkdirSync(state.path('empty'));
    mkdirSync(state.path('a b'));
    writeFileSync(state.path('note.txt'), 'not a plan');
    const { plans, problems } = state.store.view();
    expect(plans.map((plan) => plan.id)).toEqual(['p']);
    expect(problems).toEqual([
      {
        planId: 'a b',
        ticketId: null,
        path: state.path('a b'),
        message: expect.stringMatching(/may only hold letters/),
      },
      {
        planId: 'empty',
        ticketId: null,
        path: state.path('empty', 'plan.json'),
        message: expect.stringMatching(/does not exist/),
      },
    ]);
  });

  it('a ticket that is missing, and one that is not listed, are named', () => {
    const state = new State();
    state.plan('p', ['a']);
    state.write('p/plan.json', { id: 'p', tickets: [{ ticketId: 'a' }, { ticketId: 'gone' }] });
    const extra = state.ticket('p', 'extra');
    expect(state.store.view().problems).toEqual([
      {
        planId: 'p',
        ticketId: 'gone',
        path: state.path('p/tickets/gone.json'),
        message: expect.stringMatching(/does not exist/),
      },
      {
        planId: 'p',
        ticketId: 'extra',
        path: extra,
        message: expect.stringMatching(/not listed in plan.json/),
      },
    ]);
  });
});

describe('ids that would become paths', () => {
  const illegal = [
    'a/b',
    '..',
    '../x',
    '../../x',
    'a/../b',
    'a\nb',
    'a\0b',
    '',
    '.',
    '.hidden',
    '-x',
    'x'.repeat(300),
  ];

  it.each(illegal)('%j is refused everywhere, and nothing is made of it', async (id) => {
    const state = new State();
    state.plan('p');
    const before = tree(dirname(state.dir), state.dir);
    const { store } = state;
    const ref = { planId: 'p', ticketId: id };
    const operations: (() => unknown)[] = [
      () => store.plan(id),
      () => store.ticket(ref),
      () => store.ticket({ planId: id, ticketId: 't' }),
      () => store.updatePlan(id, (each) => ({ ...each })),
      () => store.updateTicket(ref, (each) => ({ ...each })),
      () => store.create({ ...planOf('x', 't'), id }, []),
      () => store.create(planOf('x', 't'), [{ ...ticketOf('x', 't'), ticketId: id }]),
      () => store.deletePlan(id),
      () => store.events(id),
      () => store.append(id, { type: 'plan:status', planId: id, status: 's', v: 1, at: 'now' }),
      () => store.layout.job(ref, 'a#1#1'),
    ];
    for (const operation of operations) expect(await codeOf(operation), String(operation)).toBe('id/illegal');
    expect(tree(dirname(state.dir), state.dir)).toEqual(before);
    expect(store.view().plans.map((plan) => plan.id)).toEqual(['p']);
  });

  it('a hash that is no hash finds nothing', () => {
    const { store } = new State();
    for (const hash of ['../plans/p/plan', '', 'xyz', '0'.repeat(65)])
      expect(store.pinned(hash)).toBeUndefined();
  });
});

/** Names beside the state directory, and all that is in it except for the directories of locks. */
function tree(...dirs: string[]): string[] {
  const [beside = '', inside = ''] = dirs;
  const below = (readdirSync(inside, { recursive: true }) as string[]).filter(
    (name) => !name.startsWith('locks'),
  );
  return [...readdirSync(beside).filter((name) => name.startsWith('x')), ...below.sort()];
}

describe('updating', () => {
  it('counts revisions, and writes nothing when nothing changed', async () => {
    const state = new State();
    state.plan('p');
    const first = await state.store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'one' }));
    expect(first.rev).toBe(1);
    const { ino } = statSync(state.path('p/tickets/t.json'));
    expect(await state.store.updateTicket(REF, (ticket) => ticket)).toMatchObject({ rev: 1 });
    expect(statSync(state.path('p/tickets/t.json')).ino).toBe(ino);
    expect((await state.store.updatePlan('p', (plan) => ({ ...plan, name: 'N' }))).rev).toBe(1);
  });

  it('is given the latest state, whatever was read before', async () => {
    const state = new State();
    state.plan('p');
    state.store.view();
    state.ticket('p', 't', { title: 'by an editor', rev: 7 });
    const seen = await state.store.updateTicket(REF, (ticket) => ({ ...ticket, description: ticket.title }));
    expect(seen).toMatchObject({ description: 'by an editor', rev: 8 });
  });

  it('keeps fields it does not know, in every place', async () => {
    const state = new State();
    const attempt = { phase: 'a', status: 'failure', startedAt: 's', mood: 'bad', usage: { reasoning: 5 } };
    state.plan('p', ['t'], { colour: 'red' });
    state.ticket('p', 't', {
      labels: ['x'],
      base: { ref: 'r', commit: 'c', by: 'me' },
      phaseHistory: [attempt],
    });
    await state.store.updateTicket(REF, (ticket) => ({ ...ticket, title: 'new' }));
    await state.store.updatePlan('p', (plan) => ({ ...plan, name: 'new' }));
    const ticket = JSON.parse(readFileSync(state.path('p/tickets/t.json'), 'utf8')) as unknown;
    expect(ticket).toMatchObject({
      title: 'new',
      labels: ['x'],
      base: { by: 'me' },
      phaseHistory: [{ mood: 'bad', usage: { reasoning: 5 } }],
    });
    expect(JSON.parse(readFileSync(state.path('p/plan.json'), 'utf8'))).toMatchObject({
      colour: 'red',
      name: 'new',
    });
  });

  it('changes nothing when the change throws, and the lock is free again', async () => {
    const state = new State();
    state.plan('p');
    const before = readFileSync(state.path('p/tickets/t.json'), 'utf8');
    const refuse = () => {
      throw new Error('no');
    };
    await expect(state.store.updateTicket(REF, refuse)).rejects.toThrow('no');
    expect(readFileSync(state.path('p/tickets/t.json'), 'utf8')).toBe(before);
    expect(readdirSync(join(state.dir, 'locks'))).toEqual([]);
  });

  it('from several processes at once loses nothing, and no reader ever sees half a file', async () => {
    const state = new State();
    state.plan('p', ['t', 'other']);
    state.ticket('p', 't', { labels: ['kept'] });
    const others = [1, 2, 3].map(() => worker.start(['bump', state.dir, '60']));
    const theirs = () => {
      const { tickets, problems } = new FileStore(state.dir).view();
      expect(problems).toEqual([]);
      return Number(tickets.get('p/t')?.context.n ?? 0);
    };
    for (let own = 1; own <= 10; own++) {
      await waitFor('their updates', () => theirs() >= own * 15, {
        state: () => others.map((each) => each.err).join(),
      });
      await state.store.updateTicket(REF, (each) => ({ ...each, context: { ...each.context, own } }));
    }
    for (const each of others) expect(await each.ended, each.err).toMatchObject({ code: 0 });
    expect(state.store.ticket(REF)).toMatchObject({
      rev: 190,
      labels: ['kept'],
      context: { n: 180, own: 10 },
    });
  });

  it('survives a process that is killed in the middle of it, again and again', async () => {
    const state = new State();
    state.plan('p');
    for (let round = 0; round < 5; round++) {
      const other = worker.start(['bump', state.dir, '100000']);
      const rev = state.store.ticket(REF).rev;
      while (state.store.ticket(REF).rev < rev + 5 + round)
        await new Promise((resolve) => setImmediate(resolve));
      other.kill('SIGKILL');
      await other.ended;
      const after = await state.store.updateTicket(REF, (ticket) => ({
        ...ticket,
        description: `round ${round}`,
      }));
      expect(after.context.n).toBe(after.rev - round - 1);
    }
    expect(state.store.view().problems).toEqual([]);
  });
});

describe('creating and deleting', () => {
  it('makes files that only their owner can read', async () => {
    const { store, dir } = new State();
    await store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    expect(store.view()).toMatchObject({ plans: [{ id: 'p' }], problems: [] });
    for (const name of readdirSync(dir, { recursive: true }) as string[]) {
      const stat = statSync(join(dir, name));
      expect([name, stat.mode & 0o777]).toEqual([name, stat.isDirectory() ? 0o700 : 0o600]);
    }
  });

  it('refuses an id that is taken, and leaves what is there', async () => {
    const { store } = new State();
    await store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    expect(await codeOf(() => store.create(planOf('p', 'u'), [ticketOf('p', 'u')]))).toBe('plan/exists');
    expect(store.view().plans[0]?.tickets).toMatchObject([{ ticketId: 't' }]);
  });

  it('leaves nothing behind when it fails half-way', async () => {
    const state = new State();
    const tickets = [ticketOf('p', 'a'), { ...ticketOf('p', 'b'), ticketId: '../b' }];
    expect(await codeOf(() => state.store.create(planOf('p', 'a', 'b'), tickets))).toBe('id/illegal');
    expect(existsSync(state.path('p'))).toBe(false);
    await state.store.create(planOf('p', 'a'), [ticketOf('p', 'a')]);
    expect(state.store.view().problems).toEqual([]);
  });

  it('deletes a plan with its jobs, and can make it again', async () => {
    const state = new State();
    await state.store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    await state.store.create(planOf('p2', 't'), [ticketOf('p2', 't')]);
    mkdirSync(state.store.layout.job(REF, 'a#1#1'), { recursive: true });
    await state.store.deletePlan('p');
    expect(state.store.view().plans.map((plan) => plan.id)).toEqual(['p2']);
    expect(existsSync(join(state.dir, 'jobs', 'p'))).toBe(false);
    await state.store.create(planOf('p', 't'), [ticketOf('p', 't')]);
    expect(state.store.view().plans.map((plan) => plan.id)).toEqual(['p', 'p2']);
  });

  it('takes no plan for a deleted one because of its name', () => {
    const state = new State();
    state.plan('old.deleted.1');
    expect(state.store.view().plans.map((plan) => plan.id)).toEqual(['old.deleted.1']);
  });
});

describe('restoreTicket', () => {
  it('sets a broken file aside and puts the last good state in its place', async () => {
    const state = new State();
    state.plan('p');
    const good = state.store.ticket(REF);
    const file = state.write('p/tickets/t.json', '{"half":');
    await state.store.restoreTicket(good);
    expect(state.store.ticket(REF)).toMatchObject({ title: 'T', rev: 1 });
    expect(readFileSync(`${file}.broken`, 'utf8')).toBe('{"half":');
    expect(state.store.view().problems).toEqual([]);
  });

  it('leaves a file alone that has become readable meanwhile', async () => {
    const state = new State();
    state.plan('p');
    const good = state.store.ticket(REF);
    state.ticket('p', 't', { title: 'mended' });
    await state.store.restoreTicket(good);
    expect(state.store.ticket(REF)).toMatchObject({ title: 'mended', rev: 0 });
  });
});

describe('events', () => {
  const event = (status: string): StoredEvent => ({
    type: 'plan:status',
    planId: 'p',
    status,
    v: 1,
    at: 'now',
  });
  const statuses = (state: State) =>
    state.store.events('p').map((each) => (each.type === 'plan:status' ? each.status : ''));

  it('are kept in order', () => {
    const state = new State();
    state.plan('p');
    expect(state.store.events('p')).toEqual([]);
    for (const each of ['a', 'b\n{"v":1}', 'ü😀']) state.store.append('p', event(each));
    expect(statuses(state)).toEqual(['a', 'b\n{"v":1}', 'ü😀']);
    expect(statSync(state.path('p/events.jsonl')).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['a half', '{"type":"plan:sta'],
    ['one that happens to end in a brace', '{"type":"ticket:status","hold":{"kind":"poll"}'],
    ['a half that is not even JSON', '\0\0\0'],
  ])('are read past %s last line, and it swallows nothing that comes after', (_name, half) => {
    const state = new State();
    state.plan('p');
    state.store.append('p', event('before'));
    writeFileSync(state.path('p/events.jsonl'), half, { flag: 'a' });
    expect(statuses(state)).toEqual(['before']);
    state.store.append('p', event('after'));
    state.store.append('p', event('last'));
    expect(statuses(state)).toEqual(['before', 'after', 'last']);
  });
});

describe('pinned texts', () => {
  it('are kept by their hash, for ever', () => {
    const { store, dir } = new State();
    const hash = '0123456789abcdef';
    expect(store.pinned(hash)).toBeUndefined();
    store.pin(hash, 'text');
    store.pin(hash, 'another');
    expect(new FileStore(dir).pinned(hash)).toBe('text');
  });
});

describe('what is not a file of a plan or ticket', () => {
  const pipe = (path: string) => execFileSync('mkfifo', [path]);
  const TROUBLE: [string, (state: State) => string, string | null, RegExp][] = [
    [
      'a file in place of tickets/',
      (state) => {
        rmSync(state.path('bad/tickets'), { recursive: true });
        writeFileSync(state.path('bad/tickets'), '');
        return state.path('bad/tickets');
      },
      null,
      /cannot be read: a file lies where a directory belongs\. Move away what is in the way\./,
    ],
    [
      'tickets/ as links in a circle',
      (state) => {
        rmSync(state.path('bad/tickets'), { recursive: true });
        symlinkSync('tickets', state.path('bad/tickets'));
        return state.path('bad/tickets');
      },
      null,
      /cannot be read: its links lead in a circle\./,
    ],
    [
      'a file in place of a plan',
      (state) => replace(state.path('bad'), (path) => writeFileSync(path, '')),
      null,
      /no directory of a plan/,
    ],
    [
      'a link that leads nowhere',
      (state) => replace(state.path('bad'), (path) => symlinkSync('nowhere', path)),
      null,
      /no directory of a plan/,
    ],
    [
      'a pipe in place of a plan',
      (state) => replace(state.path('bad'), pipe),
      null,
      /no directory of a plan/,
    ],
    [
      'a pipe in place of plan.json',
      (state) => replace(state.path('bad/plan.json'), pipe),
      null,
      /named pipe/,
    ],
    [
      'a pipe in place of a ticket',
      (state) => replace(state.path('bad/tickets/t.json'), pipe),
      't',
      /named pipe/,
    ],
    [
      'a link to a device',
      (state) => replace(state.path('bad/tickets/t.json'), (path) => symlinkSync('/dev/zero', path)),
      't',
      /not a file/,
    ],
    [
      'a directory in place of a ticket',
      (state) => replace(state.path('bad/tickets/t.json'), (path) => mkdirSync(path)),
      't',
      /it is a directory/,
    ],
    [
      'a file without end',
      (state) =>
        replace(state.path('bad/tickets/t.json'), (path) => {
          writeFileSync(path, '');
          truncateSync(path, 3 * 2 ** 30);
        }),
      't',
      /larger than 256 MB/,
    ],
  ];
  function replace(path: string, put: (path: string) => unknown): string {
    rmSync(path, { recursive: true });
    put(path);
    return path;
  }
  for (const [what, prepare, ticketId, message] of TROUBLE)
    for (const once of [false, true])
      it(`is a problem of that plan or ticket alone: ${what}${once ? ', read once' : ''}`, () => {
        const state = new State();
        state.plan('bad');
        state.plan('good');
        const path = prepare(state);
        const view = new FileStore(state.dir, { once }).view();
        expect(view.tickets.has('good/t')).toBe(true);
        expect(view.problems).toMatchObject([
          { planId: 'bad', ticketId, path, message: expect.stringMatching(message) },
        ]);
      });

  it('leaves files that are somebody’s own alone, and follows links to plans', () => {
    const state = new State();
    state.plan('good');
    state.write('README.md', 'x');
    symlinkSync('good', state.path('other'));
    expect(state.store.view()).toMatchObject({
      plans: [{ id: 'good' }],
      problems: [{ planId: 'other', message: expect.stringContaining('calls itself "good"') }],
    });
  });

  it('is never written to: events and tickets are refused', async () => {
    const state = new State();
    state.plan('p');
    pipe(state.path('p/events.jsonl'));
    const event = { type: 'plan:status', planId: 'p', status: 'active', v: 1, at: '' } as const;
    expect(await codeOf(() => state.store.append('p', event))).toBe('state/unwritable');
    expect(await codeOf(() => state.store.events('p'))).toBe('state/unreadable');
    const change = (ticket: Ticket) => {
      rmSync(state.path('p'), { recursive: true });
      return { ...ticket, title: 'x' };
    };
    expect(await codeOf(() => state.store.updateTicket(REF, change))).toBe('state/unwritable');
  });

  it('but a mark of the encoding before the text is no trouble', () => {
    const state = new State();
    state.write('p/plan.json', `\ufeff${JSON.stringify({ id: 'p', tickets: [{ ticketId: 't' }] })}`);
    state.write('p/tickets/t.json', `\ufeff${JSON.stringify({ ...REF, title: 'T' })}`);
    for (const once of [false, true])
      expect(new FileStore(state.dir, { once }).view()).toMatchObject({ plans: [{ id: 'p' }], problems: [] });
  });
});
