import type { BoardRow } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { at } from './api.ts';
import { notifications } from './preferences.ts';
import { go } from './route.ts';

/** Whether this browser can show notifications at this address. */
export const canNotify = 'Notification' in globalThis && isSecureContext;

/** Asks the browser for permission, which needs a click. */
export async function turnOnNotifications(): Promise<void> {
  notifications.value = (await Notification.requestPermission()) === 'granted' ? 'on' : 'off';
}

/** Shows that a ticket needs a person. All tabs do it, and the browser shows those with one tag once. */
export function notifyOf(row: BoardRow, tag: string): void {
  if (!canNotify || notifications.value !== 'on' || Notification.permission !== 'granted') return;
  if (document.visibilityState === 'visible' && document.hasFocus()) return;
  const shown = new Notification(`${row.ticketId}: ${row.title}`, {
    body: row.why,
    tag,
    icon: '/icon-need.svg',
  });
  shown.onclick = () => {
    focus();
    go(at('plans', row.planId, 'tickets', row.ticketId));
    shown.close();
  };
}
