import type { TicketPage } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';

export type Question = NonNullable<TicketPage['gate']>;

/** The same for all attempts of one visit in which a gate asks the same: it asks again after a pause. */
export function questionKey({ key, asks, decisions }: Question): string {
  return JSON.stringify([key.replace(/#\d+$/, ''), asks, decisions]);
}

/** The open question, or the one that was `shown` while the person's draft for it is kept: never another one in its place. */
export function gateToShow(
  { gate: open, attempts }: Pick<TicketPage, 'gate' | 'attempts'>,
  shown: Question | null,
  isKept: boolean,
): Question | null {
  if (!isKept || !shown) return open;
  const wasAnswered = attempts.some(({ key, attempt }) => key === shown.key && attempt.answeredBy);
  const asksAgain = open && !wasAnswered && questionKey(open) === questionKey(shown);
  return asksAgain ? open : shown;
}
