import axeCore from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { attempt } from '../model/build.ts';
import { it } from '../support/index.ts';
import { fillRichly } from '../web/rich-world.ts';
import { TestSite } from '../web/site.ts';
import { keepPicture, openBrowser, VERSION, visit } from './browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const PAGES = [
  ['board', '/', 'Need you'],
  ['plans', '/plans', 'Sign-in rework'],
  ['plan', '/plans/auth', 'Dependencies'],
  ['plan-days', '/plans/chores', 'Timeline'],
  ['ticket-gate', '/plans/auth/tickets/AUTH-3', 'It asks you'],
  ['ticket-failed', '/plans/auth/tickets/AUTH-2', '2 tests failed'],
  ['ticket-verdict', '/plans/auth/tickets/AUTH-1?attempt=review%231%231', 'Clear, and tested.'],
  ['ticket-diff', '/plans/auth/tickets/AUTH-3?view=diff', 'lifetime.ts'],
  ['ticket-about', '/plans/auth/tickets/AUTH-3?view=about', 'Acceptance criteria'],
  ['ticket-prompt', '/plans/auth/tickets/AUTH-3?attempt=implement%231%231&show=prompt', 'One place creates'],
  ['costs', '/costs', 'Per day'],
  ['costs-plan', '/costs?by=plan&days=7', 'Per plan'],
  ['report', '/report?since=3d', 'Report'],
] as const;

/** What is checked of a page: everything, or what differs in the other theme. */
const CONTRAST = { runOnly: ['color-contrast'] };
const SCREEN = { width: 1280, height: 860 };
const LOOKS = {
  light: { colorScheme: 'light', size: SCREEN, rules: {} },
  dark: { colorScheme: 'dark', size: SCREEN, rules: CONTRAST },
  phone: { colorScheme: 'light', size: { width: 360, height: 740 }, rules: {} },
} as const;
/** On a phone, of pages with the same parts one is checked. */
const CHECKED_ON_PHONE: ReadonlySet<string> = new Set([
  'board',
  'plan',
  'ticket-gate',
  'ticket-diff',
  'costs',
]);

/** Serious findings about accessibility. */
async function findings(page: Page, rules: object): Promise<string[]> {
  return page.evaluate(async (options) => {
    const { axe } = window as unknown as { axe: typeof axeCore };
    const { violations } = await axe.run(document, { resultTypes: ['violations'], ...options });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`.slice(0, 400));
  }, rules);
}

describe('every page', () => {
  it('shows what it is for, in both themes and on a phone, without serious findings of axe', async ({
    world,
  }) => {
    fillRichly(world);
    const site = await TestSite.open(world, { version: VERSION });
    const { page, context, problems } = await visit(browser, site, '/', {
      viewport: SCREEN,
      reducedMotion: 'reduce',
    });
    for (const [name, path, text] of PAGES) {
      await page.goto(`${site.server.url.slice(0, -1)}${path}`);
      await page.getByText(text).first().waitFor();
      await page.locator('.loading').waitFor({ state: 'detached' });
      await page.evaluate(axeCore.source);
      for (const [look, { colorScheme, size, rules }] of Object.entries(LOOKS)) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(size);
        await keepPicture(page, `${name}-${look}`);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow, `${path} ${look}`).toBeLessThanOrEqual(0);
        // A chart is drawn again for a phone, so that its texts can be read.
        await page.waitForFunction(() =>
          [...document.querySelectorAll('.chart .axis')].every(
            (text) => text.getBoundingClientRect().height > 9,
          ),
        );
        if (look === 'phone' && !CHECKED_ON_PHONE.has(name)) continue;
        expect(await findings(page, rules), `${path} ${look}`).toEqual([]);
      }
      await page.setViewportSize(SCREEN);
    }
    expect(problems).toEqual([]);
    await context.close();
    await site.close();
  });

  it('shows usage limits with their end, bars in proportion to costs, and what is empty as empty', async ({
    world,
  }) => {
    fillRichly(world);
    const resetAt = new Date(Date.now() + 2 * 3_600_000).toISOString();
    const limited = attempt('implement', 'limit', { agent: 'pi', resetAt });
    world.plan('limited', { workflow: 'ship', tickets: { a: { phaseHistory: [limited] } } });
    const site = await TestSite.open(world, { version: VERSION });
    const { page, context } = await visit(browser, site);
    await page.getByText(/^Usage limit of pi until .+, in 1 h 59 m/).waitFor();
    await page
      .locator('#done .figures')
      .first()
      .getByText(/^\dh \d+m ago$/)
      .waitFor();
    const open = (path: string) => page.goto(`${site.server.url}${path}`);
    await open('costs?by=plan');
    await page.getByRole('heading', { name: 'Per plan' }).waitFor();
    const wrong = await page.evaluate(() => {
      const rows = [...document.querySelectorAll('.sums')].map((table) =>
        [...table.querySelectorAll('.cost-cell')].map((cell) => ({
          usd: Number(cell.textContent?.replace('$', '')),
          width: cell.querySelector('.cost-bar')?.getBoundingClientRect().width ?? 0,
        })),
      );
      const most = (figures: number[]) => Math.max(...figures);
      return rows.flatMap((all) => {
        const [usd, width] = [most(all.map((each) => each.usd)), most(all.map((each) => each.width))];
        return all.filter((each) => Math.abs(each.width / width - each.usd / usd) > 0.01);
      });
    });
    expect(wrong).toEqual([]);
    await open('plans/auth/tickets/AUTH-3?attempt=review%231%231');
    await page.getByText('Nothing was printed.').waitFor();
    expect(await page.getByText('Beginning', { exact: true }).count()).toBe(0);
    await open('plans/auth/tickets/AUTH-4?view=diff');
    await page.getByText('It has not started. Its changes appear here when it does.').waitFor();
    expect(await page.locator('.problem').count()).toBe(0);
    await context.close();
    await site.close();
  });

  it('has a title, also one that does not exist', async ({ world }) => {
    fillRichly(world);
    const site = await TestSite.open(world, { version: VERSION });
    const { page } = await visit(browser, site, '/nothing/here');
    await page.getByText('There is nothing at this address.').waitFor();
    await page.waitForFunction(() => document.title === '(2) Not found · Signalbox');
    await page.context().close();
    await site.close();
  });
});
