import { effect, type Signal, signal } from '@preact/signals';

// Kept in this browser only.

function kept(name: string, initial: string): Signal<string> {
  const key = `signalbox.${name}`;
  const value = signal(localStorage.getItem(key) ?? initial);
  effect(() => localStorage.setItem(key, value.value));
  return value;
}

/** The name that decisions are recorded with. */
export const person = kept('person', '');
/** `auto`, `light` or `dark`. */
export const theme = kept('theme', 'auto');
/** Whether the browser shows notifications: `on` or `off`. */
export const notifications = kept('notifications', 'off');

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});
