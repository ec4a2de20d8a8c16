import type { Settings } from '../config/settings.ts';
import type { EngineContext } from '../engine/context.ts';
import { harmless, progressFeed } from '../features/issue-runs/callbacks.ts';
import type { RunLogWriter } from '../features/issue-runs/logs/run-log.ts';
import type { Env } from '../machine/environment.ts';
import { messageOf } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { openEngine } from './open-engine.ts';
import type { OrchestratorConfig } from './run-types.ts';

export interface Opened {
  parts: EngineContext;
  /** Numbers of issues, by the id of their ticket. */
  numbers: Map<string, number | null>;
  log: RunLogWriter | null;
  /** Seconds since it was opened. */
  seconds(): number;
  /** Writes the log, if there is one. A log that cannot be written is reported once and given up; the work continues. */
  write(how: (log: RunLogWriter) => void, planId: string): void;
}

type Listeners = Pick<OrchestratorConfig, 'onEvent' | 'onProgress' | 'signal'>;

/** Opens the engine and sends every event to the stream, the callbacks and the log. */
export function openRun(
  { settings, env }: { settings: Settings; env: Env },
  { onEvent, onProgress, signal }: Listeners,
  events: EventStream<EngineEvent>,
): Opened {
  const began = performance.now();
  const numbers = new Map<string, number | null>();
  const feed = onProgress && progressFeed(onProgress, (id) => numbers.get(id) ?? null);
  const problem = (planId: string, message: string): EngineEvent => ({
    type: 'problem',
    planId,
    ticketId: null,
    path: null,
    message,
  });
  const listen = (event: EngineEvent) => {
    events.push(event);
    feed?.(event);
    if (event.type === 'attempt:end' || event.type === 'ticket:status')
      opened.write((log) => (signal?.aborted ? log.finish({ aborted: true }) : log.update()), event.planId);
    if (onEvent)
      harmless(onEvent, (error) => events.push(problem(event.planId, `onEvent: ${messageOf(error)}`)))(event);
  };
  const opened: Opened = {
    parts: openEngine({ settings, env, by: 'run', listen }),
    numbers,
    log: null,
    seconds: () => (performance.now() - began) / 1000,
    write: (how, planId) => {
      try {
        if (opened.log) how(opened.log);
      } catch (error) {
        opened.log = null;
        listen(problem(planId, `The log of the run cannot be written any more: ${messageOf(error)}`));
      }
    },
  };
  return opened;
}

/** Values pushed by one side and read by the other with `for await`. Nothing is lost; it ends when closed. */
export class EventStream<T> implements AsyncIterable<T> {
  readonly #values: T[] = [];
  #closed = false;
  #wake: () => void = () => undefined;

  push(value: T): void {
    if (this.#closed) return;
    this.#values.push(value);
    this.#wake();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (let read = 0; ; ) {
      while (read < this.#values.length) yield this.#values[read++] as T;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
