import { homedir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';

export type Env = Readonly<Record<string, string | undefined>>;

/** `~` and `~/x` are the user's home; anything relative is relative to `base`. */
export function expandPath(text: string, base: string, userHome: string): string {
  if (text === '~') return userHome;
  return text.startsWith('~/') ? join(userHome, text.slice(2)) : resolve(base, text);
}

export function userHome(env: Env): string {
  // `homedir` is empty where `HOME` is.
  return env.HOME || homedir() || userInfo().homedir;
}

export function isInside(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? directory : `${directory}/`);
}
