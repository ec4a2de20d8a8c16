import type { EngineContext } from '../../engine/context.ts';
import { GhError, type GhFailure } from '../../github/gh/run-gh.ts';
import { RateLimitFile, rateLimitReset } from '../../github/remember-rate-limit.ts';
import { ignoring, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { ghOptions } from './ticket-on-github.ts';

/** Failures of gh that are temporary. */
const TEMPORARY_FAILURES = new Set<GhFailure>(['network', 'timeout', 'server', 'rate-limited']);
/** What git prints when the other side cannot be reached. */
const UNREACHABLE =
  /could not resolve host|name resolution|connection (refused|reset|timed out|closed)|timed out|network is unreachable|no route to host|failed to connect|hung up unexpectedly|early EOF|HTTP 5\d\d|error: 5\d\d/i;
const PAUSE_MS = 60_000;

/** Why nothing can be done on GitHub now, and when to try again; undefined for errors that waiting does not fix. */
export async function temporaryTroubleOf(
  engine: EngineContext,
  error: unknown,
): Promise<{ reason: string; until: string } | undefined> {
  const soon = () => new Date(Date.parse(engine.now()) + PAUSE_MS).toISOString();
  if (error instanceof WorkspaceError) {
    const { stderr } = error.details;
    const unreachable = typeof stderr === 'string' && UNREACHABLE.test(stderr);
    return unreachable ? { reason: error.message, until: soon() } : undefined;
  }
  if (!(error instanceof GhError) || !TEMPORARY_FAILURES.has(error.failure)) return undefined;
  if (error.failure !== 'rate-limited') return { reason: error.message, until: soon() };
  const { host } = error.details;
  const where = typeof host === 'string' ? host : 'github.com';
  const options = ghOptions(engine, engine.settings.packageDir);
  // A gh that cannot answer this either is asked again after the pause.
  const end = error.resetAt ?? (await ignoring(GhError, () => rateLimitReset(where, options)));
  const until = end ?? soon();
  new RateLimitFile(engine.machine.githubCache).exhausted(where, until, engine.now());
  return { reason: `GitHub accepts no more requests until ${until}: rate limit`, until };
}

/** Errors after a decision of people on GitHub: a retry would end the same way. */
const FINAL_REFUSALS = new Set([
  'forge/closed',
  'forge/nothing',
  'workspace/base-not-pushed',
  'workspace/branch-is-base',
  'workspace/push-deleted',
  'workspace/push-rejected',
]);

export function isFinalRefusal(error: unknown): error is SignalboxError {
  return error instanceof SignalboxError && FINAL_REFUSALS.has(error.code);
}
