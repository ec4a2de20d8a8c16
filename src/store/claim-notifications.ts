import type { NoticeWish, Wanted } from './store-interface.ts';

/** One line of the record of a plan's notifications. `By` says which process sends. */
export interface NoticeLine<By> {
  place: string;
  at: string;
  /** What happened before this time counts as known at the place. */
  began?: string;
  key?: string;
  state?: 'sending' | 'sent' | 'failed';
  by?: By;
}

/** A sender on another host whose liveness is unknown counts as dead after this time. */
const SENDER_DEAD_AFTER_MS = 10 * 60_000;

/** Decides which of the wanted notifications this process has to send, and what has to be recorded before it does. */
export function claimLines<By>(
  lines: readonly NoticeLine<By>[],
  { places, wanted, start, now }: NoticeWish,
  { by, isAlive }: { by: By; isAlive: (by: By) => boolean | undefined },
): { mine: Wanted[]; fresh: NoticeLine<By>[] } {
  const isNew = (place: string) => !lines.some((line) => line.place === place && line.began !== undefined);
  const begun = places.filter(isNew).map((place): NoticeLine<By> => ({ place, at: now, began: start }));
  const known = [...lines, ...begun];
  const isOpen = (one: Wanted) => {
    const own = known.filter(({ place }) => place === one.place);
    const began = own.find((line) => line.began !== undefined)?.began;
    if (began !== undefined && one.since < began) return false;
    const last = own.findLast(({ key }) => key === one.key);
    if (!last) return true;
    if (last.state !== 'sending' || !last.by) return false;
    const alive = isAlive(last.by);
    return alive === undefined ? Date.parse(now) - Date.parse(last.at) > SENDER_DEAD_AFTER_MS : !alive;
  };
  const mine = wanted.filter(isOpen);
  const sending = mine.map(
    ({ key, place }): NoticeLine<By> => ({ place, key, state: 'sending', by, at: now }),
  );
  return { mine, fresh: [...begun, ...sending] };
}
