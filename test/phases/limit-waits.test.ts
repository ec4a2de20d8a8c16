import { expect, it } from 'vitest';
import { holdUntilLimitResets } from '../../src/phases/judge-agent-attempt.ts';
import type { PhaseContext } from '../../src/phases/phase-context.ts';
import { at, attempt, NOW, ticket } from '../model/build.ts';

it.each([
  [0, null, 300],
  [1, null, 600],
  [9, null, 3600],
  [0, 20, 20],
  [1, 20, 20],
  [3, -5, 8],
])(
  'after %i usage limits in a row, one that names the wait %j is waited for %i s',
  (before, named, seconds) => {
    const history = [attempt('a', 'success'), ...Array.from({ length: before }, () => attempt('a', 'limit'))];
    const context = {
      ticket: ticket({ phaseHistory: [...history, attempt('a', 'running')] }),
      now: () => NOW,
    };
    const resetAt = named === null ? null : at(named);
    const limit = { class: 'limit', message: 'Later.', resetAt } as const;
    const end = holdUntilLimitResets(context as unknown as PhaseContext, limit, {
      sessionId: 's',
      usage: null,
      output: '',
    });
    expect(end).toMatchObject({ type: 'parked', kind: 'limit', until: at(seconds), reason: 'Later.' });
  },
);
