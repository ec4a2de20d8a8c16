import type { IncomingMessage, ServerResponse } from 'node:http';
import { jsonText } from '../model/extra-fields.ts';
import type { LiveBoard } from './live-board.ts';
import type { News } from './numbered-board-changes.ts';

/** Keeps proxies from closing the connection, finds readers that are gone, and shows the others that this server does not hang. */
const BEAT_MS = 5_000;
/** A reader that takes nothing for this long is cut off. Its browser connects again. */
const MAX_STALL_MS = 60_000;
/** How soon a browser connects again. */
const RETRY_MS = 1_000;

/**
 * Sends a reader what changes. Nothing is queued for it: what it does not have yet is worked out when its connection takes more, so
 * a slow reader skips states in between, and one that was away for too long begins again.
 */
export function streamChanges(
  board: LiveBoard,
  request: IncomingMessage,
  response: ServerResponse,
  { lastId, headers, onEnd }: { lastId: string | undefined; headers: Record<string, string>; onEnd(): void },
): () => void {
  let id = lastId;
  let isReady = true;
  let stall: NodeJS.Timeout | undefined;
  const write = (text: string) => {
    isReady = response.write(text);
    if (!isReady) stall ??= setTimeout(() => request.socket.destroy(), MAX_STALL_MS).unref();
  };
  const send = (event: string, sent: string | undefined, data: string) =>
    write(`event: ${event}\n${sent === undefined ? '' : `id: ${sent}\n`}data: ${data}\n\n`);
  const snapshot = () => {
    const { id: now, board: all } = board.feed.snapshot(new Date().toISOString());
    id = now;
    send('snapshot', now, jsonText(all));
  };
  const sendBeat = () => send('beat', undefined, JSON.stringify({ readAt: board.oldSince }));
  /** True if there was something to send. */
  const sendNews = () => {
    const news = id === undefined ? undefined : board.feed.since(id);
    if (typeof news === 'string') send('reset', undefined, JSON.stringify({ reason: news }));
    if (news === undefined || typeof news === 'string') {
      snapshot();
      return true;
    }
    if (news.id === id) return false;
    id = news.id;
    send('change', news.id, changeText(news));
    return true;
  };
  // Unknown at first: a reader that comes back and has missed nothing gets a beat, and knows that it is connected.
  let wasOld: boolean | undefined;
  const update = () => {
    if (!isReady) return;
    const hasSent = sendNews();
    const isOld = board.oldSince !== null;
    // A reader takes every change for current unless a beat says that the state cannot be read.
    if (isOld !== wasOld || (isOld && hasSent)) sendBeat();
    wasOld = isOld;
  };
  const unfollow = board.follow(update);
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.write(`retry: ${RETRY_MS}\n\n`);
  const beat = setInterval(() => isReady && sendBeat(), BEAT_MS).unref();
  response.on('drain', () => {
    isReady = true;
    clearTimeout(stall);
    stall = undefined;
    update();
  });
  response.on('close', () => {
    clearInterval(beat);
    clearTimeout(stall);
    unfollow();
    onEnd();
  });
  update();
  return () => response.end();
}

function changeText({ head, plans, rows, gone, events }: News): string {
  const fields = jsonText({
    at: new Date().toISOString(),
    ...(head ? { head } : {}),
    plans,
    rows,
    gone,
  });
  return `${fields.slice(0, -1)},"events":[${events.join(',')}]}`;
}
