import { run } from '../machine/run-process.ts';
import type { Io } from './io.ts';

/** Opens an address in the browser of this desktop; false where there is none, such as over ssh. */
export async function openInBrowser({ env, cwd }: Pick<Io, 'env' | 'cwd'>, url: string): Promise<boolean> {
  const isMac = process.platform === 'darwin';
  if (!isMac && !env.DISPLAY && !env.WAYLAND_DISPLAY) return false;
  const { code } = await run(isMac ? 'open' : 'xdg-open', [url], { cwd, env });
  return code === 0;
}
