import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { NO_CHECKS } from '../../src/model/verdict-criteria-and-missing-checks.ts';
import { replaceToken } from '../../src/web/token-and-sessions.ts';
import { it, type World, waitFor } from '../support/index.ts';
import { within } from '../support/within.ts';
import { fillRichly, HTML, TRANSCRIPT } from '../web/rich-world.ts';
import { TestSite } from '../web/site.ts';
import { openBrowser, REBOUND, VERSION, visit } from './browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

async function rich(world: World, options: Parameters<typeof TestSite.open>[1] = {}): Promise<TestSite> {
  fillRichly(world);
  return TestSite.open(world, { version: VERSION, ...options });
}

const confirm = async (page: Page, name: string) => {
  await page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
};

describe('decisions', () => {
  it('are made with the keyboard alone, and shown without a reload', async ({ world }) => {
    const site = await rich(world);
    const { page, problems } = await visit(browser, site);
    await page.locator('.connection.is-live').waitFor();
    await page.evaluate(() => Object.assign(window, { isTheSame: true }));
    expect(await page.title()).toBe('(2) Board · Signalbox');
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toBe('/icon-need.svg');
    await page.getByRole('button', { name: 'Retry', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Retry auth AUTH-2?' }).waitFor();
    await page.keyboard.press('Escape');
    expect(world.ticket('auth', 'AUTH-2').status).toBe('failed');
    await page.getByRole('button', { name: 'Retry', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.locator('#waiting [data-key="auth/AUTH-2"]').waitFor();
    expect(world.ticket('auth', 'AUTH-2').status).toBe('ready');
    await page.waitForFunction(() => document.title === '(1) Board · Signalbox');
    // Another door changes something, and the page shows it.
    expect((await world.cli('pause', 'auth', 'AUTH-4')).code).toBe(0);
    await page.locator('[data-key="auth/AUTH-4"].is-paused').waitFor();
    expect(await page.evaluate(() => 'isTheSame' in window)).toBe(true);
    expect(problems).toEqual([]);
    await page.context().close();
    await site.close();
  });

  it('about a ticket and a plan do what the command does', async ({ world }) => {
    const site = await rich(world);
    const { page } = await visit(browser, site, '/plans/auth/tickets/AUTH-4');
    const press = async (name: string) => {
      await page.locator('.page-head').getByRole('button', { name, exact: true }).click();
      await confirm(page, name);
    };
    await press('Pause');
    await waitFor('the pause', () => world.ticket('auth', 'AUTH-4').status === 'paused');
    await press('Resume');
    await waitFor('the end of it', () => world.ticket('auth', 'AUTH-4').status === 'queued');
    await press('Stop');
    await waitFor('the stop', () => world.ticket('auth', 'AUTH-4').status === 'paused');
    await page.locator('.page-head').getByRole('button', { name: 'Continue at…' }).click();
    await page.getByRole('dialog').getByRole('combobox').selectOption('review');
    await confirm(page, 'Continue');
    await waitFor('the phase', () => world.ticket('auth', 'AUTH-4').currentPhase === 'review');
    await press('Cancel');
    await waitFor('the end', () => world.ticket('auth', 'AUTH-4').cancelledAt !== undefined);
    await page.goto(`${site.server.url}plans/auth/tickets/AUTH-2`);
    await page.getByRole('button', { name: 'Retry from checks' }).click();
    await confirm(page, 'Retry from checks');
    await waitFor('the retry', () => world.ticket('auth', 'AUTH-2').status !== 'failed');
    await page.goto(`${site.server.url}plans/draft`);
    await press('Approve');
    await waitFor('the approval', () => world.readPlan('draft').status === 'active');
    await press('Pause');
    await waitFor('the pause of the plan', () => world.readPlan('draft').status === 'paused');
    await press('Resume');
    await waitFor('the end of it', () => world.readPlan('draft').status === 'active');
    await press('Cancel');
    await waitFor('the end of the plan', () => world.readPlan('draft').status === 'archived');
    // An answer for which the page waits is not given up when something changes meanwhile.
    const cut: string[] = [];
    page.on('requestfailed', (request) => cut.push(request.url()));
    const isCounted = () => page.waitForFunction(() => document.title.startsWith('('));
    await page.route('**/api/v1/plans/auth', (route) => isCounted().then(() => route.continue()), {
      times: 1,
    });
    await page.goto(`${site.server.url}plans/auth`);
    await page.getByRole('heading', { name: 'Dependencies' }).waitFor();
    expect(cut.filter((url) => url.endsWith('/plans/auth'))).toEqual([]);
    await page.context().close();
    await site.close();
  });

  it('are made on a phone with one thumb: the question is first, and its diff one tap away', async ({
    world,
  }) => {
    const site = await rich(world);
    const { page, problems } = await visit(browser, site, '/', {
      viewport: { width: 360, height: 740 },
      hasTouch: true,
      isMobile: true,
    });
    const first = page.locator('#need-you .row').first();
    await first.waitFor();
    expect(await first.getAttribute('data-key')).toBe('auth/AUTH-3');
    const isInView = (await first.boundingBox().then((box) => box?.y ?? 9999)) < 400;
    expect(isInView).toBe(true);
    await first.getByRole('link', { name: 'Answer' }).tap();
    await page.getByText('Ship it?').first().waitFor();
    const message = page.getByLabel('Message for the agent (optional)');
    await message.fill('Smaller, please.');
    await page.evaluate(() => Object.assign(window, { isSame: true }));
    await page.getByRole('link', { name: 'See what it changed' }).tap();
    const showsDiff = (on: Page) => async () => {
      const box = await on.getByText('src/session/lifetime.ts').first().boundingBox();
      return box !== null && box.y > 0 && box.y < 740 - 58 - 40;
    };
    await waitFor('the diff on the screen', showsDiff(page));
    // The page was not loaded again.
    expect(await page.evaluate(() => (window as unknown as { isSame?: true }).isSame)).toBe(true);
    expect(await message.inputValue()).toBe('Smaller, please.');
    const direct = await page.context().newPage();
    await direct.goto(page.url());
    await waitFor('the diff on the screen', showsDiff(direct));
    await direct.close();
    // A reload, as phones do it by themselves, loses nothing.
    await page.reload();
    await message.waitFor();
    expect(await message.inputValue()).toBe('Smaller, please.');
    const answer = page.getByRole('button', { name: 'needs changes' });
    await answer.scrollIntoViewIfNeeded();
    for (const name of ['approve', 'reject', 'needs changes']) {
      const box = await page.getByRole('button', { name, exact: true }).boundingBox();
      expect(box?.height, name).toBeGreaterThanOrEqual(44);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await answer.tap();
    await page.locator('#gate').waitFor({ state: 'detached' });
    const { phaseHistory } = world.ticket('auth', 'AUTH-3');
    const answered = phaseHistory.find(({ phase }) => phase === 'approve');
    expect(answered).toMatchObject({ outcome: 'needs_changes', output: 'Smaller, please.' });
    expect(problems).toEqual([]);
    await page.context().close();
    await site.close();
  });

  it('are asked for by desktop notifications, where a person wants them and does not look', async ({
    world,
  }) => {
    const site = await rich(world);
    const { page } = await visit(browser, site);
    await page.addInitScript(() => {
      const shown: string[] = [];
      class Recorded {
        static permission = 'granted';
        static requestPermission = async () => 'granted';
        constructor(title: string, { body, tag }: { body: string; tag: string }) {
          shown.push([title, body, tag].join(' | '));
        }
      }
      Object.assign(window, { Notification: Recorded, shown });
      document.hasFocus = () => false;
    });
    await page.reload();
    await page.locator('.connection.is-live').waitFor();
    const shown = () => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
    const fail = (error: string) => {
      const ticket = world.ticket('search', 'S-4');
      world.writeTicket('search', 'S-4', { ...ticket, status: 'failed', error });
    };
    fail('nothing was committed');
    await page.locator('#need-you [data-key="search/S-4"]').waitFor();
    expect(await shown()).toEqual([]);
    world.writeTicket('search', 'S-4', { ...world.ticket('search', 'S-4'), status: 'queued', error: null });
    await page.locator('#waiting [data-key="search/S-4"]').waitFor();
    await page.getByLabel('Settings').click();
    await page.getByLabel('Desktop notifications when a ticket needs you').check();
    fail('it broke');
    await page.locator('#need-you [data-key="search/S-4"]').waitFor();
    await waitFor('a notification', async () => (await shown()).length > 0);
    expect(await shown()).toEqual(['S-4: Synonyms | it broke | search/S-4']);
    await page.context().close();
    await site.close();
  });

  it('of two people about one gate: the second sees who was first', async ({ world }) => {
    const site = await rich(world);
    const path = '/plans/auth/tickets/AUTH-3';
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true };
    const called = (value: string) => ({
      storageState: {
        cookies: [],
        origins: [{ origin: `http://${site.host}`, localStorage: [{ name: 'signalbox.person', value }] }],
      },
    });
    // A third person is typing, and a fourth only reads.
    const [ada, bob, cy, dan] = await Promise.all([
      visit(browser, site, path, { ...phone, ...called('Ada') }),
      visit(browser, site, path, called('Bob')),
      visit(browser, site, path),
      visit(browser, site, path),
    ]);
    for (const { page } of [ada, bob, cy, dan])
      await page.getByRole('heading', { name: 'It asks you' }).waitFor();
    await cy.page.getByLabel('Message for the agent').fill('Please rename it.');
    // Bob's page does not hear of the answer before he presses.
    await bob.context.route('**/api/v1/plans/**', (route) =>
      route.request().method() === 'GET' ? route.abort() : route.continue(),
    );
    await ada.page.getByRole('link', { name: 'See what it changed' }).tap();
    await ada.page.getByRole('region', { name: 'Changes of src/session/store.ts' }).waitFor();
    await ada.page.getByLabel('Message for the agent').fill('Looks right.');
    await ada.page.getByRole('button', { name: 'approve' }).tap();
    await waitFor('the answer', () => world.ticket('auth', 'AUTH-3').currentPhase === 'merge');
    await bob.page.getByRole('button', { name: 'reject' }).click();
    const first = /^Gate "approve" of auth\/AUTH-3 was already answered: approve by Ada \(web\) at /;
    expect(await bob.page.locator('.gate .problem').textContent()).toMatch(first);
    // The message stays after his page has heard of it.
    await bob.context.unroute('**/api/v1/plans/**');
    world.writeTicket('auth', 'AUTH-3', { ...world.ticket('auth', 'AUTH-3'), title: 'Sessions again' });
    for (const { page } of [bob, cy]) {
      await page.getByRole('heading', { name: 'Your answer was not sent' }).waitFor();
      expect(await page.locator('.gate .problem').textContent()).toMatch(first);
    }
    const typed = cy.page.getByLabel('Your message');
    expect(await typed.inputValue()).toBe('Please rename it.');
    expect(await typed.isEditable()).toBe(false);
    await cy.page.getByRole('button', { name: 'Close' }).click();
    await cy.page.locator('#gate').waitFor({ state: 'detached' });
    expect(await dan.page.locator('#gate').count()).toBe(0);
    const answered = world.ticket('auth', 'AUTH-3').phaseHistory.find(({ phase }) => phase === 'approve');
    expect(answered).toMatchObject({ outcome: 'approve', answeredBy: { by: 'Ada', door: 'web' } });
    for (const { context } of [ada, bob, cy, dan]) await context.close();
    await site.close();
  });

  it('keep their draft while the gate is paused, and are sent when it asks again', async ({ world }) => {
    const site = await rich(world);
    const { page } = await visit(browser, site, '/plans/auth/tickets/AUTH-3');
    await page.getByLabel('Message for the agent').fill('Looks right.');
    const { phaseHistory, ...asking } = world.ticket('auth', 'AUTH-3');
    expect((await world.cli('pause', 'auth', 'AUTH-3')).code).toBe(0);
    await page.getByRole('heading', { name: 'Your answer was not sent' }).waitFor();
    const open = phaseHistory.at(-1);
    const paused = world.ticket('auth', 'AUTH-3');
    const attempt = (open?.attempt ?? 0) + 1;
    world.writeTicket('auth', 'AUTH-3', {
      ...asking,
      phaseHistory: [...paused.phaseHistory, { ...open, attempt }],
    });
    await page.getByRole('heading', { name: 'It asks you' }).waitFor();
    expect(await page.getByLabel('Message for the agent').inputValue()).toBe('Looks right.');
    await page.getByRole('button', { name: 'approve' }).click();
    await waitFor('the answer', () => world.ticket('auth', 'AUTH-3').currentPhase === 'merge');
    const answered = world.ticket('auth', 'AUTH-3').phaseHistory.find((each) => each.answeredBy);
    expect(answered).toMatchObject({ outcome: 'approve', attempt, output: 'Looks right.' });
    await page.context().close();
    await site.close();
  });

  it('cannot be made on a page that is read-only', async ({ world }) => {
    const site = await rich(world, { readOnly: true });
    const { page } = await visit(browser, site, '/plans/auth/tickets/AUTH-3');
    await page.getByText('read-only', { exact: true }).waitFor();
    for (const name of ['approve', 'Retry', 'Cancel'])
      expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true);
    await page.context().close();
    await site.close();
  });
});

describe('a person', () => {
  it('filters the board, copies a command, and chooses a theme and a name that is recorded', async ({
    world,
  }) => {
    const site = await rich(world);
    const { page, context } = await visit(browser, site, '/', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.locator('#waiting .row').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('typos synonyms');
    await page.waitForFunction(() => document.querySelectorAll('main .row').length === 1);
    expect(new URL(page.url()).searchParams.get('q')).toBe('typos synonyms');
    await page.goto(`${site.server.url}plans/draft`);
    await page.getByRole('button', { name: 'Copy: signalbox plan check draft' }).click();
    await page.getByText('copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('signalbox plan check draft');
    await page.getByLabel('Settings').click();
    await page.getByLabel('dark').check();
    await page.getByLabel('Your name').fill('Grace');
    await page.reload();
    const colour = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
    expect(await colour()).toBe('dark');
    await page.locator('.page-head').getByRole('button', { name: 'Approve' }).click();
    await confirm(page, 'Approve');
    expect(world.events('draft').at(-1)).toMatchObject({ type: 'plan:status', by: 'Grace', door: 'web' });
    await context.close();
    await site.close();
  });
});

describe('a connection', () => {
  it('that is lost is said with its time, stops decisions, and is found again', async ({ world }) => {
    const site = await rich(world);
    const { page } = await visit(browser, site);
    await page.locator('.connection.is-live').waitFor();
    const { port } = site.server;
    await site.close();
    await page.getByText('No connection: this is from').waitFor();
    expect(await page.getByRole('button', { name: 'Retry', exact: true }).isDisabled()).toBe(true);
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toBe('/icon-old.svg');
    await world.cli('pause', 'auth', 'AUTH-6');
    await page.getByRole('link', { name: 'AUTH-5' }).click();
    await page.getByText('The server of this page cannot be reached.').waitFor();
    const again = await TestSite.open(world, { version: VERSION, port });
    await page.getByRole('region', { name: 'Transcript' }).getByText('✓ 12 passed').waitFor();
    await page.goBack();
    await page.locator('[data-key="auth/AUTH-6"].is-paused').waitFor();
    expect(await page.getByText('No connection').count()).toBe(0);
    await page.context().close();
    await again.close();
  });

  it('to a server that hangs is not called live for longer than 13 seconds', async ({ world }) => {
    const site = await rich(world);
    const { page } = await visit(browser, site);
    // The clock of the page does not move in a worker.
    await page.addInitScript(() => Object.assign(window, { SharedWorker: undefined }));
    await page.clock.install();
    await page.goto(site.server.url);
    await page.locator('.connection.is-live').waitFor();
    await page.route('**/api/v1/live*', () => undefined);
    await page.clock.fastForward(13_000);
    await page.getByText('No connection: this is from').waitFor({ timeout: within(5_000) });
    expect(await page.getByRole('button', { name: 'Retry', exact: true }).isDisabled()).toBe(true);
    await page.context().close();
    await site.close();
  });

  it('to a server that cannot read its state is said with its time, also in a new tab', async ({ world }) => {
    const site = await rich(world);
    const { page, context } = await visit(browser, site);
    await page.locator('.connection.is-live').waitFor();
    const [plans, away] = [join(world.stateDir, 'plans'), join(world.stateDir, 'away')];
    renameSync(plans, away);
    const second = await context.newPage();
    await second.goto(site.server.url);
    for (const each of [page, second]) {
      await each.getByText('The server cannot read the state: this is from').waitFor();
      expect(await each.getByRole('button', { name: 'Retry', exact: true }).isDisabled()).toBe(true);
    }
    renameSync(away, plans);
    for (const each of [page, second]) await each.locator('.connection.is-live').waitFor();
    await context.close();
    await site.close();
  });

  it('that breaks off in the middle of an answer is said, and breaks nothing', async ({ world }) => {
    const site = await rich(world);
    const { page, problems } = await visit(browser, site);
    await page.route('**/diff', (route) =>
      route.fulfill({ contentType: 'application/json', body: '{"text": "diff --gi' }),
    );
    await page.goto(`${site.server.url}plans/auth/tickets/AUTH-3?view=diff`);
    await page.getByText('The server of this page cannot be reached.').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
    await site.close();
  });

  it('is made by the tab itself where the worker that tabs share does not start', async ({ world }) => {
    const site = await rich(world);
    const { page } = await visit(browser, site);
    await page.addInitScript(() => {
      const silent = { port: { start: () => undefined, postMessage: () => undefined } };
      Object.assign(window, {
        SharedWorker: function SharedWorker() {
          return silent;
        },
      });
    });
    await page.clock.install();
    await page.goto(site.server.url);
    await page.locator('.connection').waitFor();
    await page.clock.fastForward(5_000);
    await page.locator('.connection.is-live').waitFor();
    await page.context().close();
    await site.close();
  });

  it('is one for ten tabs, and all of them stay live', async ({ world }) => {
    const site = await rich(world);
    const { page, context } = await visit(browser, site);
    const others = Array.from({ length: 9 }, async () => {
      const tab = await context.newPage();
      await tab.goto(site.server.url, { waitUntil: 'commit' });
      return tab;
    });
    const tabs = [page, ...(await Promise.all(others))];
    await Promise.all(tabs.map((tab) => tab.locator('.connection.is-live').waitFor()));
    await world.cli('pause', 'auth', 'AUTH-6');
    await Promise.all(tabs.map((tab) => tab.locator('[data-key="auth/AUTH-6"].is-paused').waitFor()));
    const connections = await new Promise<number>((resolve) =>
      site.server.connections((count) => resolve(count)),
    );
    expect(connections).toBeLessThanOrEqual(7);
    await context.close();
    await site.close();
  });
});

describe('checks that found nothing to run', () => {
  it('are not marked as passed, and say why', async ({ world }) => {
    const site = await rich(world);
    const ticket = world.ticket('auth', 'AUTH-1');
    const phaseHistory = ticket.phaseHistory.map((each) =>
      each.phase === 'checks' ? { ...each, output: NO_CHECKS } : each,
    );
    world.writeTicket('auth', 'AUTH-1', { ...ticket, phaseHistory });
    const path = '/plans/auth/tickets/AUTH-1?attempt=checks%231%231';
    const { page, context } = await visit(browser, site, path);
    await page.locator('.attempt header').getByText(NO_CHECKS).waitFor();
    expect(await page.getByRole('img', { name: 'had nothing to check' }).count()).toBe(3);
    // In the timeline, too, where a question is not something that runs either.
    await page.goto(`${site.server.url}plans/auth`);
    for (const name of ['AUTH-1: checks, visit 1: unchecked', 'AUTH-3: approve, visit 1: needs attention'])
      await page.getByRole('link', { name }).waitFor();
    await context.close();
    await site.close();
  });
});

describe('what agents print', () => {
  it('is text, coloured and folded, and grows while it is looked at', async ({ world }) => {
    const site = await rich(world);
    const { page, problems } = await visit(browser, site, '/plans/auth/tickets/AUTH-5');
    const transcript = page.getByRole('region', { name: 'Transcript' });
    await transcript.getByText('The lifetime is in minutes there.').waitFor();
    expect(await transcript.textContent()).toContain(HTML);
    expect(await transcript.locator('img, script').count()).toBe(0);
    expect(await transcript.getByText('✓ 12 passed').last().getAttribute('class')).toBe('c-green');
    const failed = transcript.locator('details.is-failure summary');
    await failed.focus();
    await page.keyboard.press('Enter');
    await transcript.getByText('expected 3600 to be 60').waitFor();
    const more = `${JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text: 'One more thing.' }] } })}\n`;
    appendFileSync(join(world.stateDir, 'jobs', 'auth', 'AUTH-5', 'implement.1.1', 'stdout'), more);
    await transcript.getByText('One more thing.').waitFor();
    // An empty line is a line.
    await page.goto(`${site.server.url}plans/auth/tickets/AUTH-2`);
    await transcript.getByText('48 passed').waitFor();
    const heights = await transcript
      .locator('.entry')
      .evaluateAll((all) => all.map((entry) => entry.clientHeight));
    expect(Math.min(...heights)).toBeGreaterThan(10);
    await page.goto(`${site.server.url}plans/draft`);
    await page.locator('.ticket-link', { hasText: 'D-2' }).waitFor();
    expect(await page.title()).toContain('draft');
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(problems).toEqual([]);
    await page.context().close();
    await site.close();
  });

  it('is shown above a long line that is folded, without a scrollbar to reach it, and a phase opens its latest attempt', async ({
    world,
  }) => {
    const site = await rich(world);
    const says = (content: object, type = 'assistant') =>
      `${JSON.stringify({ type, message: { content: [content] } })}\n`;
    const result = {
      type: 'tool_result',
      tool_use_id: 'c',
      content: 'a line of a large file\n'.repeat(20_000),
    };
    writeFileSync(
      join(world.stateDir, 'jobs', 'auth', 'AUTH-3', 'implement.1.1', 'stdout'),
      [
        says({ type: 'text', text: 'I read the large file.' }),
        says({ type: 'tool_use', id: 'c', name: 'Read', input: { file_path: 'large.txt' } }),
        says(result, 'user'),
        says({ type: 'text', text: 'The very end.' }),
      ].join(''),
    );
    const { page } = await visit(browser, site, '/plans/auth/tickets/AUTH-3?attempt=implement%231%231');
    const transcript = page.getByRole('region', { name: 'Transcript' });
    for (const text of ['The very end.', 'I read the large file.', 'Beginning'])
      await transcript.getByText(text).waitFor();
    const phases = page.getByRole('navigation', { name: 'Phases' });
    await phases.getByRole('link', { name: 'approve', exact: true }).click();
    await page.waitForURL(/attempt=approve%231%231/);
    await page.context().close();
    await site.close();
  });

  it('is a bounded number of elements as raw output, too, however far back it is read', async ({ world }) => {
    const site = await rich(world);
    const file = join(world.stateDir, 'jobs', 'auth', 'AUTH-3', 'implement.1.1', 'stdout');
    writeFileSync(file, `${`\u001b[31mred\u001b[0m ${'x'.repeat(500)}\n`.repeat(1_000)}The very end.`);
    const path = '/plans/auth/tickets/AUTH-3?attempt=implement%231%231&show=stdout';
    const { page } = await visit(browser, site, path);
    const raw = page.getByRole('region', { name: 'Raw output' });
    const end = raw.getByText('The very end.');
    await waitFor('the end of it', async () => ((await end.boundingBox())?.y ?? 9999) < 720);
    const next = page.getByRole('button', { name: 'Show what comes next' });
    const before = page.getByRole('button', { name: 'Show what comes before' });
    for (let count = 2; (await before.count()) > 0; count++) {
      await before.click();
      await waitFor('more', async () => (await raw.locator('pre').count()) === Math.min(count, 6));
      if (count > 6) await next.waitFor();
    }
    expect(await end.count()).toBe(0);
    await page.context().close();
    await site.close();
  });

  it('opens at its end, however long it is, in a bounded number of elements', async ({ world }) => {
    const site = await rich(world);
    const file = join(world.stateDir, 'jobs', 'auth', 'AUTH-3', 'implement.1.1', 'stdout');
    for (let count = 0; count < 3; count++)
      appendFileSync(file, TRANSCRIPT.repeat(Math.ceil(4e6 / TRANSCRIPT.length)));
    appendFileSync(
      file,
      `${JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text: 'The very end.' }] } })}\n`,
    );
    const { page } = await visit(browser, site, '/plans/auth/tickets/AUTH-3?attempt=implement%231%231');
    const transcript = page.getByRole('region', { name: 'Transcript' });
    await transcript.getByText('The very end.').waitFor();
    // Scrolling up reads more, and drops what is far below.
    await page.waitForFunction(
      () => {
        const box = document.querySelector('.scroller');
        if (box) box.scrollTop = 0;
        return box !== null && !box.textContent?.includes('The very end.');
      },
      null,
      { polling: 20 },
    );
    expect(await transcript.locator('.entry').count()).toBeLessThan(6_000);
    await page.getByRole('button', { name: 'To the beginning' }).click();
    await transcript.getByText('Beginning').waitFor();
    await page.getByRole('button', { name: 'To the end' }).click();
    await transcript.getByText('The very end.').waitFor();
    await page.context().close();
    await site.close();
  });
});

describe('a stranger', () => {
  it('without a session or with a wrong token sees nothing, and can sign in with the token', async ({
    world,
  }) => {
    const site = await rich(world);
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${site.server.url}plans/auth/tickets/AUTH-3?view=diff&token=wrong`);
    await page.getByText('not valid any more').waitFor();
    expect(await page.content()).not.toContain('Sign-in rework');
    await page.getByLabel('Or paste the link or its token').fill('wrong');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('The token is wrong.').waitFor();
    await page.getByLabel('Or paste the link or its token').fill(`${site.server.url}?token=${site.token}`);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.locator('.connection.is-live').waitFor();
    expect(page.url()).toBe(`${site.server.url}plans/auth/tickets/AUTH-3?view=diff`);
    // A new token ends the sessions of all tabs, and one that signs in again is not held up by the others.
    const second = await context.newPage();
    await second.goto(site.server.url);
    await second.locator('.connection.is-live').waitFor();
    const token = replaceToken(world.home);
    for (const tab of [page, second]) await tab.getByText('There is no session in this browser.').waitFor();
    await page.getByLabel('Or paste the link or its token').fill(token);
    await page.getByRole('button', { name: 'Open' }).click();
    for (const tab of [page, second]) await tab.locator('.connection.is-live').waitFor();
    await context.close();
    await site.close();
  });

  it('on another page, port or name reaches nothing', async ({ world }) => {
    const site = await rich(world);
    const evil = await listening();
    const { page, context } = await visit(browser, site);
    await page.locator('.connection.is-live').waitFor();
    const { port } = evil.address() as AddressInfo;
    const target = `${site.server.url}api/v1/plans/auth/tickets/AUTH-4/pause`;
    const other = await context.newPage();
    // The same site as far as cookies are concerned, and another site.
    for (const host of ['127.0.0.1', 'localhost']) {
      await other.goto(`http://${host}:${port}/`);
      const results = await other.evaluate(async (url) => {
        const ways: RequestInit[] = [
          { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' },
          {
            method: 'POST',
            credentials: 'include',
            headers: { 'content-type': 'application/json', 'x-signalbox': '1' },
            body: '{}',
          },
        ];
        const read = await fetch(url.replace(/plans.*/, 'board'), { credentials: 'include' }).then(
          () => 'read',
          () => 'refused',
        );
        const sent = await Promise.all(
          ways.map((way) =>
            fetch(url, way).then(
              (answer) => answer.type,
              () => 'refused',
            ),
          ),
        );
        const frame = document.createElement('iframe');
        frame.src = url.replace(/api.*/, '');
        document.body.append(frame);
        return [read, ...sent];
      }, target);
      expect(results[0]).toBe('refused');
      expect(results[2]).toBe('refused');
      await other.evaluate((url) => {
        const form = document.createElement('form');
        Object.assign(form, { method: 'POST', action: url, enctype: 'text/plain' });
        document.body.append(form);
        form.submit();
      }, target);
      await other.waitForURL(target);
      expect(await other.textContent('body')).toContain('web/origin');
    }
    expect(world.ticket('auth', 'AUTH-4').status).toBe('queued');
    await other.goto(`http://${REBOUND}:${site.server.port}/?token=${site.token}`);
    expect(await other.textContent('body')).toContain('web/host');
    evil.close();
    await context.close();
    await site.close();
  });
});

function listening(): Promise<Server> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>evil</title><body>');
  });
  return new Promise((resolve) => server.listen(0, () => resolve(server)));
}

describe('the board', () => {
  it('does not jump while what runs says something new', async ({ world }) => {
    const site = await rich(world);
    const { page } = await visit(browser, site);
    await page.locator('#running .action').first().waitFor();
    await page.evaluate(() => {
      const shifts: number[] = [];
      Object.assign(window, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
      }).observe({ type: 'layout-shift' } as unknown as PerformanceObserverInit);
    });
    const file = join(world.stateDir, 'jobs', 'auth', 'AUTH-5', 'implement.1.1', 'stdout');
    const text = `A long sentence that would need two lines ${'and more '.repeat(60)}`;
    appendFileSync(
      file,
      `${JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text }] } })}\n`,
    );
    await page.getByText('A long sentence').waitFor();
    expect(await page.evaluate(() => (window as unknown as { shifts: number[] }).shifts)).toEqual([]);
    await page.context().close();
    await site.close();
  });
});
