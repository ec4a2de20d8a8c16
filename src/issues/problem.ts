import { messageOf, SignalboxError } from '../model/errors.ts';
import type { SourceProblem } from './item.ts';

export function problemOf(reference: string, error: SignalboxError): SourceProblem {
  const { resetAt } = error.details;
  return {
    reference,
    message: messageOf(error),
    hint: error.hint,
    code: error.code,
    ...(typeof resetAt === 'string' ? { resetAt } : {}),
  };
}

/** Failures as data: only errors that were made for people are taken, anything else is a bug and goes up. */
export async function orError<T, E>(
  work: () => Promise<T>,
  otherwise: (error: SignalboxError) => E,
): Promise<T | E> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SignalboxError) return otherwise(error);
    throw error;
  }
}
