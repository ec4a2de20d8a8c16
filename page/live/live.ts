import { computed, signal } from '@preact/signals';
import type { Change, Session } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { get } from './api.ts';
import { type BoardState, fromSnapshot, keyOf, newlyAsking, withChange } from './board-state.ts';
import { type Link, LiveSource, type News } from './live-source.ts';
import { notifyOf } from './notifications.ts';

declare const __VERSION__: string;

export const session = signal<Session | null>(null);
export const board = signal<BoardState | null>(null);
export const link = signal<Link>({ kind: 'connecting' });
/** The latest stored events that came while the page was open. */
export const latest = signal<Change['events']>([]);
/** Moves once a second while the page can be seen. */
export const now = signal(Date.now());
/** The server was updated while the page was open. */
export const isOldPage = computed(() => session.value !== null && session.value.version !== __VERSION__);
/** Whether decisions can be made now. */
export const canAct = computed(() => link.value.kind === 'live' && session.value?.readOnly === false);
export const needYou = computed(() => board.value?.head.counts['need you'] ?? 0);

let again = () => location.reload();

/** Follows the board: over the worker of all tabs, or over a connection of this tab while it can be seen. */
export async function follow(): Promise<void> {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1_000);
  document.addEventListener('visibilitychange', () => {
    now.value = Date.now();
  });
  try {
    session.value = await get<Session>('/session');
  } catch (error) {
    if ((error as { status?: number }).status === 401) link.value = { kind: 'ended' };
    else link.value = { kind: 'lost', since: Date.now(), isServed: false };
    if (link.value.kind === 'ended') return;
  }
  const source = typeof SharedWorker === 'undefined' ? ownSource() : sharedSource();
  again = () => source.again();
}

/** Connects at once, instead of when it is due. */
export function connectAgain(): void {
  again();
}

/** A worker says at once what it knows. A tab whose worker is silent for so long connects by itself until it speaks. */
const SILENT_WORKER_MS = 5_000;

function sharedSource(): { again(): void } {
  const worker = new SharedWorker(workerAddress(), { name: `signalbox ${__VERSION__}` });
  let own: ReturnType<typeof ownSource> | undefined;
  const connectAlone = () => {
    own ??= ownSource();
  };
  const silent = setTimeout(connectAlone, SILENT_WORKER_MS);
  worker.onerror = connectAlone;
  worker.port.onmessage = ({ data }: MessageEvent<News>) => {
    clearTimeout(silent);
    own?.close();
    own = undefined;
    take(data);
  };
  worker.port.start();
  addEventListener('pagehide', () => worker.port.postMessage('leave'));
  // A page that comes back from the browser's cache has left the worker.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) location.reload();
  });
  return { again: () => (own ? own.again() : worker.port.postMessage('again')) };
}

/** The policy of the page takes no address for a script but this one. */
function workerAddress(): string {
  const { trustedTypes } = globalThis as {
    trustedTypes?: {
      createPolicy(name: string, rules: object): { createScriptURL(url: string): string };
    };
  };
  const policy = trustedTypes?.createPolicy('signalbox', { createScriptURL: () => '/live.js' });
  return policy?.createScriptURL('') ?? '/live.js';
}

function ownSource(): { again(): void; close(): void } {
  const source = new LiveSource(take);
  const update = () => (document.hidden ? source.close() : source.open());
  document.addEventListener('visibilitychange', update);
  update();
  return {
    again: () => source.open(),
    close: () => {
      document.removeEventListener('visibilitychange', update);
      source.close();
    },
  };
}

function take(news: News): void {
  if ('link' in news) {
    const isBack = news.link.kind === 'live' && link.value.kind !== 'live';
    link.value = news.link;
    if (isBack) void askWho();
    return;
  }
  const before = board.value;
  const after = 'snapshot' in news ? fromSnapshot(news.snapshot) : before && withChange(before, news.change);
  if (!after) return;
  board.value = after;
  if ('change' in news && news.change.events.length > 0) latest.value = news.change.events;
  for (const row of newlyAsking(before, after)) notifyOf(row, keyOf(row));
}

/** The server may be another one now: of another version, or read-only. */
async function askWho(): Promise<void> {
  try {
    session.value = await get<Session>('/session');
  } catch {
    // The stream finds out why, and says so.
    link.value = { ...link.value };
  }
}
