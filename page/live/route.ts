import { computed, signal } from '@preact/signals';
import { routeOf } from './route-of.ts';

/** Where the page is. */
export const address = signal(here());

function here(): { path: string; query: URLSearchParams; hash: string } {
  return { path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash };
}

export const route = computed(() => routeOf(address.value.path));

/** Goes to another address of the page, without loading it again. */
export function go(to: string, { replace = false } = {}): void {
  const before = address.value.path;
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  address.value = here();
  const { hash } = address.value;
  if (hash) showPart(hash);
  else if (address.value.path !== before) scrollTo(0, 0);
}

const SHOW_PART_MS = 3_000;
const OF_PERSON = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;
let stopShowing = (): void => undefined;

/** Scrolls to a part of the page, and again while what it needs is loaded, until the person does something. */
function showPart(hash: string): void {
  stopShowing();
  const show = () => document.getElementById(hash.slice(1))?.scrollIntoView({ behavior: 'instant' });
  const drawn = new MutationObserver(show);
  drawn.observe(document.body, { childList: true, subtree: true });
  const timer = setTimeout(() => stopShowing(), SHOW_PART_MS);
  stopShowing = () => {
    drawn.disconnect();
    clearTimeout(timer);
    for (const name of OF_PERSON) removeEventListener(name, stopShowing);
  };
  for (const name of OF_PERSON) addEventListener(name, stopShowing, { passive: true });
  show();
}

/** Sets or clears a part of the query of this address. */
export function setQuery(values: Record<string, string | null>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  go(query.size > 0 ? `${location.pathname}?${query}` : location.pathname, { replace: true });
}

/** Links of the page change the address only; links to elsewhere and clicks with a modifier are the browser's. */
export function followLinks(): void {
  if (location.hash) showPart(location.hash);
  addEventListener('popstate', () => {
    address.value = here();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const anchor = (event.target as Element).closest('a');
    if (!anchor || anchor.target || anchor.origin !== location.origin) return;
    const isHere = anchor.pathname === location.pathname && anchor.search === location.search;
    if (isHere && anchor.hash) return;
    event.preventDefault();
    go(`${anchor.pathname}${anchor.search}${anchor.hash}`);
  });
}
