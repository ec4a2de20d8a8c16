import { describe, expect, it as test } from 'vitest';
import type { EngineContext } from '../../../src/engine/context.ts';
import {
  escapeForChat,
  placesOf,
  postJson,
  runProgram,
} from '../../../src/features/notifications/destinations.ts';
import { Notifier } from '../../../src/features/notifications/notify.ts';
import { refKey, refOf } from '../../../src/model/ids-and-branch-names.ts';
import type { Ticket } from '../../../src/model/ticket.ts';
import { partsOf } from '../../engine/parts.ts';
import { attempt } from '../../model/build.ts';
import { it } from '../../support/index.ts';
import { Webhook } from '../../support/webhook.ts';
import { within } from '../../support/within.ts';

const signal = new AbortController().signal;
const quick = { signal, timeoutMs: within(2_000), waitsMs: [1, 1] };

async function withHook<T>(answers: (number | null)[], use: (hook: Webhook) => Promise<T>): Promise<T> {
  const hook = await Webhook.open();
  hook.answers.push(...answers);
  try {
    return await use(hook);
  } finally {
    await hook.close();
  }
}

describe('posting', () => {
  const rows: [answers: number[], posts: number, error: string | null][] = [
    [[], 1, null],
    [[500], 2, null],
    [[429, 503], 3, null],
    [[500, 500, 500], 3, 'it answered 500 (3 tries)'],
    [[404], 1, 'it answered 404'],
    [[302], 1, 'it answered 302'],
  ];
  test.each(rows)('after the answers %j has made %i posts and says %s', async (answers, posts, error) => {
    await withHook(answers, async (hook) => {
      const end = await postJson(hook.url, { a: 1 }, quick).then(
        () => null,
        (failure: Error) => failure.message,
      );
      expect([hook.posts.length, end]).toEqual([posts, error]);
    });
  });

  test('ends when nobody answers, and says nothing of the address', async () => {
    await withHook([null], async (hook) => {
      const options = { signal, timeoutMs: 50, waitsMs: [] };
      await expect(postJson(hook.url, {}, options)).rejects.toThrow(/^it did not answer in time$/);
    });
    const gone = await Webhook.open();
    const { url } = gone;
    await gone.close();
    await expect(postJson(url, {}, quick)).rejects.toThrow(/^ECONNREFUSED \(3 tries\)$/);
  });
});

describe('text for a chat', () => {
  test.each([
    [
      'p/a has failed: <!channel> <http://evil|your bank>',
      'p/a has failed: &lt;!channel&gt; &lt;http://evil|your bank&gt;',
    ],
    ['a && b &lt; c', 'a &amp;&amp; b &amp;lt; c'],
    ['@here and @ann', '@\u200bhere and @ann'],
  ])('%j is said as %j', (text, wanted) => {
    expect(escapeForChat(text)).toBe(wanted);
  });

  it('is escaped where it is posted, and the rest is as it is', async ({ world }) => {
    await withHook([], async (hook) => {
      const parts = await partsOf(world);
      const settings = { ...parts.settings, notify: { ...parts.settings.notify, webhook: hook.url } };
      const [place] = placesOf({ ...parts, settings }).filter(({ name }) => name === 'webhook');
      const about = { plan: 'p', ticket: 'a', title: '<b>', phase: null, reason: '<!channel>', at: 'now' };
      await place?.send({ event: 'failed', text: 'p/a: <!channel>', ...about }, signal);
      expect(hook.posts).toEqual([{ event: 'failed', text: 'p/a: &lt;!channel&gt;', ...about }]);
    });
  });
});

describe('a program', () => {
  const options = { cwd: '/', env: { PATH: process.env.PATH ?? '' }, input: 'x'.repeat(1_000_000), signal };
  const sh = (line: string, timeoutMs = within(10_000)) =>
    runProgram(['/bin/sh', '-c', line], { ...options, timeoutMs });

  test('that does not read its input is none the worse for it', async () => {
    await expect(sh('exit 0')).resolves.toBeUndefined();
  });

  test('that fails says its last words', async () => {
    await expect(sh('echo one >&2; echo two >&2; exit 3')).rejects.toThrow(/^it exited with code 3: two$/);
  });

  test('that hangs, or leaves something running, is not waited for', async () => {
    await expect(sh('sleep 60', 50)).rejects.toThrow('it took longer than 0.05 s');
    const began = performance.now();
    await sh('sleep 60 & exit 0');
    expect(performance.now() - began).toBeLessThan(within(2_500));
  });
});

describe('a notice', () => {
  it('has outcome and decisions, and nothing that an agent or a program printed', async ({ world }) => {
    const since = '2999-01-01T00:00:00.000Z';
    const hold = { kind: 'gate', reason: 'It said: May it be merged?', until: null } as const;
    world.plan('p', {
      tickets: {
        ask: {
          ...{ status: 'needs_attention', since, hold },
          phaseHistory: [attempt('ask', 'running', { decisions: ['yes', 'no'], startedAt: since })],
        },
        bad: { status: 'failed', since, error: 'build: exit code 7. It said: my password is\nx' },
        hook: { status: 'needs_attention', since, error: 'npm ci failed\nIt printed:\nmy password' },
      },
    });
    await withHook([], async (hook) => {
      const parts = await partsOf(world);
      const settings = { ...parts.settings, notify: { ...parts.settings.notify, webhook: hook.url } };
      const notifier = new Notifier({ ...parts, settings });
      notifier.queueNewNotices(parts.store.view(), () => true);
      await notifier.settled();
      expect(hook.posts.map(({ text, reason }) => [text, reason])).toEqual([
        [
          'p/ask needs attention (0 of 3 done, 3 need you): It said: May it be merged? Answer: signalbox respond p ask yes, or: signalbox respond p ask no',
          hold.reason,
        ],
        ['p/bad has failed: build: exit code 7.', 'build: exit code 7.'],
        ['p/hook needs attention (0 of 3 done, 3 need you): npm ci failed', 'npm ci failed'],
      ]);
    });
  });
});

describe('the bell', () => {
  it('rings once for each thing, and only where somebody can hear it', async ({ world }) => {
    const since = '2999-01-01T00:00:00.000Z';
    world.plan('p', { tickets: { a: { status: 'failed', since }, b: { status: 'needs_attention', since } } });
    const look = async (parts: EngineContext) => {
      const notifier = new Notifier(parts);
      for (let times = 0; times < 3; times++) notifier.queueNewNotices(parts.store.view(), () => true);
      await notifier.settled();
    };
    let rings = 0;
    const parts = await partsOf(world);
    await look(parts);
    expect(world.exists('home/state/plans/p/notified.jsonl')).toBe(false);
    await Promise.all([1, 2, 3].map(() => look({ ...parts, bell: () => void rings++ })));
    expect(rings).toBe(2);
  });

  it('rings for a ticket that changed, without a look at the others of its plan', async ({ world }) => {
    const names = Array.from({ length: 200 }, (_, number) => `t${number}`);
    world.plan('p', { tickets: Object.fromEntries(names.map((name) => [name, {}])) });
    let rings = 0;
    const parts = { ...(await partsOf(world)), bell: () => void rings++ };
    const notifier = new Notifier(parts);
    const view = parts.store.view();
    notifier.queueNewNotices(view, () => true);
    const [ticket] = view.tickets.values();
    const failed = { ...(ticket as Ticket), status: 'failed' as const, since: '2999-01-01T00:00:00.000Z' };
    const asked: string[] = [];
    const tickets = new (class extends Map<string, Ticket> {
      override get(key: string) {
        asked.push(key);
        return super.get(key);
      }
    })(view.tickets).set(refKey(failed), failed);
    notifier.queueNewNotices({ ...view, tickets }, () => true, [refOf(failed)]);
    await notifier.settled();
    expect([rings, asked]).toEqual([1, [refKey(failed)]]);
  });

  it('rings once for a shortage that has lasted for an hour, however often it is tried again', async ({
    world,
  }) => {
    const since = '2020-01-01T00:00:00.000Z';
    let rings = 0;
    const parts = { ...(await partsOf(world)), bell: () => void rings++ };
    for (const [until, person] of [
      ['2999-01-01T00:59:00.000Z', {}],
      ['2999-01-01T01:01:00.000Z', { person: true }],
      ['2999-01-01T01:02:00.000Z', { person: true }],
    ] as const) {
      const hold = { kind: 'shortage' as const, reason: 'the disk is full', until, since, ...person };
      world.plan('p', { tickets: { a: { status: 'ready', hold } } });
      const notifier = new Notifier(parts);
      notifier.queueNewNotices(parts.store.view(), () => true);
      await notifier.settled();
      expect(rings).toBe('person' in person ? 1 : 0);
    }
  });
});
