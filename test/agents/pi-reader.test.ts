import { describe, expect, it } from 'vitest';
import { ENDED, FAILED, line, readerFor, replay } from './support.ts';

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
    ['error', { errorMessage: 'see 503' }, 'crash'],
    ['error', { errorMessage: '5030 no' }, 'crash'],
    ['error', {}, 'crash'],
  ])('an answer that ends by %s, %j, is %s', (stop, more, kind) => {
    expect(replay(readerFor('pi'), [answer(stop, more)], ENDED).result.error?.class ?? null).toBe(kind);
  });

  it('fails with an exit code of its own, or says that there was no message', () => {
    expect(replay(readerFor('pi'), [answer('stop')], FAILED).result.ok).toBe(false);
    const { error } = replay(readerFor('pi'), [answer('error')], ENDED).result;
    expect(error?.message).toBe('pi reported an error without a message.');
  });

  it('tells of every text and of what was used, and of nothing where there is no text', () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'b' },
    ];
    const events = readerFor('pi').line(answer('stop', { content, usage: { input: 5 } }));
    expect(events).toMatchObject([
      { type: 'text', text: 'a\nb' },
      { type: 'usage', usage: { inputTokens: 5 } },
    ]);
    expect(readerFor('pi').line(answer('stop'))).toEqual([]);
  });

  it('warns when it tries again', () => {
    const retry = (more: object) => readerFor('pi').line(line({ type: 'auto_retry_start', ...more }));
    expect(retry({ errorMessage: '503 no' })).toEqual([
      { type: 'warning', message: 'The provider answered: 503 no; pi tries again.' },
    ]);
    expect(retry({})).toEqual([
      { type: 'warning', message: 'The provider answered: an error; pi tries again.' },
    ]);
  });

  it('does not even parse the events that repeat messages', () => {
    for (const type of ['message_update', 'turn_end', 'agent_end'])
      expect(readerFor('pi').line(`{"type":"${type}","type":"session","id":"s"}`)).toEqual([]);
    expect(readerFor('pi').line('{"type":"session","id":"s","last":{"type":"turn_end"}}')).toHaveLength(1);
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
    const message = 'The usage limit is reached.';
    expect(told.events).toEqual([{ type: 'limit', resetAt, sure: true, message }]);
    expect(readerFor('pi').line(line({ type: 'signalbox', limit: {} }))).toEqual([
      { type: 'limit', resetAt: null, sure: false, message: 'The usage limit is reached.' },
    ]);
    const overloaded = replay(readerFor('pi'), [limit, answer('error', { errorMessage: '503 no' })], ENDED);
    expect(overloaded.result.error).toEqual({ class: 'overloaded', message: '503 no' });
    const got = replay(readerFor('pi'), [limit, answer('stop'), answer('aborted')], ENDED);
    expect(got.result.error?.class).toBe('protocol');
    expect(told.result.error).toMatchObject({ class: 'limit', resetAt, sure: true });
    const refused = replay(readerFor('pi'), [limit, answer('error', { errorMessage: '429 no' })], ENDED);
    expect(refused.result.error).toMatchObject({ class: 'limit', message: '429 no', resetAt, sure: true });
    expect(replay(readerFor('pi'), [limit, answer('stop')], ENDED).result.ok).toBe(true);
    const capped = [line({ type: 'signalbox', turns: 3 }), answer('stop')];
    expect(replay(readerFor('pi'), capped, ENDED).result.error?.class).toBe('turns');
  });
});
