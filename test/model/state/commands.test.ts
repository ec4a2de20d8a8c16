import { describe, expect, it } from 'vitest';
import { IllegalMoveError } from '../../../src/model/errors.ts';
import { command, type TicketCommand } from '../../../src/model/state/commands.ts';
import { attemptKey, isCancelled, legalCommands, type Ticket } from '../../../src/model/ticket.ts';
import { TICKET_STATUSES } from '../../../src/model/ticket-schema.ts';
import { at, attempt, CLAIM, history, NOW, running, script, ticket, workflow } from '../build.ts';

const flow = workflow(
  script('a', { onSuccess: 'b', onFailure: 'help', maxVisits: 1 }),
  script('b', { onSuccess: 'ask' }),
  { id: 'ask', type: 'gate', on: { yes: 'end', again: 'a', no: 'help', failure: 'b' } },
  { id: 'end', type: 'terminal' },
  { id: 'help', type: 'terminal', notify: true },
);

const ALL: Record<Exclude<TicketCommand['type'], 'cancel'>, TicketCommand> = {
  pause: { type: 'pause', by: 'me' },
  stop: { type: 'stop', by: 'me' },
  resume: { type: 'resume', ready: true },
  skip: { type: 'skip', phase: 'b', ready: true },
  retry: { type: 'retry', ready: true },
  respond: { type: 'respond', decision: 'yes', message: 'fine' },
};
const run = (from: Ticket, cmd: TicketCommand) => command(flow, from, cmd, NOW);
const refusal = (from: Ticket, cmd: TicketCommand): IllegalMoveError => {
  try {
    run(from, cmd);
  } catch (error) {
    if (error instanceof IllegalMoveError) return error;
    throw error;
  }
  throw new Error('was not refused');
};

const stopped = { kind: 'stopped', reason: 'paused by me', until: null };
const gateHold = { kind: 'gate', reason: 'ok?', until: null };
const atGate = (fields: Record<string, unknown> = {}) =>
  running('ask', {
    status: 'needs_attention',
    claim: null,
    hold: gateHold,
    phaseHistory: [attempt('ask', 'running')],
    ...fields,
  });

describe('legal commands', () => {
  it.each<[Ticket['status'], string[]]>([
    ['queued', ['pause', 'stop', 'skip']],
    ['ready', ['pause', 'stop', 'skip', 'retry']],
    ['running', ['pause', 'stop', 'skip']],
    ['paused', ['resume', 'skip', 'retry']],
    ['complete', []],
    ['failed', ['retry', 'skip']],
    ['needs_attention', ['retry', 'skip', 'pause']],
  ])('of a %s ticket', (status, legal) => {
    expect(legalCommands(ticket({ status })).sort()).toEqual(legal.sort());
  });

  it('answering is legal at a gate alone', () => {
    expect(legalCommands(atGate())).toContain('respond');
    expect(
      legalCommands(ticket({ status: 'needs_attention', hold: { kind: 'broken', reason: 'r' } })),
    ).not.toContain('respond');
  });

  it.each(TICKET_STATUSES)('everything else is refused, naming them: %s', (status) => {
    const from = ticket({ status, currentPhase: 'a', visits: { a: 1 } });
    const legal = legalCommands(from);
    for (const cmd of Object.values(ALL)) {
      if (legal.includes(cmd.type)) {
        expect(() => run(from, cmd)).not.toThrow();
        continue;
      }
      const error = refusal(from, cmd);
      expect(error).toMatchObject({ code: 'ticket/illegal', details: { legal, status } });
      const is = status === 'needs_attention' ? 'needs attention' : `is ${status}`;
      expect(error.message).toBe(
        cmd.type !== 'respond'
          ? `Cannot ${cmd.type} p/t: it ${is}.`
          : `Cannot respond to p/t: it ${status === 'complete' ? is : 'is at no gate that asks for a decision'}.`,
      );
      expect(error.hint).toBe(
        legal.length > 0 ? `Possible now: ${legal.join(', ')}.` : 'It accepts no more commands.',
      );
    }
  });
});

describe('pause and stop', () => {
  it.each([
    ['pause', 'paused by me'],
    ['stop', 'stopped by me'],
  ] as const)('%s holds the ticket where it is', (type, reason) => {
    const before = running('a', { phaseHistory: [attempt('a', 'running')], hold: null });
    const after = run(before, ALL[type]);
    expect(after).toMatchObject({
      status: 'paused',
      hold: { kind: 'stopped', reason },
      since: NOW,
      claim: CLAIM,
    });
    expect(after.phaseHistory).toBe(before.phaseHistory);
  });

  it('again changes nothing, and is legal only while an attempt is still open', () => {
    const stopping = running('a', {
      status: 'paused',
      hold: stopped,
      phaseHistory: [attempt('a', 'running')],
    });
    expect(run(stopping, ALL.pause)).toBe(stopping);
    expect(run(stopping, ALL.stop)).toBe(stopping);
    expect(refusal({ ...stopping, phaseHistory: [] }, ALL.pause).code).toBe('ticket/illegal');
  });
});

describe('cancel', () => {
  const cancel = { type: 'cancel', by: 'a person' } as const;

  it.each(['queued', 'ready', 'paused', 'failed', 'needs_attention'] as const)(
    'of a %s ticket: it is failed, and retry brings it back',
    (status) => {
      const after = run(ticket({ status, currentPhase: 'a', visits: { a: 1 } }), cancel);
      expect(after).toMatchObject({ status: 'failed', error: 'cancelled by a person', hold: null });
      expect(isCancelled(after)).toBe(true);
      expect(run(after, cancel)).toBe(after);
      const back = run(after, ALL.retry);
      expect(back).toMatchObject({ status: 'ready', currentPhase: 'a', error: null });
      expect(back).not.toHaveProperty('cancelledAt');
    },
  );

  it('closes the attempt of a gate that waits', () => {
    expect(run(atGate(), cancel).phaseHistory.map(({ status }) => status)).toEqual(['interrupted']);
  });

  it('is refused while something runs, and for what is complete', () => {
    expect(refusal(running('a'), cancel).code).toBe('ticket/busy');
    const stopping = { status: 'paused', hold: stopped, phaseHistory: [attempt('a', 'running')] } as const;
    expect(refusal(running('a', stopping), cancel).code).toBe('ticket/busy');
    expect(refusal(ticket({ status: 'complete' }), cancel).message).toBe(
      'Cannot cancel p/t: it is complete.',
    );
  });
});

describe('resume', () => {
  it.each([
    [true, 'ready'],
    [false, 'queued'],
  ])('with blockers complete (%s) the ticket is %s', (ready, status) => {
    const from = running('a', { status: 'paused', hold: stopped, claim: null });
    expect(run(from, { type: 'resume', ready })).toMatchObject({ status, hold: null, currentPhase: 'a' });
  });

  it('waits for the engine that is still stopping the attempt', () => {
    const from = running('a', { status: 'paused', hold: stopped, phaseHistory: [attempt('a', 'running')] });
    expect(refusal(from, ALL.resume)).toMatchObject({
      code: 'ticket/busy',
      hint: 'Pause it first: signalbox pause p t',
      details: { legal: ['pause', 'stop'] },
    });
  });

  it('lets an attempt without an engine be taken over as it is', () => {
    const open = attempt('a', 'running');
    const from = running('a', { status: 'paused', hold: stopped, claim: null, phaseHistory: [open] });
    expect(run(from, ALL.resume)).toMatchObject({ status: 'ready', phaseHistory: [open] });
  });
});

describe('retry', () => {
  it('goes back to the phase that failed, with its counters at zero and a new key', () => {
    const from = ticket({
      status: 'failed',
      currentPhase: 'a',
      error: 'a: broke',
      visits: { a: 1, b: 4 },
      retries: { a: 3 },
      phaseHistory: [attempt('a', 'failure')],
    });
    expect(run(from, ALL.retry)).toMatchObject({
      status: 'ready',
      currentPhase: 'a',
      error: null,
      visits: { a: 1, b: 4 },
      retries: { a: 0 },
    });
    expect(run(from, { type: 'retry', ready: false }).status).toBe('queued');
  });

  it('does not run a terminal again: what led to it is', () => {
    const from = ticket({
      status: 'needs_attention',
      currentPhase: 'help',
      phaseHistory: [attempt('a', 'success'), attempt('b', 'failure'), attempt('ask', 'skipped')],
    });
    expect(run(from, ALL.retry).currentPhase).toBe('b');
  });

  it('begins at the beginning when nothing was tried yet', () => {
    expect(run(ticket({ status: 'needs_attention' }), ALL.retry).currentPhase).toBe('a');
    expect(run(ticket({ status: 'failed', currentPhase: 'x' }), ALL.retry).currentPhase).toBe('a');
  });

  it('ends a hold at once', () => {
    const hold = { kind: 'limit', reason: 'r', until: at(9999) };
    expect(run(running('a', { status: 'ready', claim: null, hold }), ALL.retry).hold).toBeNull();
  });

  it('closes an attempt that only waits', () => {
    const from = running('b', {
      status: 'ready',
      claim: null,
      hold: { kind: 'poll', reason: 'r', until: at(5) },
      phaseHistory: [attempt('b', 'running')],
    });
    expect(history(run(from, ALL.retry))).toEqual(['b#1#1 interrupted']);
    expect(history(run(atGate(), ALL.retry))).toEqual(['ask#1#1 interrupted']);
  });
});

describe('an attempt whose process may still live', () => {
  const open = [attempt('a', 'running')];
  const cases: [string, Ticket][] = [
    ['running', running('a', { phaseHistory: open })],
    [
      'paused while an engine stops it',
      running('a', { status: 'paused', hold: stopped, phaseHistory: open }),
    ],
    [
      'paused without an engine',
      running('a', { status: 'paused', hold: stopped, phaseHistory: open, claim: null }),
    ],
    [
      'left ready by an engine that was stopped',
      running('a', { status: 'ready', phaseHistory: open, claim: null }),
    ],
    [
      'held, but an engine is at it',
      running('a', { status: 'ready', phaseHistory: open, hold: { kind: 'poll', reason: 'r' } }),
    ],
  ];
  it.each(cases)('is not left behind by skip or retry: %s', (_name, from) => {
    for (const cmd of [ALL.skip, ALL.retry]) {
      if (!legalCommands(from).includes(cmd.type)) continue;
      expect(refusal(from, cmd)).toMatchObject({
        code: 'ticket/busy',
        details: { legal: ['pause', 'stop'] },
      });
    }
    expect(legalCommands(from)).toEqual(expect.arrayContaining(['pause', 'stop']));
  });
});

describe('skip', () => {
  it('leaves the phase as skipped and enters the other with its counters at zero', () => {
    const from = running('a', {
      status: 'failed',
      claim: null,
      error: 'e',
      visits: { a: 1, b: 9 },
      retries: { b: 3 },
    });
    const after = run(from, ALL.skip);
    expect(after).toMatchObject({
      status: 'ready',
      currentPhase: 'b',
      error: null,
      visits: { b: 1 },
      retries: { b: 0 },
    });
    expect(history(after)).toEqual(['a#1#1 skipped']);
  });

  it('numbers the skipped attempt after those that were made', () => {
    const phaseHistory = [attempt('a', 'failure'), attempt('a', 'failure', { attempt: 2 })];
    const after = run(running('a', { status: 'failed', claim: null, phaseHistory }), ALL.skip);
    expect(history(after).at(-1)).toBe('a#1#3 skipped');
  });

  it('closes a waiting attempt as skipped', () => {
    expect(history(run(atGate(), ALL.skip))).toEqual(['ask#1#1 skipped']);
  });

  it.each(['queued', 'ready', 'paused', 'failed', 'needs_attention'])(
    'a %s ticket waits if its blockers do',
    (status) => {
      const from = ticket({ status, currentPhase: 'a' });
      expect(run(from, { type: 'skip', phase: 'b', ready: false }).status).toBe('queued');
      expect(run(from, { type: 'skip', phase: 'b', ready: true }).status).toBe('ready');
    },
  );

  it.each([
    ['end', 'complete', null],
    ['help', 'needs_attention', 'help: a person must check it'],
  ])('to the terminal %s ends the ticket', (phase, status, error) => {
    for (const from of [ticket(), atGate(), ticket({ status: 'failed', error: 'old' })]) {
      expect(run(from, { type: 'skip', phase, ready: false })).toMatchObject({ status, error, hold: null });
    }
  });

  it('through phases that were not asked for goes where they lead', () => {
    const more = { currentPhase: 'a', skipPhases: ['b'] };
    const through = workflow(script('a', { onSuccess: 'b' }), script('b', { onSuccess: 'c' }), script('c'));
    const cmd = { type: 'skip', phase: 'b', ready: true } as const;
    expect(command(through, ticket(more), cmd, NOW)).toMatchObject({ status: 'ready', currentPhase: 'c' });
    const last = workflow(script('a', { onSuccess: 'b' }), script('b'));
    for (const status of ['ready', 'failed', 'paused'])
      expect(command(last, ticket({ ...more, status }), cmd, NOW).status).toBe('complete');
  });

  it('to an unknown phase is refused with the phases there are', () => {
    expect(refusal(ticket(), { type: 'skip', phase: 'x', ready: true })).toMatchObject({
      code: 'ticket/phase',
      message: 'Workflow "flow" has no phase "x".',
      details: { legal: ['a', 'b', 'ask', 'end', 'help'] },
    });
  });
});

describe('respond', () => {
  it('takes the edge of the decision and leaves it in the context', () => {
    const after = run(atGate({ context: { kept: 1 } }), {
      type: 'respond',
      decision: 'again',
      message: 'more',
    });
    expect(after).toMatchObject({
      status: 'ready',
      hold: null,
      currentPhase: 'a',
      context: { kept: 1, ask_decision: 'again', ask_message: 'more' },
    });
    expect(after.phaseHistory[0]).toMatchObject({
      status: 'success',
      outcome: 'again',
      output: 'more',
      completedAt: NOW,
    });
  });

  it.each([
    ['yes', 'complete', 'end'],
    ['no', 'needs_attention', 'help'],
    ['failure', 'ready', 'b'],
  ])('%s leads to %s at %s', (decision, status, currentPhase) => {
    expect(run(atGate(), { type: 'respond', decision, message: '' })).toMatchObject({
      status,
      currentPhase,
      hold: null,
    });
  });

  it('respects the bound on visits', () => {
    const after = run(atGate({ visits: { a: 1, ask: 1 } }), {
      type: 'respond',
      decision: 'again',
      message: '',
    });
    expect(after).toMatchObject({ status: 'needs_attention', currentPhase: 'help', hold: null });
    expect(after.error).toContain('Phase "a" was entered 2 times');
  });

  it.each(['maybe', '', 'constructor', '__proto__', 'toString'])(
    'refuses %j and names the decisions',
    (decision) => {
      expect(refusal(atGate(), { type: 'respond', decision, message: '' })).toMatchObject({
        code: 'gate/decision',
        hint: 'Decisions: yes, again, no, failure.',
        details: { legal: ['yes', 'again', 'no', 'failure'] },
      });
    },
  );
});

describe('a process that cannot be seen and may still work in the shared tree', () => {
  const unseen = 'Its process 7 on there cannot be seen from here.';
  const asked = running('a', { status: 'needs_attention', claim: null, unseen });

  it('stays known until a person says by a retry that it has ended', () => {
    const paused = run(asked, ALL.pause);
    expect(paused).toMatchObject({ status: 'paused', unseen });
    const resumed = run(paused, ALL.resume);
    expect(resumed).toMatchObject({ status: 'ready', unseen });
    for (const from of [asked, paused, resumed]) {
      const retried = run(from, ALL.retry);
      expect(retried).toMatchObject({ status: 'ready' });
      expect(retried.unseen).toBeUndefined();
    }
  });

  it.each<TicketCommand>([ALL.skip, { type: 'cancel', by: 'me' }])('refuses to $type', (cmd) => {
    expect(refusal(asked, cmd)).toMatchObject({
      code: 'ticket/unseen',
      message: `Cannot ${cmd.type} p/t: ${unseen}`,
      hint: 'Once that process has ended: signalbox retry p t',
    });
  });
});

describe('a gate that two people answer', () => {
  const by = (who: string, more: object = {}) =>
    ({ type: 'respond', decision: 'yes', message: '', who: { by: who, door: 'web' }, ...more }) as const;
  const key = attemptKey(attempt('ask', 'running'));

  it('tells the second who was first', () => {
    const answered = run(atGate(), by('ada'));
    expect(answered.phaseHistory.at(-1)).toMatchObject({ answeredBy: { by: 'ada', door: 'web' } });
    for (const second of [by('bob'), by('bob', { attempt: key })])
      expect(refusal(answered, second)).toMatchObject({
        code: 'gate/answered',
        message: `Gate "ask" of p/t was already answered: yes by ada (web) at ${NOW}.`,
        details: { decision: 'yes', by: 'ada', door: 'web' },
      });
  });

  it('is not mistaken for the next one', () => {
    const next = atGate({
      phaseHistory: [
        { ...attempt('ask', 'success'), outcome: 'yes', completedAt: NOW, answeredBy: { by: 'ada' } },
        { ...attempt('ask', 'running'), visit: 2 },
      ],
    });
    expect(refusal(next, by('bob', { attempt: key })).message).toContain('already answered: yes by ada at');
    expect(refusal(next, by('bob', { attempt: 'other#1#1' })).message).toBe(
      'Gate "other#1#1" of p/t does not ask any more.',
    );
    expect(run(next, by('bob', { attempt: 'ask#2#1' })).phaseHistory.at(1)?.outcome).toBe('yes');
  });

  it('was answered long ago: then the usual words count', () => {
    const long = { ...attempt('ask', 'success'), outcome: 'yes', completedAt: '2020-01-01T00:00:00.000Z' };
    const from = running('a', { phaseHistory: [{ ...long, answeredBy: { by: 'ada' } }] });
    expect(refusal(from, by('bob'))).toMatchObject({ code: 'ticket/illegal' });
  });
});
