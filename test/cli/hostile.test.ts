import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { makeRepo } from '../support/repo.ts';
import { complete } from './merge-world.ts';
import {
  BUILD,
  cliIn,
  DONE,
  type Ended,
  git,
  it,
  type Shown,
  STUCK,
  setUp,
  shell,
  type World,
} from './support.ts';

const NASTY = 'A\u001b[31mred\u001b]0;owned\u0007 \u009b2J\r\nB\u202ereversed\u0000';
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
const ACTS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;
/** A name of a file may have anything but a NUL and a slash. */
const NAME = NASTY.replace('\u0000', '');

/** Shows the text, in one line and with nothing that acts. */
function isSafe({ out, err }: Pick<Ended, 'out' | 'err'>, begins = /^ *B/): void {
  const lines = (out + err).split('\n');
  expect(lines.filter((line) => ACTS.test(line) || begins.test(line))).toEqual([]);
  expect(out + err).toMatch(/B.*reversed/);
}

/** The same on a terminal, where our own colours may be, and no others. Lines that are too long go on below, indented. */
function isSafeInColour(shown: string): void {
  expect(shown).not.toContain('A\u001b[31mred');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are made of
  isSafe({ out: shown.replace(/\u001b\[\d+m/g, ''), err: '' }, /^B/);
}

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
          worktree: `/nowhere/${NAME}`,
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

const FRAME = '\u001b[?7l\u001b[H\u001b[2J';

/** Runs a command with a terminal of 80 columns. One that draws the whole screen is stopped after the first time. */
async function onTerminal(world: World, ...args: string[]): Promise<string> {
  let out = '';
  let stop = (): void => undefined;
  const terminal = { columns: () => 80, rows: () => 24, onResize: () => () => undefined };
  const write = (text: string | Buffer) => {
    out += text;
    if (out.startsWith(FRAME)) setImmediate(stop);
  };
  const on = (_names: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void) => {
    stop = () => listener('SIGINT');
    return () => undefined;
  };
  const stream = { fd: -1, terminal, write, onClosed: () => undefined };
  await runCli(args, {
    cwd: world.dir,
    env: { ...world.env, TERM: 'xterm', GIT_PAGER: 'cat' },
    stdin: { fd: -1, isTTY: () => true },
    stdout: stream,
    stderr: stream,
    signals: { on, raise: () => undefined },
  });
  return out;
}

describe.concurrent('text of others is safe in the output of', () => {
  const hold = { kind: 'stopped' as const, reason: NASTY, until: null };
  const attempt = {
    visit: 1,
    attempt: 1,
    startedAt: '2026-01-01T00:00:00.000Z',
    completedAt: null,
    outcome: null,
    output: null,
    usage: null,
    error: null,
  };
  const planned = (world: World) => {
    world.workflow('work', [BUILD, DONE, STUCK]);
    world.plan('p', {
      name: NASTY,
      workflow: NASTY,
      tickets: {
        a: { title: NASTY, status: 'paused', hold, currentPhase: NASTY },
        c: { title: NASTY, currentPhase: NASTY },
        b: {
          title: NASTY,
          phaseHistory: [
            { ...attempt, phase: NASTY, status: 'running' as const, sessionId: NASTY, agent: NASTY },
          ],
        },
      },
    });
  };

  it.for([
    'status',
    'status --plan p',
    'plan list',
    'plan show p',
    'plan check p',
    'sessions p b',
    'logs p b',
    'report --since 9999d',
    'report --since 9999d --md',
    'report --since 9999d --html',
    'status a',
    'run p --dry-run',
    'respond p a yes',
    'pause p c',
    'top',
    'skip p a x',
    'retry p b',
    'resume p a',
  ])('%s', async (line, { world }) => {
    const args = line.split(' ');
    planned(world);
    isSafe(await world.cli(...args));
    planned(world);
    isSafeInColour(await onTerminal(world, ...args));
  });

  it('the live view of run', async ({ world }) => {
    const said = `printf 'A\\033[31mred \\033[2J\\rB\\342\\200\\256reversed\\n'`;
    setUp(world, `${said}; ${said} >&2; exit 3`, { a: { title: NASTY } });
    const shown = await onTerminal(world, 'run', 'p');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these put the block in its place, and ring the bell
    const moves = /\u001b\[(?:\?7[lh]|2K|C|J|\d*A)|[\r\u0007]/g;
    isSafeInColour(shown.replace(moves, ''));
  });

  it('status --watch', async ({ world }) => {
    planned(world);
    const shown = await onTerminal(world, 'status', '--watch');
    expect(shown.startsWith(FRAME)).toBe(true);
    isSafeInColour(shown.slice(FRAME.length).replace('\u001b[?7h', ''));
  });

  it('daemon', { tags: 'full' }, async ({ world }) => {
    setUp(world, `printf 'B \\033[2Jreversed\\n'; exit 3`, { a: { title: NASTY } });
    const daemon = world.invoke(['daemon', '--verbose']);
    await world.reaches('p', 'a', 'needs_attention');
    isSafe(await daemon.kill('SIGINT'));
  });

  it('attach', async ({ world }) => {
    planned(world);
    const record = { session: NAME, socket: join(world.dir, 'none') };
    world.append('home/state/plans/p/tmux.json', JSON.stringify(record));
    const tmux = world.agent('tmux', 'echo "no server running on none" >&2; exit 1');
    const ended = await cliIn(world, world.dir, ['attach', 'p'], {
      PATH: `${dirname(tmux)}:${world.env.PATH}`,
    });
    isSafe(ended);
    expect(ended.err).toContain('is gone');
  });

  it('forge budget', async ({ world }) => {
    const known = { limit: 5, remaining: 4, cost: 1, resetAt: attempt.startedAt, at: NASTY };
    world.append('home/state/forge/budget.json', JSON.stringify({ [NASTY]: known }));
    isSafe(await world.cli('forge', 'budget'));
    isSafeInColour(await onTerminal(world, 'forge', 'budget'));
  });

  it('logs of a plan', async ({ world }) => {
    planned(world);
    const about = { at: attempt.startedAt, planId: 'p', ticketId: 'a', visit: 1, attempt: 1 };
    world.append(
      'home/state/plans/p/events.jsonl',
      `${JSON.stringify({ ...about, type: 'attempt:start', phase: NASTY, agent: NASTY, seq: 1 })}\n`,
    );
    isSafe(await world.cli('logs', 'p'));
  });

  it('workflow list, show, graph and check', async ({ world }) => {
    const phase = {
      id: 'a',
      type: 'agent',
      prompt: 'x',
      on: { [`x${NASTY}`]: 'done' },
      output: { type: 'object', properties: { outcome: { enum: [`x${NASTY}`] } } },
    };
    const file = (name: string) => join(world.home, 'workflows', name);
    writeFileSync(
      file('odd.yaml'),
      JSON.stringify({ name: 'odd', description: NASTY, phases: [phase, DONE] }),
    );
    for (const args of [['list'], ['show', 'odd'], ['graph', 'odd', '--mermaid']])
      isSafe(await world.cli('workflow', ...args));
    expect((await world.cli('workflow', 'graph', 'odd')).out).toMatch(
      /^▶ a {5}agent {5}─ xAredown… → done\n/,
    );
    writeFileSync(
      file('odd.yaml'),
      JSON.stringify({ name: 'odd', phases: [{ ...phase, onFailure: NASTY }] }),
    );
    isSafe(await world.cli('workflow', 'check', 'odd'));
    world.workflow('work', [{ id: 'done', type: NASTY }]);
    world.plan('p', { tickets: { a: {} } });
    isSafe(await world.cli('plan', 'check', 'p'));
  });

  it('config, doctor and notify', async ({ world }) => {
    world.config({
      notify: {
        command: `printf '\\033[2JB\\033]0;x\\007 reversed' >&2; exit 1 #\n${NAME}`,
      },
    });
    isSafe(await world.cli('config'));
    isSafe(await world.cli('notify', 'test'));
    writeFileSync(join(world.home, 'workflows', `${NAME}.yaml`), '{');
    isSafe(await world.cli('doctor'));
  });

  it('clean, whose names are those of files', async ({ world }) => {
    const repo = makeRepo(join(world.dir, NAME));
    setUp(world, 'commit', { a: { repo } });
    await world.cli('run', 'p');
    isSafe(await cliIn(world, repo, ['clean']));
  });

  it('spec check and spec --dry-run', async ({ world }) => {
    const dir = join(world.repo, NAME);
    mkdirSync(dir, { recursive: true });
    writeFileSync(
      join(dir, 'tasks.md'),
      `- [ ] 1. Do ${NAME.replace('\r\n', '')}\n  - _Depends: 9${NAME.replace('\r\n', '')}_\n`,
    );
    isSafe(await world.cli('spec', 'check', dir));
    isSafe(await cliIn(world, world.repo, ['spec', dir, '--dry-run']));
  });

  it('run of Markdown issues, and import', async ({ world }) => {
    setUp(world, 'commit', {});
    world.append('repo/a.md', `# Do B ${NAME.replace('\r\nB', '')}\n\nBody ${NAME}`);
    isSafe(await cliIn(world, world.repo, ['run', 'a.md', '--dry-run']));
    const found = await cliIn(world, world.repo, ['import', 'a.md']);
    isSafe(found);
    expect(JSON.parse(found.out).items[0].body).toContain('\u202e');
  });

  it('stats, also as CSV', async ({ world }) => {
    const issue = { id: NASTY, status: 'passed', durationSeconds: 1, usage: null, failureCategory: NASTY };
    const phaseResults = [{ phase: NASTY, success: true, durationSeconds: 1 }];
    const log = {
      version: 1,
      runId: NASTY,
      startTime: attempt.startedAt,
      endTime: attempt.startedAt,
      config: { mode: NASTY },
      issues: [{ ...issue, phaseResults, phases: phaseResults }],
    };
    mkdirSync(join(world.repo, '.signalbox', 'logs'), { recursive: true });
    writeFileSync(join(world.repo, '.signalbox', 'logs', 'run-1.json'), JSON.stringify(log));
    writeFileSync(join(world.repo, '.signalbox', 'logs', `run-${NAME}.json`), '{');
    isSafe(await cliIn(world, world.repo, ['stats']));
    isSafe(await cliIn(world, world.repo, ['stats', '--csv']));
  });

  it('merge and its preview', async ({ world }) => {
    const name = NAME.replace('\r\n', '');
    complete(world, { a: { files: { [name]: 'a' } }, b: { files: { [name]: 'b' } } });
    isSafe(await world.cli('merge', 'p', '--dry-run'));
    isSafe(await world.cli('merge', 'p'));
  });

  it('skills list and interactive --dry-run', async ({ world }) => {
    const dir = join(world.home, 'skills', NAME);
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'SKILL.md'), '---\nname: odd\ndescription: x\n---\n');
    isSafe(await world.cli('skills', 'list'));
    const pi = world.agent('pi', 'true');
    world.config({ agents: { pi: { adapter: 'pi', command: pi } } });
    isSafe(await world.cli('interactive', '--dry-run'));
  });

  it('errors', async ({ world }) => {
    world.plan('p', { workflow: NASTY, tickets: { a: {} } });
    isSafe(await world.cli('run', 'p'));
    for (const args of [['run'], ['plan', 'edit', 'p']]) isSafe(await world.cli(...args, NAME));
  });
});

describe.concurrent('a program gets everything as it is', () => {
  it('with --json, on a terminal too', async ({ world }) => {
    world.plan('p', { name: NASTY, tickets: { a: { title: NASTY } } });
    for (const out of [
      (await world.cli('status', '--json')).out,
      await onTerminal(world, 'status', '--json'),
    ]) {
      expect(JSON.parse(out)[0]).toMatchObject({ plan: { name: NASTY }, tickets: [{ title: NASTY }] });
      expect(out.split('\n').filter((line) => ACTS.test(line))).toEqual([]);
    }
  });

  it('with diff in a pipe, and `git apply` takes it', async ({ world }) => {
    // Latin-1, control characters, a changed binary file, and a context line of one space at the end.
    const body = `printf 'caf\\351 \\033[2J\\342\\200\\256\\n' > latin.txt; printf '\\000\\001\\002' > data.bin; printf 'one\\ntwo!\\n\\n' > end.txt; commit`;
    writeFileSync(join(world.repo, 'end.txt'), 'one\ntwo\n\n');
    git(world.repo, 'add', 'end.txt');
    git(world.repo, 'commit', '-qm', 'end');
    setUp(world, body);
    await world.cli('run', 'p');
    const { err, code } = await shell(world, '$SIGNALBOX diff p a > patch && git -C repo apply ../patch');
    expect({ err, code }).toEqual({ err: '', code: 0 });
    expect(git(world.repo, 'add', '--all')).toBe('');
    expect(git(world.repo, 'diff', '--cached', '--stat', 'ticket/p/a')).toBe('');
    const shown = await onTerminal(world, 'diff', 'p', 'a');
    expect(shown).toContain('+caf');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours are ours
    const plain = shown.replace(/\u001b\[\d+m/g, '');
    expect(plain.split('\n').filter((line) => ACTS.test(line))).toEqual([]);
  });
});
