import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Webhook } from '../support/webhook.ts';
import { BUILD, it as base, cliIn, DONE, refusal, STUCK, setUp, type World } from './support.ts';

const it = base.extend<{ hook: Webhook }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names from the pattern
  hook: async ({}, use) => {
    const hook = await Webhook.open();
    await use(hook);
    await hook.close();
  },
});

/** A ticket that gets stuck, one that fails, and one that goes well. */
function three(world: World, plan = 'p'): void {
  world.agent('agent', 'case $SIGNALBOX_TICKET in good*) commit ;; *) exit 7 ;; esac');
  world.workflow('work', [BUILD, DONE, STUCK]);
  world.workflow('hard', [{ ...BUILD, onFailure: undefined }, DONE]);
  world.plan(plan, { tickets: { stuck: {}, hard: { workflow: 'hard' }, good: {} } });
}

/** Without the outcome of the plan so far, which depends on what is done first. */
const plain = (text: unknown) => String(text).replace(/ \(\d of 3 done[^)]*\)/, '');

const notified = (world: World, plan = 'p') => join(world.stateDir, 'plans', plan, 'notified.jsonl');

describe('notifications', () => {
  it('are posted once for each ticket that needs a person, and not again by the next engine', {
    tags: 'full',
  }, async ({ world, hook }) => {
    three(world);
    world.config({ notify: { webhook: hook.url } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(hook.texts.map(plain).sort()).toEqual([
      'p/hard has failed: build: the agent ended with exit code 7.',
      'p/stuck needs attention: build: the agent ended with exit code 7.',
    ]);
    expect(hook.posts.find(({ ticket }) => ticket === 'stuck')).toEqual({
      event: 'needs_attention',
      text: expect.stringMatching(
        /^p\/stuck needs attention \(\d of 3 done, \d needs? you[^)]*\): build: the agent ended/,
      ),
      plan: 'p',
      ticket: 'stuck',
      title: 'Title of stuck',
      phase: 'stuck',
      reason: 'build: the agent ended with exit code 7.',
      at: world.ticket('p', 'stuck').since,
    });
    await world.cli('run', 'p');
    await world.cli('tick');
    expect(hook.posts).toHaveLength(2);
    // What happens again is news.
    expect((await world.cli('retry', 'p', 'stuck')).code).toBe(0);
    await world.cli('tick');
    expect(hook.texts.filter((text) => String(text).startsWith('p/stuck'))).toHaveLength(2);
  });

  it('link to the page, where that has an address for people', { tags: 'full' }, async ({ world, hook }) => {
    setUp(world, 'commit');
    world.config({ notify: { webhook: hook.url }, web: { publicUrl: 'https://signalbox.example.org/' } });
    await world.cli('run', 'p');
    const url = 'https://signalbox.example.org/plans/p';
    expect(hook.posts).toMatchObject([
      { event: 'complete', url, text: expect.stringMatching(/ \S+\/plans\/p$/) },
    ]);
  });

  it('tell when a plan is complete, and only what `on` names', { tags: 'full' }, async ({ world, hook }) => {
    setUp(world, 'commit');
    world.config({ notify: { webhook: hook.url } });
    await world.cli('run', 'p');
    expect(hook.posts).toMatchObject([
      { event: 'complete', text: 'p is complete: 1 of 1 done · cost unknown.', ticket: null },
    ]);
    three(world, 'q');
    world.config({ notify: { webhook: hook.url, on: ['failed'] } });
    await world.cli('run', 'q');
    expect(hook.texts.slice(1)).toEqual(['q/hard has failed: build: the agent ended with exit code 7.']);
  });

  it('reach a command, as JSON on its input and in its environment', async ({ world }) => {
    three(world);
    const out = join(world.dir, 'hook.log');
    world.config({
      notify: {
        command: `{ cat; printf '%s|%s|%s|%s\\n' "$SIGNALBOX_EVENT" "$SIGNALBOX_PLAN" "$SIGNALBOX_TICKET" "$SIGNALBOX_EVENT_TEXT"; } >> '${out}'; test "$(tail -n 2 '${out}' | head -n 1)" = "$SIGNALBOX_EVENT_JSON"`,
        on: ['failed'],
      },
    });
    const { out: said } = await world.cli('run', 'p');
    expect(said).not.toContain('No notification');
    const [json = '', line] = readFileSync(out, 'utf8').trimEnd().split('\n');
    expect(JSON.parse(json)).toMatchObject({ event: 'failed', plan: 'p', ticket: 'hard' });
    expect(line).toBe('failed|p|hard|p/hard has failed: build: the agent ended with exit code 7.');
  });

  it('reach the desktop by the program that is there', async ({ world }) => {
    three(world);
    const out = join(world.dir, 'desktop.log');
    for (const name of ['notify-send', 'osascript']) {
      writeFileSync(
        join(world.dir, 'bin', name),
        `#!/bin/sh\nfor last; do :; done\necho "$last" >> '${out}'\n`,
        { mode: 0o755 },
      );
    }
    world.config({ notify: { desktop: true, on: ['failed'] } });
    await world.invoke(['run', 'p'], { PATH: `${join(world.dir, 'bin')}:${process.env.PATH}` }).ended;
    expect(readFileSync(out, 'utf8')).toBe('p/hard has failed: build: the agent ended with exit code 7.\n');
  });

  it('do not ring again for a gate that looks around', { tags: 'full' }, async ({ world, hook }) => {
    world.script('answer.sh', `test -e '${join(world.dir, 'answered')}' || exit 1; echo approve`);
    world.workflow('work', [
      {
        id: 'ask',
        type: 'gate',
        prompt: 'Ship it?',
        command: 'answer.sh',
        intervalSeconds: 0.05,
        timeoutSeconds: 30,
        on: { approve: 'done', no: 'done' },
      },
      DONE,
    ]);
    world.plan('p', { tickets: { a: {} } });
    world.config({ notify: { webhook: hook.url } });
    const running = world.invoke(['run', 'p']);
    await world.reaches('p', 'a', ({ phaseHistory }) => (phaseHistory[0]?.checks ?? 0) > 4);
    writeFileSync(join(world.dir, 'answered'), '');
    expect((await running.ended).code).toBe(0);
    expect(hook.texts).toEqual([
      'p/a needs attention (0 of 1 done, 1 needs you): Ship it? (approve | no) Answer: signalbox respond p a approve, or: signalbox respond p a no',
      'p is complete: 1 of 1 done.',
    ]);
  });

  it('tell of a wait for a person once, however often it looks, fails or cannot look', {
    tags: 'full',
  }, async ({ world, hook }) => {
    const looks = join(world.dir, 'looks');
    const answers = '1) echo away; exit 75 ;; 3) exit 3 ;; 6) exit 0 ;; *) echo Open the door.; exit 1 ;;';
    world.script(
      'door.sh',
      `echo x >> '${looks}'; case $(wc -l < '${looks}' | tr -d ' ') in ${answers} esac`,
    );
    const door = { id: 'door', type: 'poll', command: 'door.sh', intervalSeconds: 0.05, onSuccess: 'done' };
    world.workflow('work', [{ ...door, notify: true, maxRetries: 1 }, DONE]);
    world.plan('p', { tickets: { a: {} } });
    world.config({ notify: { webhook: hook.url } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(hook.texts).toEqual([
      expect.stringMatching(/^p\/a needs attention \(0 of 1 done, .*\): door: Open the door\.$/),
      'p is complete: 1 of 1 done.',
    ]);
    expect(hook.posts[0]).toMatchObject({ event: 'needs_attention', ticket: 'a', phase: 'door' });
  });

  it('that fail are tried again, told once, and change nothing about the work', { tags: 'full' }, async ({
    world,
    hook,
  }) => {
    three(world);
    hook.answers.push(500, 429, 503, 404);
    world.config({ notify: { webhook: hook.url } });
    const { code, out, err } = await world.cli('run', 'p');
    expect(code).toBe(1);
    expect(world.ticket('p', 'good').status).toBe('complete');
    expect(hook.posts).toHaveLength(4);
    const told = (out + err).match(/No notification.*/g);
    expect(told).toEqual([
      expect.stringMatching(/by the webhook http:\S+\/\*\*\*: it answered 503 \(3 tries\)/),
    ]);
    expect(out + err).not.toContain('SECRET-KEY');
    await world.cli('tick');
    expect(hook.posts).toHaveLength(4);
  });

  it('that an engine died over are sent by the next one', { tags: 'full' }, async ({ world, hook }) => {
    three(world);
    world.config({ notify: { webhook: hook.url, on: ['failed'] } });
    await world.cli('run', 'p');
    expect(hook.posts).toHaveLength(1);
    const lines = readFileSync(notified(world), 'utf8')
      .split('\n')
      .filter((line) => line.includes('"sending"'));
    const { by, ...line } = JSON.parse(lines[0] ?? '') as { by: { started: string } };
    appendFileSync(notified(world), `${JSON.stringify({ ...line, by: { ...by, started: '1' } })}\n{"half`);
    await world.cli('tick');
    expect(hook.posts).toHaveLength(2);
    await world.cli('tick');
    expect(hook.posts).toHaveLength(2);
  });

  it('do not tell what was so before they were turned on', { tags: 'full' }, async ({ world, hook }) => {
    three(world);
    await world.cli('run', 'p');
    world.config({ notify: { webhook: hook.url } });
    await world.cli('tick');
    expect(hook.posts).toEqual([]);
  });

  it('are sent by one of two engines', { tags: 'full' }, async ({ world, hook }) => {
    three(world);
    world.config({ notify: { webhook: hook.url } });
    await Promise.all([world.cli('run', 'p'), world.cli('tick'), world.cli('tick')]);
    await world.cli('tick');
    expect(hook.texts.map(plain).sort()).toEqual([
      'p/hard has failed: build: the agent ended with exit code 7.',
      'p/stuck needs attention: build: the agent ended with exit code 7.',
    ]);
  });

  it('take the webhook from the environment and keep it from agents, files and output', {
    tags: 'full',
  }, async ({ world, hook }) => {
    three(world);
    world.agent('agent', `env > '${join(world.dir, 'agent-env')}'; exit 7`);
    const running = world.invoke(['run', 'p', '--json'], { SIGNALBOX_NOTIFY_WEBHOOK: hook.url });
    const { out, err } = await running.ended;
    expect(hook.posts.length).toBeGreaterThan(0);
    const shown = await world.invoke(['config'], { SIGNALBOX_NOTIFY_WEBHOOK: hook.url }).ended;
    expect(shown.out).toMatch(/notify\.webhook +http:\/\/127\.0\.0\.1:\d+\/\*\*\* +SIGNALBOX_NOTIFY_WEBHOOK/);
    const bad = await world.invoke(['config'], { SIGNALBOX_NOTIFY_WEBHOOK: 'ftp://SECRET-KEY' }).ended;
    expect(refusal(bad)).toContain('SIGNALBOX_NOTIFY_WEBHOOK: found something else; allowed is an address');
    const files = readdirSync(world.home, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.map(({ name }) => name)).toContain('notified.jsonl');
    for (const { parentPath, name } of files)
      expect(readFileSync(join(parentPath, name), 'utf8'), name).not.toContain('SECRET-KEY');
    for (const text of [out, err, shown.out, bad.err, world.read('agent-env')])
      expect(text).not.toContain('SECRET-KEY');
  });

  it('of a repository’s own settings are refused before it is trusted', async ({ world, hook }) => {
    three(world);
    mkdirSync(join(world.repo, '.signalbox'));
    for (const notify of [{ webhook: hook.url }, { command: 'touch /nowhere' }]) {
      writeFileSync(join(world.repo, '.signalbox', 'settings.json'), JSON.stringify({ notify }));
      const [key] = Object.keys(notify);
      const said = refusal(await cliIn(world, world.repo, ['run', 'p']));
      expect(said).toContain(`"notify.${key}" decides what is run, and you have not trusted`);
      expect(said).not.toContain('SECRET-KEY');
    }
    expect(hook.posts).toEqual([]);
  });
});

describe('notify test', () => {
  it('sends one to each place and says what happened', { tags: 'full' }, async ({ world, hook }) => {
    world.config({ notify: { webhook: hook.url, command: 'cat > heard.json' } });
    const { code, out } = await world.cli('notify', 'test');
    expect({ code, out: out.replace(/:\d+/, ':1') }).toEqual({
      code: 0,
      out: '✓ the command\n✓ the webhook http://127.0.0.1:1/***\n',
    });
    expect(hook.posts).toMatchObject([{ event: 'test', text: 'Signalbox can reach you here.' }]);
    expect(JSON.parse(world.read('user/heard.json'))).toEqual(hook.posts[0]);
  });

  it('says which place was not reached, and why', { tags: 'full' }, async ({ world, hook }) => {
    hook.answers.push(403);
    const { url } = hook;
    world.config({ notify: { webhook: url, command: `echo "no ${url}" >&2; exit 4`, desktop: true } });
    const { code, out } = await world.invoke(['notify', 'test', '--json'], { PATH: '/nowhere' }).ended;
    expect(code).toBe(1);
    const { places } = JSON.parse(out) as { places: { place: string; ok: boolean; error: string }[] };
    expect(
      places.map(({ place, ok, error }) => [place, ok, error.replace(/^No notification by .*?: (?=\w)/, '')]),
    ).toEqual([
      ['desktop', false, 'notify-send is not installed'],
      [
        'command',
        false,
        expect.stringMatching(/^it exited with code 4: no http:\/\/127\.0\.0\.1:\d+\/\*\*\*$/),
      ],
      ['webhook', false, 'it answered 403'],
    ]);
    expect(out).not.toContain('SECRET-KEY');
  });

  it('says how to configure one where there is none', async ({ world }) => {
    const { code, err } = await world.cli('notify', 'test');
    expect({ code, err }).toEqual({
      code: 1,
      err: 'No notifications are configured. Set notify.desktop, notify.command or notify.webhook.\n',
    });
  });
});
