import { SignalboxError } from '../../model/errors.ts';

export type GhFailure =
  | 'missing'
  | 'auth'
  | 'not-found'
  | 'forbidden'
  | 'rate-limited'
  | 'network'
  | 'timeout'
  | 'server'
  | 'unknown';

interface GhErrorOptions {
  hint?: string | undefined;
  /** When a rate limit ends (ISO time). */
  resetAt?: string | undefined;
  details?: Record<string, unknown>;
  cause?: unknown;
}

/** A call of the GitHub CLI that gave no answer; `code` is `gh/<failure>`. */
export class GhError extends SignalboxError {
  readonly failure: GhFailure;
  readonly resetAt: string | null;

  constructor(failure: GhFailure, message: string, options: GhErrorOptions = {}) {
    const { resetAt, details, ...rest } = options;
    super(`gh/${failure}`, message, { ...rest, details: { ...details, ...(resetAt ? { resetAt } : {}) } });
    this.failure = failure;
    this.resetAt = resetAt ?? null;
  }
}
