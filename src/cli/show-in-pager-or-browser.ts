import { spawn } from 'node:child_process';
import { run } from '../machine/run-process.ts';
import { printable } from '../report/printable-text.ts';
import { exitOf, type Io } from './io.ts';

/** Git's pager; empty if there is none. Agents can write the repository's settings, so only the user's own name it. */
export async function pagerOf(io: Pick<Io, 'env'>): Promise<string> {
  const { GIT_DIR: _, ...env } = io.env;
  const { code, stdout } = await run('git', ['var', 'GIT_PAGER'], { cwd: '/', env });
  const pager = stdout.trim();
  return code !== 0 || pager === 'cat' ? '' : pager;
}

/** Shows lines in git's pager. */
export async function pageLines(io: Io, lines: readonly string[]): Promise<void> {
  const pager = await pagerOf(io);
  if (pager === '') return io.out(lines);
  const [stdin, stdout, stderr] = ['pipe' as const, io.stdout.fd, io.stderr.fd];
  const child = spawn('sh', ['-c', pager], {
    cwd: io.cwd,
    env: { LESS: 'FRX', LV: '-c', ...io.env },
    stdio: [stdin, stdout, stderr],
  });
  // Who leaves the pager early reads no more.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(lines.map((line) => `${printable(line, io.color)}\n`).join(''));
  const missing = 127;
  if ((await exitOf(child)) === missing) io.out(lines);
}

/** Opens an address in the browser of this desktop; false where there is none, such as over ssh. */
export async function openInBrowser({ env, cwd }: Pick<Io, 'env' | 'cwd'>, url: string): Promise<boolean> {
  const isMac = process.platform === 'darwin';
  if (!isMac && !env.DISPLAY && !env.WAYLAND_DISPLAY) return false;
  const { code } = await run(isMac ? 'open' : 'xdg-open', [url], { cwd, env });
  return code === 0;
}
