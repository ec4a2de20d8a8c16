import { describe, expect, it } from 'vitest';
import { inspectState } from '../../src/store/inspect-state-file.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';

function inspect(kind: 'plan' | 'ticket', data: unknown): string[] {
  const text = () => (typeof data === 'string' ? data : JSON.stringify(data));
  const ref = { planId: 'p', ticketId: kind === 'plan' ? null : 't' };
  return inspectState({ text }, ref).map(({ path, message, severity }) => `${severity} ${path}: ${message}`);
}

describe('inspectState', () => {
  it('finds nothing in what is right, and leaves a planner its own fields', () => {
    expect(inspect('plan', { id: 'p', tickets: [{ ticketId: 'a', why: 'notes' }], colour: 'red' })).toEqual(
      [],
    );
    expect(inspect('ticket', { planId: 'p', ticketId: 'a', title: 'A', estimate: 3 })).toEqual([]);
  });

  it('tells every problem with its place', () => {
    const found = inspect('plan', {
      id: 'p',
      concurrency: 0,
      tickets: [{ ticketId: 'a' }, { ticketId: '../b', order: 'first' }],
    });
    expect(found).toHaveLength(3);
    expect(found.join('\n')).toMatch(/error concurrency: /);
    expect(found.join('\n')).toMatch(/error tickets\[1\]\.ticketId: /);
    expect(found.join('\n')).toMatch(/error tickets\[1\]\.order: /);
  });

  it('says what was found, what is allowed and where, as for settings', () => {
    const text =
      '{\n  "id": "p",\n  "status": "actve",\n  "tickets": [{ "ticketId": "a" }, { "ticketId": "b", "order": "first" }]\n}';
    const issues = inspectState({ text: () => text }, { planId: 'p', ticketId: null });
    expect(issues).toEqual([
      {
        path: 'status',
        message:
          'status: found the text "actve"; allowed is draft, active, paused, complete or archived. Did you mean "active"?',
        severity: 'error',
        at: { line: 3, column: 13 },
      },
      {
        path: 'tickets[1].order',
        message: 'tickets[1].order: found the text "first"; allowed is a number.',
        severity: 'error',
        at: { line: 4, column: 64 },
      },
    ]);
    const torn = inspectState({ text: () => '{\n  "id": "p",\n}' }, { planId: 'p', ticketId: null });
    expect(torn).toMatchObject([{ path: null, at: { line: 3, column: 1 } }]);
  });

  it('tells slips in the names of fields', () => {
    const written = {
      id: 'p',
      concurrency: null,
      tickets: [{ ticketId: 'a', blockedBy: [], blockedby: ['b'] }],
    };
    expect(inspect('plan', { ...written, concurency: 3 })).toEqual([
      'warning concurency: There is no field "concurency"; did you mean "concurrency"?',
      'warning tickets[0].blockedby: There is no field "blockedby"; did you mean "blockedBy"?',
    ]);
    expect(inspect('plan', { ...written, concurrency: 2, concurency: 3, tickets: [] })).toEqual([]);
    expect(inspect('plan', { id: 'p', tickets: [{ ticketId: 'a', blockedby: ['b'] }] })).toEqual([
      'warning tickets[0].blockedby: There is no field "blockedby"; did you mean "blockedBy"?',
    ]);
    expect(inspect('ticket', { planId: 'p', ticketId: 'a', title: 'A', acceptance_criteria: ['x'] })).toEqual(
      [
        'warning acceptance_criteria: There is no field "acceptance_criteria"; did you mean "acceptanceCriteria"?',
      ],
    );
  });

  it('tells what is no JSON, empty, or not there', () => {
    expect(inspect('plan', '{')[0]).toMatch(/^error null: not valid JSON \(/);
    expect(inspect('plan', ' ')).toEqual(['error null: the file is empty']);
    expect(inspectState(openStore('/nowhere'), { planId: 'p', ticketId: null })).toMatchObject([
      { message: 'the file is missing' },
    ]);
  });
});
