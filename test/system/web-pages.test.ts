import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
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
  ['ticket-gate', '/plans/auth/tickets/AUTH-3', 'It asks you'],
  ['ticket-failed', '/plans/auth/tickets/AUTH-2', '2 tests failed'],
  ['ticket-diff', '/plans/auth/tickets/AUTH-3?view=diff', 'lifetime.ts'],
  ['ticket-about', '/plans/auth/tickets/AUTH-3?view=about', 'Acceptance criteria'],
  ['ticket-prompt', '/plans/auth/tickets/AUTH-3?attempt=implement%231%231&show=prompt', 'One place creates'],
  ['costs', '/costs', 'Per day'],
  ['costs-plan', '/costs?by=plan&days=7', 'Per plan'],
  ['report', '/report?since=3d', 'Report'],
] as const;

describe('every page', () => {
  it('shows what it is for, in both themes and on a phone', async ({ world }) => {
    fillRichly(world);
    const site = await TestSite.open(world, { version: VERSION });
    for (const [look, options] of Object.entries({
      light: { colorScheme: 'light', viewport: { width: 1280, height: 860 } },
      dark: { colorScheme: 'dark', viewport: { width: 1280, height: 860 } },
      phone: { colorScheme: 'light', viewport: { width: 360, height: 740 }, hasTouch: true },
    } as const)) {
      const { page, context, problems } = await visit(browser, site, '/', options);
      for (const [name, path, text] of PAGES) {
        await page.goto(`${site.server.url.slice(0, -1)}${path}`);
        await page.getByText(text).first().waitFor();
        await keepPicture(page, `${name}-${look}`);
      }
      expect(problems).toEqual([]);
      await context.close();
    }
    await site.close();
  });
});
