import type { Settings } from '../config/settings.ts';
import { SpecFiles } from '../features/spec-runs/state-files.ts';
import { Machine } from '../machine/machine.ts';
import type { EngineEvent } from '../model/events.ts';
import { openStore } from '../store/open.ts';
import { createWorkspaces } from '../workspaces/index.ts';
import { steadyClock } from './clock.ts';
import type { EngineContext } from './context.ts';
import { crashPoints } from './crash-points.ts';
import { redactorOf } from './secrets.ts';

export interface OpenOptions {
  settings: Settings;
  env: Record<string, string | undefined>;
  /** What holds the claims: `run`, `daemon`, `tick`, `session`, or the name of a command. */
  by: string;
  listen?: (event: EngineEvent) => void;
  bell?: (() => void) | undefined;
}

/** Puts the parts of an engine together for one process. */
export function openEngine({ settings, env, by, listen, bell }: OpenOptions): EngineContext {
  const store = openStore(settings.stateDir);
  const machine = new Machine(settings.stateDir);
  const clean = Object.fromEntries(
    Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const walls = Object.values(settings.agents).some(({ sandbox }) => sandbox === 'bwrap');
  const parts: EngineContext = {
    store,
    machine,
    settings,
    workspaces: createWorkspaces({ env: clean, memory: machine.repositories, walls }),
    holder: store.holder(by),
    redact: redactorOf(settings, clean),
    env: withoutOwn(clean),
    job: clean.SIGNALBOX_JOB,
    now: steadyClock(),
    bell,
    listen: () => undefined,
    crash: crashPoints(clean),
  };
  const files = new SpecFiles(parts);
  parts.flush = (planId) => files.flush(planId);
  parts.listen = (event) => {
    files.listen(event);
    listen?.(event);
  };
  return parts;
}

/** A run started from inside a job must not pass that job's identity on, and no agent needs our keys. */
function withoutOwn(env: Record<string, string>): Record<string, string> {
  const own =
    /^SIGNALBOX_(JOB|PLAN|TICKET|PHASE|VISIT|ATTEMPT|WORKTREE|BRANCH|BASE|PROMPT_FILE|CRASH_AT|NOTIFY_WEBHOOK)$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.test(name)));
}
