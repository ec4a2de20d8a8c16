import type { Settings } from '../config/index.ts';
import type { EngineEvent } from '../model/events.ts';
import { FileStore } from '../store/file-store.ts';
import { createWorkspaces } from '../workspaces/index.ts';
import { Holder } from './claims.ts';
import { steadyClock } from './clock.ts';
import { crashPoints } from './crash-points.ts';
import type { Parts } from './parts.ts';

export interface OpenOptions {
  settings: Settings;
  env: Record<string, string | undefined>;
  /** What holds the claims: `run`, `daemon`, `tick`, `session`, or the name of a command. */
  by: string;
  listen?: (event: EngineEvent) => void;
}

/** Puts the parts of an engine together for one process. */
export function openParts({ settings, env, by, listen }: OpenOptions): Parts {
  const store = new FileStore(settings.stateDir);
  const clean = Object.fromEntries(
    Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  return {
    store,
    settings,
    workspaces: createWorkspaces({ env: clean }),
    holder: new Holder(by, store.layout.engines),
    env: withoutOwn(clean),
    now: steadyClock(),
    listen: listen ?? (() => undefined),
    crash: crashPoints(clean),
  };
}

/** A run started from inside a job must not pass that job's identity on. */
function withoutOwn(env: Record<string, string>): Record<string, string> {
  const own = /^SIGNALBOX_(JOB|PLAN|TICKET|PHASE|VISIT|ATTEMPT|WORKTREE|BRANCH|BASE|PROMPT_FILE|CRASH_AT)$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.test(name)));
}
