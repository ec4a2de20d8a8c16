import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { BUILD, DONE, it, type Shown, STUCK, setUp } from './support.ts';

const NASTY = 'A\u001b[31mred\u001b]0;owned\u0007 \u009b2J\r\nB\u202ereversed\u0000';
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
const ACTS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

describe.concurrent('hostile text', () => {
  it('in titles, names, questions and agents’ output cannot act on the terminal', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent(
      'agent',
      `printf '\\033[2Jsaid\\n\\033]0;x\\007\\n'; printf '\\033[31mloud\\r\\n' >&2; commit`,
    );
    world.workflow('work', [
      { ...BUILD, onSuccess: 'ask' },
      { id: 'ask', type: 'gate', prompt: '{{ title }}', on: { yes: 'done' } },
      DONE,
      STUCK,
    ]);
    const hold = { kind: 'stopped' as const, reason: NASTY, until: null };
    world.plan('p', {
      name: NASTY,
      createdBy: NASTY,
      tickets: {
        a: { title: NASTY, description: NASTY },
        b: { title: NASTY, status: 'paused', hold, error: NASTY, context: { pr_url: NASTY } },
        c: {
          title: 'x',
          status: 'failed',
          error: NASTY,
          worktree: `/nowhere/${NASTY.replace('\u0000', '')}`,
        },
      },
    });
    for (const args of [
      ['run', 'p', '--verbose'],
      ['status'],
      ['status', '--plan', 'p'],
      ['logs', 'p'],
      ['logs', 'p', 'a'],
      ['plan', 'list'],
      ['plan', 'show', 'p'],
      ['plan', 'check', 'p'],
    ]) {
      const { out, err } = await world.cli(...args);
      const line = (out + err).split('\n').find((each) => ACTS.test(each));
      expect(line, args.join(' ')).toBeUndefined();
    }
    const [shown] = await world.json<Shown[]>('status');
    expect(shown?.tickets[0]?.title).toBe(NASTY);
  });

  it('of any length is cut for people and kept for programs', { tags: 'full' }, async ({ world }) => {
    const title = 'long '.repeat(40_000);
    setUp(world, 'wc -c < "$SIGNALBOX_PROMPT_FILE"; commit', { a: { title } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    for (const args of [['status'], ['plan', 'show', 'p']])
      expect(Math.max(...(await world.cli(...args)).out.split('\n').map((line) => line.length))).toBeLessThan(
        200,
      );
    expect((await world.json<Shown[]>('status'))[0]?.tickets[0]?.title).toBe(title);
    expect((await world.cli('logs', 'p', 'a')).out).toContain(String('Do .'.length + title.length));
  });

  it('that looks like a template is data, in prompts and in arguments of scripts', { tags: 'full' }, async ({
    world,
  }) => {
    const title = `{{ 6 | times: 7 }} {% for i in (1..9) %}x{% endfor %} $(touch owned) "; touch owned; ' \`id\``;
    world.agent('agent', 'cp "$SIGNALBOX_PROMPT_FILE" "$HOME/prompt"; commit');
    world.script('show.sh', 'printf "%s" "$1" > "$HOME/argument"');
    world.workflow('work', [
      { ...BUILD, onSuccess: 'show' },
      { id: 'show', type: 'script', command: 'show.sh', args: ['{{ title }}'], onSuccess: 'done' },
      DONE,
      STUCK,
    ]);
    world.plan('p', { tickets: { a: { title } } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const user = join(world.dir, 'user');
    expect(readFileSync(join(user, 'prompt'), 'utf8')).toBe(`Do ${title}.`);
    expect(readFileSync(join(user, 'argument'), 'utf8')).toBe(title);
    for (const dir of [world.dir, world.repo, world.worktree('p', 'a')])
      expect(existsSync(join(dir, 'owned'))).toBe(false);
  });

  it('captured from an agent stays data in the next phase', async ({ world }) => {
    world.agent(
      'agent',
      `echo '{{ title }} {% raw %}'; cp "$SIGNALBOX_PROMPT_FILE" "$HOME/$SIGNALBOX_PHASE"; commit`,
    );
    world.workflow('work', [
      { ...BUILD, capture: { said: 'stdout' }, onSuccess: 'next' },
      { id: 'next', type: 'agent', prompt: 'It said: {{ said }}', onSuccess: 'done', onFailure: 'stuck' },
      DONE,
      STUCK,
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(readFileSync(join(world.dir, 'user', 'next'), 'utf8')).toBe('It said: {{ title }} {% raw %}');
  });
});
