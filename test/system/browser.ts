import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { within } from '../support/within.ts';
import type { TestSite } from '../web/site.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
);
/** A name that an attacker points at this machine. */
export const REBOUND = 'rebound.test';
const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--in-process-gpu'],
  `--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`,
];

/** The version of the page that was built; another one would ask to be loaded again. */
export const { version: VERSION } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

/** Debian's Chromium. */
export async function openBrowser(): Promise<Browser> {
  if (!CHROMIUM) throw new Error('Chromium is missing. On Debian: apt-get install chromium');
  return chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGS });
}

/** A browser window of its own, signed in, and everything that went wrong in it. */
export async function visit(
  browser: Browser,
  site: Pick<TestSite, 'server' | 'token'>,
  path = '/',
  options: BrowserContextOptions = {},
): Promise<{ page: Page; context: BrowserContext; problems: string[] }> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(within(30_000));
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  const sign = path.includes('?') ? '&' : '?';
  await page.goto(`${site.server.url.replace(/\/$/, '')}${path}${sign}token=${site.token}`);
  return { page, context, problems };
}

/** Keeps a picture of the page where PAGE_PICTURES says, for people to look at. */
export async function keepPicture(page: Page, name: string, fullPage = false): Promise<void> {
  const dir = process.env.PAGE_PICTURES;
  if (!dir) return;
  mkdirSync(dir, { recursive: true });
  await page.screenshot({ path: join(dir, `${name}.png`), fullPage });
}
