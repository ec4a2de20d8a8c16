import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withStateLock } from '../../src/machine/file-lock.ts';
import type { Ticket } from '../../src/model/ticket-schema.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { State } from './scratch.ts';
import { codeOf, REF } from './store-support.ts';

describe('files that cannot be used', () => {
  const broken: [string, string, RegExp][] = [
    ['empty', '', /the file is empty/],
    ['blank', ' \n', /the file is empty/],
    ['truncated', '{"planId":"p","ticketId":"bad","tit', /not valid JSON/],
    ['not JSON at all', 'title: yaml', /not valid JSON/],
    [
      'nested too deep',
      `{"planId":"p","ticketId":"bad","title":"T","x":${'['.repeat(5000)}${']'.repeat(5000)}}`,
      /bad\.json: the file is nested more than 1000 levels deep/,
    ],
    [
      'nested too deep in a value for templates',
      `{"planId":"p","ticketId":"bad","title":"T","context":{"x":${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}}}`,
      /bad\.json: the file is nested more than 1000 levels deep/,
    ],
    ['nested too deep and truncated', `{"planId":"p","x":${'['.repeat(5000)}`, /more than 1000 levels deep/],
    ['a list', '[]', /:1:1: found an empty list; allowed is a mapping\./],
    ['null', 'null', /:1:1: found nothing; allowed is a mapping\./],
    ['without a title', '{"planId":"p","ticketId":"bad"}', /title: /],
    [
      'of a later version',
      '{"schema":2,"planId":"p","ticketId":"bad","title":"T"}',
      /newer Signalbox \(schema 2; this one reads up to 1\)/,
    ],
    [
      'of another ticket',
      '{"planId":"p","ticketId":"other","title":"T"}',
      /calls itself "p\/other" but is stored as "p\/bad"/,
    ],
    [
      'of another plan',
      '{"planId":"q","ticketId":"bad","title":"T"}',
      /calls itself "q\/bad" but is stored as "p\/bad"/,
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
        expect(problems).toMatchObject([
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
      /:1:34: tickets\[0\]\.ticketId: id "\.\.\/x"/,
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
    expect(problems).toMatchObject([
      { planId: 'p', ticketId: null, path, message: expect.stringMatching(why) },
    ]);
  });

  it('a plan directory without a plan, or with a name that is no id, is named', () => {
    const state = new State();
    state.plan('p');
    mkdirSync(state.path('empty'));
    mkdirSync(state.path('a b'));
    writeFileSync(state.path('note.txt'), 'not a plan');
    const { plans, problems } = state.store.view();
    expect(plans.map((plan) => plan.id)).toEqual(['p']);
    expect(problems).toMatchObject([
      {
        planId: 'a b',
        ticketId: null,
        path: state.path('a b'),
        message: expect.stringMatching(/may contain only letters/),
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
    expect(state.store.view().problems).toMatchObject([
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

describe('what another process is just writing', () => {
  it('is no ticket that nobody listed: neither while it holds the plan, nor once it has listed it', async () => {
    const state = new State();
    state.plan('p', ['a']);
    state.ticket('p', 'b');
    const problems = () => openStore(state.dir).view().problems;
    await withStateLock(state.dir, 'p', () => expect(problems()).toEqual([]));
    expect(problems()).toMatchObject([{ ticketId: 'b' }]);
    state.write('p/plan.json', { id: 'p', tickets: [{ ticketId: 'a' }, { ticketId: 'b' }] });
    expect(problems()).toEqual([]);
  });

  it('is no plan before all of it is there', () => {
    const state = new State();
    mkdirSync(state.path('q+new', 'tickets'), { recursive: true });
    expect(openStore(state.dir).view()).toMatchObject({ plans: [], problems: [] });
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
      /cannot be read: a file is where a directory belongs\. Move away what is in the way\./,
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
        const view = openStore(state.dir, { once }).view();
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
      expect(openStore(state.dir, { once }).view()).toMatchObject({ plans: [{ id: 'p' }], problems: [] });
  });
});
