import { expect, it } from 'vitest';
import type { SpecResult } from '../../src/features/spec-runs/spec-result.ts';
import { specSummary } from '../../src/report/spec-text.ts';
import { style } from '../../src/report/style-and-phrases.ts';
import { plan, ticket } from '../model/build.ts';

const unit = (number: number, fields: object) =>
  ticket({ ticketId: String(number), title: `T${number}`, ...fields });
const tickets = [
  unit(1, { status: 'failed', error: 'no tests' }),
  ...Array.from({ length: 12 }, (_, at) => unit(at + 2, { status: 'complete' })),
  ...Array.from({ length: 3 }, (_, at) => unit(at + 14, { status: 'queued' })),
];
const counts = {
  ...{ units: 16, before: 0, complete: 12, partly: 0, openBoxes: 0, failed: 1, halted: 0, blocked: 0 },
  ...{ left: 3, unselected: 0, attempts: 14 },
};
const result = {
  ...{
    plan: plan({ id: 'spec-tea' }),
    tickets,
    counts,
    halted: null,
    changes: '',
    usage: null,
  },
  ...{ unpriced: 0, unchecked: [], branchGone: false, path: null, merge: null, added: [], refused: null },
  ...{ ms: 1000, exitCode: 2 },
} as unknown as SpecResult;

it('the end of a spec folds what is done, and has what needs a person last', () => {
  expect(specSummary(result, style(false), 80)).toEqual([
    '',
    '   unit      status    title  why',
    '✓  12 units  complete         2, 3, 4, 5, 6, 7, 8, 9, …',
    '◌  3 units   queued           14, 15, 16',
    '✗  1         failed    T1     no tests',
    '',
    '12 of 16 units done · 1 failed · 3 to do · 14 attempts in this run · 1.0s',
    'To see why: signalbox logs --failed spec-tea',
    'To retry the failed unit: signalbox resume spec-tea',
    'Details: signalbox status --plan spec-tea',
  ]);
  expect(specSummary(result, style(false))).toHaveLength(23);
  const paused = { ...result, plan: { ...result.plan, status: 'paused' as const } };
  expect(specSummary(paused, style(false))).toContain('Stopped. Continue with: signalbox resume spec-tea');
});
