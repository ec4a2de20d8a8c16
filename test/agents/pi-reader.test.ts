import { describe, expect, it } from 'vitest';
import { ENDED, line, readerFor, replay } from './support.ts';

describe('the pi reader', () => {
  const answer = (stopReason: string, more: Record<string, unknown> = {}) =>
    line({ type: 'message_end', message: { role: 'assistant', stopReason, ...more } });

  it.each([
    ['stop', {}, null],
    ['length', {}, 'context'],
    ['aborted', {}, 'protocol'],
    ['toolUse', {}, 'protocol'],
    ['error', { errorMessage: '400 Your credit balance is too low' }, 'billing'],
    ['error', { errorMessage: '503 no' }, 'overloaded'],
    ['error', { errorMessage: 'terminated' }, 'overloaded'],
    ['error', {}, 'crash'],
  ])('an answer that ends by %s, %j, is %s', (stop, more, kind) => {
    expect(replay(readerFor('pi'), [answer(stop, more)], ENDED).result.error?.class ?? null).toBe(kind);
  });

  it('goes on after an answer only with another one', () => {
    const lines = [answer('stop'), line({ type: 'turn_start' })];
    expect(replay(readerFor('pi'), lines, ENDED).result.ok).toBe(false);
    expect(replay(readerFor('pi'), [...lines, answer('stop')], ENDED).result.ok).toBe(true);
  });

  it('believes what its own extension tells of limits and turns', () => {
    const resetAt = '2026-11-15T20:00:00.000Z';
    const limit = line({ type: 'signalbox', limit: { resetAt } });
    const told = replay(readerFor('pi'), [limit, answer('aborted')], ENDED);
    expect(told.events[0]).toMatchObject({ type: 'limit', resetAt, sure: true });
    expect(told.result.error).toMatchObject({ class: 'limit', resetAt, sure: true });
    const refused = replay(readerFor('pi'), [limit, answer('error', { errorMessage: '429 no' })], ENDED);
    expect(refused.result.error).toMatchObject({ class: 'limit', message: '429 no', resetAt, sure: true });
    expect(replay(readerFor('pi'), [limit, answer('stop')], ENDED).result.ok).toBe(true);
    const capped = [line({ type: 'signalbox', turns: 3 }), answer('stop')];
    expect(replay(readerFor('pi'), capped, ENDED).result.error?.class).toBe('turns');
  });
});
