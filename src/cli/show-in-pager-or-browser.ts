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

const OPENER = process.platform === 'darwin' ? 'open' : 'xdg-open';

/** Whether this is a desktop. Over ssh, a browser of text might take the terminal. */
export function hasDesktop({ env }: Pick<Io, 'env'>): boolean {
  return OPENER === 'open' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

/**
 * Opens an address or a file in a browser. Returns why that failed. The browser may be a child of the program that opens it, which
 * then may run for as long as the browser: it is not stopped, and after a while it is taken to have opened one.
 */
export function openInBrowser(
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
  address: string,
  waitMs = 5000,
): Promise<string | undefined> {
  const child = spawn(OPENER, [address], { cwd, env, detached: true, stdio: 'ignore' });
  child.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), waitMs);
    const end = (why?: string) => {
      clearTimeout(timer);
      resolve(why);
    };
    const failed = `No browser could be opened by ${OPENER}`;
    child.once('error', ({ message }) => end(`${failed} (${message}).`));
    child.once('exit', (code) => end(code === 0 ? undefined : `${failed}.`));
  });
}
