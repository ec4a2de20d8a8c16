import { describe, expect, it } from 'vitest';
import {
  needsVerification,
  notMerged,
  sayNotMerged,
  verdictOf,
  verdictWithReservation,
  whyNotMerged,
} from '../../src/model/verdict-criteria-and-missing-checks.ts';
import { attempt, ticket } from './build.ts';

const went = (phase: string, outcome = 'success') => attempt(phase, 'success', { outcome });
const GAP = { criterion: 'Looks right', met: false, evidence: '' };
const judged = (
  verdict: string,
  phases: [string, string?][] = [['exec'], ['qa', verdict]],
  more: object = {},
) =>
  ticket({
    phaseHistory: phases.map(([phase, outcome]) => went(phase, outcome)),
    context: { qa_verdict: verdict, qa_summary: 'Looked.', qa_criteria: [], ...more },
  });

describe('a verdict', () => {
  it.each([
    ['nothing of the best', judged('READY_FOR_MERGE'), ''],
    ['the summary', judged('AC_MET_BUT_NOT_A_PLUS'), 'AC_MET_BUT_NOT_A_PLUS: Looked.'],
    [
      'the gaps before the summary',
      judged('NEEDS_VERIFICATION', undefined, { qa_criteria: [GAP] }),
      'NEEDS_VERIFICATION: not met or not verified: Looks right',
    ],
    ['nothing of work that was done since', judged('NEEDS_VERIFICATION', [['qa'], ['exec']]), ''],
    ['what an earlier run found', judged('NEEDS_VERIFICATION', []), 'NEEDS_VERIFICATION: Looked.'],
    ['nothing where there is none', ticket({}), ''],
  ])('says %s', (_name, of, wanted) => expect(verdictWithReservation(of)).toBe(wanted));

  it('is known whatever it is', () => {
    expect(verdictOf(judged('READY_FOR_MERGE'))).toEqual({
      verdict: 'READY_FOR_MERGE',
      summary: 'Looked.',
      gaps: [],
    });
  });

  const QA: [string, string] = ['qa', 'NEEDS_VERIFICATION'];
  const approved = { qa_gate_decision: 'approve' };
  it.each([
    [true, 'nobody has looked', judged('NEEDS_VERIFICATION')],
    [false, 'it is content', judged('AC_MET_BUT_NOT_A_PLUS')],
    [false, 'a person approved', judged('NEEDS_VERIFICATION', [QA, ['qa_gate', 'approve']])],
    [true, 'a person rejected', judged('NEEDS_VERIFICATION', [QA, ['qa_gate', 'reject']])],
    [
      true,
      'the approval is older',
      judged('NEEDS_VERIFICATION', [['qa_gate', 'approve'], ['exec'], QA], approved),
    ],
    [true, 'the approval is of an earlier run', judged('NEEDS_VERIFICATION', [['exec'], QA], approved)],
    [false, 'all was in an earlier run', judged('NEEDS_VERIFICATION', [], approved)],
    [
      false,
      'a person approved what an earlier run judged',
      judged('NEEDS_VERIFICATION', [['qa_gate', 'approve']]),
    ],
  ])('needs verification: %s, because %s', (wanted, _name, of) => expect(needsVerification(of)).toBe(wanted));

  it('that kept work from being merged is found again in what was printed', () => {
    const said = sayNotMerged('the verdict is X', ['one', 'two']);
    expect(said).toBe('Not merged: the verdict is X. Once it is verified: one && two');
    expect(notMerged(`before\n${said}\nafter`)).toBe(said);
    expect(notMerged('main is now at 123.')).toBeUndefined();
    expect(notMerged(null)).toBeUndefined();
    expect(whyNotMerged(said)).toBe('Not merged: the verdict is X.');
  });
});
