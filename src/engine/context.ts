import type { Settings } from '../config/settings.ts';
import type { Machine } from '../machine/machine.ts';
import { SignalboxError } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { TRANSIENT } from '../model/events.ts';
import { type Redact, redactAll } from '../model/text/redact.ts';
import type { Holder } from '../store/claims.ts';
import type { FileStore } from '../store/file-store.ts';
import type { Workspaces } from '../workspaces/index.ts';
import type { Crash } from './crash-points.ts';

/** What the engine is made of; given from outside, so that nothing below reads the process's own. */
export interface EngineContext {
  store: FileStore;
  settings: Settings;
  workspaces: Workspaces;
  holder: Holder;
  machine: Machine;
  /** Takes secrets out of what is kept or shown. */
  redact: Redact;
  env: Record<string, string>;
  /** The job that this process belongs to, if it is one of an engine's: what it starts on the way ends with it. */
  job?: string | undefined;
  now(): string;
  /** Rings where somebody can hear it; not there without a terminal. */
  bell?: (() => void) | undefined;
  /** Every event, in order. Must not throw. */
  listen(event: EngineEvent): void;
  /** Resolves when the files that show runs of specs are up to date; with a plan, that plan's are written now. */
  flush?(planId?: string): Promise<void>;
  crash: Crash;
}

/** The state cannot be written: going on would be going blind. Anything else concerns one ticket or plan only. */
export function isFatal(error: unknown): boolean {
  return error instanceof SignalboxError && error.code === 'state/storage';
}

/** Keeps an event and shows it. Losing one must never stop the work, so a full disk is ignored here; state writes report it. */
export function emit(parts: EngineContext, told: EngineEvent): void {
  const event = redactAll(told, parts.redact);
  if (!TRANSIENT.has(event.type)) {
    try {
      parts.store.append(event.planId, { ...event, v: 1, at: parts.now() });
    } catch (error) {
      parts.listen({
        type: 'problem',
        planId: event.planId,
        ticketId: null,
        path: null,
        message: `an event was not stored: ${(error as Error).message}`,
      });
    }
  }
  parts.listen(event);
}
