import type { EngineContext } from '../../engine/context.ts';
import { GhError, type GhFailure } from '../../github/gh/run-gh.ts';
import { BudgetBook, limitEnd } from '../../github/rate-limit.ts';
import { SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { ghOptions } from './context.ts';

/** Why nothing can be done on the forge now, and when to try again. */
interface Trouble {
  reason: string;
  until: string;
}

/** Troubles that pass by themselves. */
const PASSING = new Set<GhFailure>(['network', 'timeout', 'server', 'rate-limited']);
/** What git says when the other side cannot be reached. */
const UNREACHABLE =
  /could not resolve host|name resolution|connection (refused|reset|timed out|closed)|timed out|network is unreachable|no route to host|failed to connect|hung up unexpectedly|early EOF|HTTP 5\d\d|error: 5\d\d/i;
const PAUSE_MS = 60_000;

/** Somebody decided otherwise on the forge, and whoever tries again would only find that again. */
const FOR_GOOD = new Set([
  'forge/closed',
  'forge/nothing',
  'workspace/base-not-pushed',
  'workspace/branch-is-base',
  'workspace/push-deleted',
  'workspace/push-rejected',
]);

export function isForGood(error: unknown): error is SignalboxError {
  return error instanceof SignalboxError && FOR_GOOD.has(error.code);
}

/** What every deed and every look on a forge waits out instead of failing; undefined for what waiting does not mend. */
export async function troubleOf(parts: EngineContext, error: unknown): Promise<Trouble | undefined> {
  const soon = () => new Date(Date.parse(parts.now()) + PAUSE_MS).toISOString();
  if (error instanceof WorkspaceError) {
    const { stderr } = error.details;
    const unreachable = typeof stderr === 'string' && UNREACHABLE.test(stderr);
    return unreachable ? { reason: error.message, until: soon() } : undefined;
  }
  if (!(error instanceof GhError) || !PASSING.has(error.failure)) return undefined;
  if (error.failure !== 'rate-limited') return { reason: error.message, until: soon() };
  const { host } = error.details;
  const where = typeof host === 'string' ? host : 'github.com';
  const until = error.resetAt ?? (await endOfLimit(parts, where)) ?? soon();
  new BudgetBook(parts.machine.githubCache).exhausted(where, until, parts.now());
  return { reason: `GitHub takes no more questions until ${until}`, until };
}

async function endOfLimit(parts: EngineContext, host: string): Promise<string | undefined> {
  try {
    return await limitEnd(host, ghOptions(parts, parts.settings.packageDir));
  } catch (error) {
    // A gh that does not even answer this is asked again in a while.
    if (error instanceof GhError) return undefined;
    throw error;
  }
}
