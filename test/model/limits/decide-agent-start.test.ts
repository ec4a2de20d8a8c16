import { describe, expect, it } from 'vitest';
import {
  type AdmissionInput,
  admit,
  limitsByAccount,
  mayFallBack,
} from '../../../src/model/limits/decide-agent-start.ts';
import { reduce } from '../../../src/model/state/reduce.ts';
import type { PhaseOf } from '../../../src/model/workflow.ts';
import { at, attempt, NOW, phaseIn, plan, running, ticket, workflow } from '../build.ts';

const phase = (more: Record<string, unknown> = {}) =>
  phaseIn(workflow({ id: 'build', type: 'agent', prompt: 'x', ...more }), 'build') as PhaseOf<'agent'>;

const met = (agent: string, until: number, more: Record<string, unknown> = {}) =>
  attempt('build', 'limit', {
    agent,
    startedAt: at(-20),
    completedAt: at(-10),
    resetAt: at(until),
    error: { class: 'limit', message: `${agent} resets later` },
    ...more,
  });

const limited = (...phaseHistory: ReturnType<typeof attempt>[]) => [
  ticket({ ticketId: 'other', phaseHistory }),
];

function ask(more: Partial<AdmissionInput> = {}) {
  return admit({
    plan: plan(),
    ticket: ticket(),
    phase: phase(),
    agent: 'claude',
    agents: {
      claude: { fallback: 'codex' },
      codex: { fallback: 'claude' },
      work: { account: 'claude' },
      alone: {},
    },
    suits: () => true,
    tickets: [],
    budgets: { phase: {}, ticket: {}, plan: {}, day: {}, unknown: 'allow' },
    crowded: () => null,
    now: NOW,
    ...more,
  });
}

const held = (kind: string, until: string | null) => ({ hold: { kind, reason: expect.any(String), until } });

describe('an account’s limit', () => {
  it('has one text for the ticket that met it and for those that wait for it', () => {
    const flow = workflow({ id: 'build', type: 'agent', prompt: 'x' });
    const open = attempt('build', 'running', { agent: 'alone', completedAt: null });
    const end = { type: 'parked', kind: 'limit', until: at(60), reason: 'limit reached' } as const;
    const parked = reduce(flow, running('build', { phaseHistory: [open] }), { type: 'end', end }, NOW);
    expect(parked.hold?.reason).toBe('alone: limit reached');
    expect(ask({ agent: 'alone', tickets: [parked] })).toEqual({ hold: parked.hold });
  });

  it.each<[string, Partial<AdmissionInput>, unknown]>([
    [
      'keeps every ticket of the agent waiting for the same reset',
      { agent: 'alone', tickets: limited(met('alone', 60)) },
      held('limit', at(60)),
    ],
    [
      'is of no concern to others',
      { agent: 'alone', tickets: limited(met('codex', 60)) },
      { agent: 'alone' },
    ],
    [
      'is shared by agents with one account',
      { agent: 'work', tickets: limited(met('claude', 60)) },
      held('limit', at(60)),
    ],
    ['is over at its reset', { agent: 'alone', tickets: limited(met('alone', 0)) }, { agent: 'alone' }],
    [
      'the latest reset counts',
      { agent: 'alone', tickets: limited(met('alone', 90), met('alone', 60)) },
      held('limit', at(90)),
    ],
    [
      'is over when an attempt got through since',
      {
        agent: 'alone',
        tickets: limited(
          met('alone', 60),
          attempt('build', 'success', { agent: 'alone', startedAt: at(-5) }),
        ),
      },
      { agent: 'alone' },
    ],
    [
      'is not over because of what had begun before',
      {
        agent: 'alone',
        tickets: limited(
          met('alone', 60),
          attempt('build', 'success', { agent: 'alone', startedAt: at(-15) }),
        ),
      },
      held('limit', at(60)),
    ],
    [
      'of the future was met before the clock jumped back',
      {
        agent: 'alone',
        tickets: limited(met('alone', 9000, { completedAt: at(8000) })),
      },
      { agent: 'alone' },
    ],
    [
      'does not stop whom a person told to try',
      {
        agent: 'alone',
        tickets: limited(met('alone', 60)),
        ticket: ticket({ goAhead: at(-1) }),
      },
      { agent: 'alone' },
    ],
    [
      'that was met after that does',
      {
        agent: 'alone',
        tickets: limited(met('alone', 60)),
        ticket: ticket({ goAhead: at(-11) }),
      },
      held('limit', at(60)),
    ],
    ['lets the fallback work', { tickets: limited(met('claude', 60)) }, { agent: 'codex' }],
    [
      'of both waits for the first to end',
      { tickets: limited(met('claude', 60), met('codex', 30)) },
      held('limit', at(30)),
    ],
    [
      'is waited for when the fallback cannot do the phase',
      { tickets: limited(met('claude', 60)), suits: () => false },
      held('limit', at(60)),
    ],
    [
      'is waited for by a phase that names its agent',
      { phase: phase({ agent: 'claude' }), tickets: limited(met('claude', 60)) },
      held('limit', at(60)),
    ],
  ])('%s', (_, more, answer) => {
    expect(ask(more)).toEqual(answer);
  });
});

it.each<[Record<string, unknown>, boolean]>([
  [{}, true],
  [{ fallback: false }, false],
  [{ agent: 'claude' }, false],
  [{ agent: 'claude', fallback: true }, true],
  [{ model: 'opus' }, false],
  [{ session: 'continue' }, false],
  [{ session: 'keep' }, false],
  [{ session: 'continue', fallback: true }, true],
])('a phase with %j lets another agent take over: %s', (more, may) => {
  expect(mayFallBack(phase(more))).toBe(may);
});

describe('before every start', () => {
  it('money is asked for first, then the limit, then memory', () => {
    const budgets = { phase: {}, ticket: { launches: 0 }, plan: {}, day: {}, unknown: 'allow' } as const;
    const crowded = () => 'no room';
    const tickets = limited(met('alone', 60));
    const all = { agent: 'alone', budgets, crowded, tickets };
    expect(ask(all)).toEqual(held('budget', null));
    expect(ask({ ...all, ticket: ticket({ budget: { launches: 1 } }) })).toEqual(held('limit', at(60)));
    expect(ask({ agent: 'alone', crowded })).toEqual({
      hold: { kind: 'memory', reason: 'no room', until: null },
    });
  });

  it('memory is asked for the agent that would start', () => {
    const asked: string[] = [];
    ask({
      tickets: limited(met('claude', 60)),
      crowded: (agent) => {
        asked.push(agent);
        return null;
      },
    });
    expect(asked).toEqual(['codex']);
  });

  it('answers the same with a memory for many tickets', () => {
    const limits = new Map();
    const asked = { agent: 'alone', tickets: limited(met('alone', 60)), limits };
    expect(ask(asked)).toEqual(ask(asked));
    expect(limits.size).toBe(1);
  });
});

describe('limits of all accounts', () => {
  const accountOf = (agent: string) => (agent.startsWith('claude') ? 'team' : agent);
  const limits = (...history: Parameters<typeof limited>) =>
    limitsByAccount({ tickets: limited(...history), accountOf, now: NOW });

  it('has each account once, with its latest reset, the first to end first', () => {
    expect(limits(met('claude', 60), met('claude-fast', 90), met('codex', 30))).toEqual([
      { account: 'codex', until: at(30), reason: 'codex resets later', by: 'p/other' },
      { account: 'team', until: at(90), reason: 'claude-fast resets later', by: 'p/other' },
    ]);
  });

  it('has no limit that is over, and none that a later answer has ended', () => {
    const answered = attempt('build', 'success', { agent: 'codex', startedAt: at(-5), completedAt: at(-1) });
    expect(limits(met('claude', -1))).toEqual([]);
    expect(limits(met('codex', 60), answered)).toEqual([]);
  });
});
