import type { Settings } from '../config/settings.ts';
import type { Machine } from '../machine/machine.ts';
import { messageOf, SignalboxError } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { TRANSIENT } from '../model/events.ts';
import { type Redact, redactAll } from '../model/text/redact.ts';
import type { Holder, Store } from '../store/port.ts';
import type { Workspaces } from '../workspaces/index.ts';
import type { Crash } from './crash-points.ts';

/** What the engine is made of; given from outside, so that nothing below reads the process's own. */
export interface EngineContext {
  store: Store;
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
    const stored = { ...event, v: 1, at: parts.now() } as const;
    parts.store.append(event.planId, stored).catch((error: unknown) =>
      parts.listen({
        type: 'problem',
        planId: event.planId,
        ticketId: null,
        path: null,
        message: `an event was not stored: ${messageOf(error)}`,
      }),
    );
  }
  parts.listen(event);
}
