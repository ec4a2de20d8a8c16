import { describe, expect, it } from 'vitest';
import { refKey } from '../../../src/model/ids-and-branch-names.ts';
import { planProblems } from '../../../src/model/plans/dependency-and-branch-problems.ts';
import { plan, ticket } from '../build.ts';

function problemsOf(tickets: Record<string, Record<string, unknown>>, more: Record<string, unknown> = {}) {
  const whole = plan({
    repo: '/r',
    tickets: Object.keys(tickets).map((ticketId) => ({ ticketId })),
    ...more,
  });
  const all = Object.entries(tickets).map(([ticketId, fields]) => ticket({ ticketId, ...fields }));
  const known = { plans: [whole], tickets: new Map(all.map((each) => [refKey(each), each])) };
  return planProblems(whole, known).map(({ ticketId, message }) => `${ticketId}: ${message}`);
}

describe('planProblems', () => {
  it('refuses two tickets on one branch or in one worktree', () => {
    expect(problemsOf({ a: { branch: 'x' }, b: { branch: 'x' } })).toEqual([
      'b: Ticket "b" has the same branch as "a": x.',
    ]);
    expect(problemsOf({ a: {}, b: { branch: 'ticket/p/a' } })).toEqual([
      'b: Ticket "b" has the same branch as "a": ticket/p/a.',
    ]);
    expect(problemsOf({ a: { worktree: '/w' }, b: { worktree: '/w' } })).toEqual([
      'b: Ticket "b" has the same worktree as "a": /w.',
    ]);
  });

  it('refuses a branch below the branch of another ticket', () => {
    expect(problemsOf({ a: { branch: 'x/y/z' }, b: { branch: 'x' }, c: { branch: 'x-y' } })).toEqual([
      'a: Ticket "a" has the branch x/y/z, which git cannot have beside x of "b".',
    ]);
    expect(problemsOf({ a: {}, b: { branch: 'ticket/p' } })).toEqual([
      'a: Ticket "a" has the branch ticket/p/a, which git cannot have beside ticket/p of "b".',
    ]);
    expect(problemsOf({ a: { branch: 'x/y' }, b: { branch: 'x', repo: '/other' } })).toEqual([]);
  });

  it('takes the same branch of another repository for another one', () => {
    expect(problemsOf({ a: { branch: 'x' }, b: { branch: 'x', repo: '/other' } })).toEqual([]);
  });

  it('leaves plans alone whose tickets share a tree', () => {
    const shared = { a: { branch: 'x' }, b: { branch: 'x' } };
    expect(problemsOf(shared, { workspace: 'shared' })).toEqual([]);
  });

  it('knows what dependencies have to say', () => {
    const tickets = [{ ticketId: 'a', blockedBy: ['a'] }];
    expect(problemsOf({ a: {} }, { tickets })).toEqual(['a: Tickets wait for each other: a → a.']);
  });
});
