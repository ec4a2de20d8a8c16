import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { CliCall } from '../support/cli-call.ts';
import { BUILD, cliIn, DONE, errorIn, git, it, refusal, STUCK, setUp, type World } from './support.ts';

describe.concurrent('workspace', () => {
  it('ensure makes the worktree of a ticket, or finds it as it is', async ({ world }) => {
    setUp(world);
    const path = world.worktree('p', 'a');
    const first = await world.json<{ ok: boolean; path: string; message: string }>(
      'workspace',
      'ensure',
      'p',
      'a',
    );
    expect(first).toEqual({ ok: true, path, message: `${path} is on ticket/p/a, from main` });
    writeFileSync(join(path, 'mine.txt'), 'x');
    expect(await world.cli('workspace', 'ensure', 'p', 'a')).toMatchObject({
      code: 0,
      out: `${first.message}\n`,
    });
    expect(existsSync(join(path, 'mine.txt'))).toBe(true);
    expect(git(path, 'branch', '--show-current')).toBe('ticket/p/a');
  });

  it('release gives it back, unless something in it would be lost', async ({ world }) => {
    setUp(world);
    const path = world.worktree('p', 'a');
    await world.cli('workspace', 'ensure', 'p', 'a');
    writeFileSync(join(path, 'mine.txt'), 'x');
    const kept = await world.cli('workspace', 'release', 'p', 'a');
    expect(kept.code).toBe(1);
    expect(kept.out).toMatch(new RegExp(`^Kept ${path}: .*`));
    expect(existsSync(join(path, 'mine.txt'))).toBe(true);
    git(path, 'add', '--all');
    git(path, 'commit', '--quiet', '--message=Mine');
    const released = await world.cli('workspace', 'release', 'p', 'a');
    expect(released).toMatchObject({ code: 0, out: `${path} was removed; branch ticket/p/a still exists\n` });
    expect(existsSync(path)).toBe(false);
    expect(git(world.repo, 'log', '-1', '--format=%s', 'ticket/p/a')).toBe('Mine');
  });

  it('release is refused while an engine works there', async ({ world }) => {
    setUp(world, 'note working; go; commit');
    const run = world.invoke(['run', 'p']);
    await world.call('working');
    const ended = await world.cli('workspace', 'release', 'p', 'a', '--json');
    expect(ended.code).toBe(3);
    expect(errorIn(ended)).toMatchObject({
      code: 'ticket/held',
      hint: 'Pause it first: signalbox pause p a',
    });
    world.go();
    expect((await run.ended).code).toBe(0);
  });

  it('takes the ticket of the phase it is called from', async ({ world }) => {
    setUp(world);
    const inPhase = { SIGNALBOX_PLAN: 'p', SIGNALBOX_TICKET: 'a' };
    expect((await cliIn(world, world.dir, ['workspace', 'ensure'], inPhase)).code).toBe(0);
    const outside = await world.cli('workspace', 'ensure');
    expect(outside.code).toBe(2);
    expect(refusal(outside)).toBe(
      '❌ Which ticket?\n   Name a plan and a ticket, or call this from a phase.\n',
    );
  });
});

describe.concurrent('diff', () => {
  it('shows a ticket’s work against its base, uncommitted changes included', async ({ world }) => {
    setUp(world, 'commit; echo loose > loose.txt');
    await world.cli('run', 'p');
    const { out, code } = await world.cli('diff', 'p', 'a');
    expect(code).toBe(0);
    expect(out).toMatch(/^diff --git a\/work-a\.txt b\/work-a\.txt$/m);
    expect(out).toContain('+build 1 1');
    expect((await world.cli('diff', 'p', 'a', '--stat')).out).toMatch(/work-a\.txt \| 1 \+/);
    const json = await world.json<{ base: string; branch: string; text: string }>('diff', 'p', 'a');
    expect(json).toEqual({
      base: git(world.repo, 'rev-parse', 'main'),
      branch: 'ticket/p/a',
      text: expect.any(String),
    });
    expect(json.text.trimEnd()).toBe(out.trimEnd());
    expect(out).toContain('+loose');
  });

  it('on a terminal is coloured, goes through the user’s pager, and says what comes next', async ({
    world,
  }) => {
    setUp(world);
    await world.cli('run', 'p');
    // An agent can write this; the pager of the repository is not started.
    git(world.repo, 'config', 'core.pager', 'touch evil');
    const shown = async (env: NodeJS.ProcessEnv) => {
      const place = { cwd: world.repo, env: { ...world.env, TERM: 'xterm', ...env } };
      return (await new CliCall(['diff', 'p', 'a'], { ...place, terminal: true, columns: 80 }).ended).out;
    };
    const paged = await shown({ GIT_PAGER: "sed 's/^/> /'" });
    expect(paged).toMatch(/^> \S*diff --git a\/work-a\.txt/m);
    expect(paged).toContain('\u001b[32m+build 1 1');
    expect(paged).toMatch(/\nMerge: signalbox merge p\n$/);
    expect(await shown({ GIT_PAGER: 'no-such-pager' })).toContain('+build 1 1');
    expect(await shown({ PAGER: 'cat' })).toContain('+build 1 1');
    expect(existsSync(join(world.repo, 'evil'))).toBe(false);
    world.writeTicket('p', 'a', { ...world.ticket('p', 'a'), status: 'failed', error: 'no' });
    expect(await shown({ GIT_PAGER: 'cat' })).toMatch(
      /\nRetry: signalbox retry p a\nReject: signalbox cancel p a\n$/,
    );
  });

  it('has nothing to show before the ticket has begun', async ({ world }) => {
    setUp(world);
    const ended = await world.cli('diff', 'p', 'a');
    expect(ended.code).toBe(1);
    expect(refusal(ended)).toBe(
      '❌ p/a has no workspace yet: it is queued.\n   See: signalbox status --plan p\n',
    );
    world.writeTicket('p', 'a', { ...world.ticket('p', 'a'), status: 'needs_attention' });
    expect(refusal(await world.cli('diff', 'p', 'a'))).toContain('no workspace yet: it needs attention.\n');
  });
});

describe.concurrent('integrate', () => {
  const worked = async (world: World) => {
    setUp(world, 'echo ticket > file.txt; commit');
    await world.cli('run', 'p');
  };

  it('merges into the base branch where nobody has it checked out', async ({ world }) => {
    await worked(world);
    git(world.repo, 'switch', '--quiet', '--create', 'mine');
    const done = await world.json<{ target: string; commit: string }>('integrate', 'p', 'a');
    expect(done.target).toBe('main');
    expect(done.commit).toBe(git(world.repo, 'rev-parse', 'main'));
    expect(git(world.repo, 'show', 'main:file.txt')).toBe('ticket');
    expect(existsSync(join(world.repo, 'file.txt'))).toBe(false);
  });

  it('moves a branch of its own where the base is checked out, and says how to go on', async ({ world }) => {
    await worked(world);
    const before = git(world.repo, 'rev-parse', 'main');
    const { out, code } = await world.cli('integrate', 'p', 'a');
    expect(code).toBe(0);
    const [, command] = /^To bring it into your checkout: (git .*)$/m.exec(out) ?? [];
    expect(git(world.repo, 'rev-parse', 'main')).toBe(before);
    git(world.repo, ...(command ?? '').split(' ').slice(1));
    expect(existsSync(join(world.repo, 'file.txt'))).toBe(true);
  });

  it('ends with 1 on a conflict, names the files, and touches nothing', async ({ world }) => {
    await worked(world);
    writeFileSync(join(world.repo, 'file.txt'), 'main\n');
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=Other');
    const before = git(world.repo, 'rev-parse', 'main');
    const ended = await world.cli('integrate', 'p', 'a');
    expect(ended.code).toBe(1);
    expect(ended.err).toContain('Conflict with the base in file.txt.');
    expect(git(world.repo, 'rev-parse', 'main')).toBe(before);
    expect(git(world.repo, 'status', '--porcelain')).toBe('');
    const json = await world.cli('integrate', 'p', 'a', '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ conflict: ['file.txt'], branch: 'ticket/p/a' });
  });

  const byHand = (world: World, text: string) => {
    writeFileSync(join(world.repo, 'file.txt'), text);
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=By hand');
  };

  it('asks a person, and no agent, where its base and what landed conflict with each other', async ({
    world,
  }) => {
    setUp(world, 'echo "$SIGNALBOX_TICKET" > file.txt; commit', { a: {}, b: { blockedBy: ['a'] } });
    const person = `cd '${world.repo}'; echo main > file.txt; git add .; git commit -qm 'By hand'`;
    world.script('person.sh', `[ "$SIGNALBOX_TICKET" = a ] || (${person})`);
    world.workflow('work', [
      { ...BUILD, maxVisits: 4, onSuccess: 'person' },
      { id: 'person', type: 'script', command: 'person.sh', onSuccess: 'merge' },
      {
        id: 'merge',
        type: 'script',
        command: 'integrate.sh',
        onSuccess: 'done',
        on: { refused: 'stuck' },
        onFailure: 'build',
      },
      DONE,
      STUCK,
    ]);
    await world.cli('run', 'p');
    expect(world.ticket('p', 'a').status).toBe('complete');
    const { status, error, visits } = world.ticket('p', 'b');
    expect({ status, visits }).toEqual({
      status: 'needs_attention',
      visits: { build: 1, person: 1, merge: 1 },
    });
    const way = `git -C ${world.repo} merge signalbox/main`;
    expect(error).toContain(
      `signalbox/main and its base main conflict in file.txt. Merge them by hand: ${way}, resolve and commit.`,
    );
    const alone = await world.cli('integrate', 'p', 'b');
    expect(alone).toMatchObject({ code: 1, out: '' });
    expect(alone.err).toContain(way);
    expect(() => git(world.repo, 'merge', '--quiet', 'signalbox/main')).toThrow();
    byHand(world, 'b\n');
    expect(await world.cli('integrate', 'p', 'b')).toMatchObject({ code: 0 });
  });

  it('asks a person also where somebody is at work on the branch that it would move', async ({ world }) => {
    await worked(world);
    git(world.repo, 'worktree', 'add', '--quiet', '-b', 'signalbox/main', join(world.dir, 'busy'));
    const env = { SIGNALBOX_JOB: 'x' };
    const ended = await cliIn(world, world.repo, ['integrate', 'p', 'a'], env);
    expect(ended.code, ended.err).toBe(65);
    expect(ended.err).toContain('free it with git -C');
  });

  it('brings what it tells the agent to merge up to the base first', async ({ world }) => {
    setUp(world, 'echo "$SIGNALBOX_TICKET" > "$SIGNALBOX_TICKET.txt"; commit', { a: {}, file: {} });
    await world.cli('run', 'p');
    expect(await world.cli('integrate', 'p', 'a')).toMatchObject({ code: 0 });
    byHand(world, 'main\n');
    const ended = await world.cli('integrate', 'p', 'file');
    expect(ended.code).toBe(1);
    expect(ended.err).toContain('Merge signalbox/main into ticket/p/file');
    git(world.repo, 'merge-base', '--is-ancestor', 'main', 'signalbox/main');
    expect(git(world.repo, 'show', 'signalbox/main:a.txt')).toBe('a');
  });
});

describe.concurrent('checks', () => {
  it('runs the commands of the settings in order and stops at the first that fails', async ({ world }) => {
    setUp(world);
    world.config({ checks: ['echo one', 'echo two >&2; exit 4', 'echo three'] });
    const { code, out, err } = await world.cli('checks');
    expect(code).toBe(1);
    expect(out).toContain('one\n');
    expect(out).toContain('$ echo one\none\n');
    expect(err).toContain('two\n');
    expect(err).toContain('✗ echo two >&2; exit 4 exited with code 4');
    expect(out + err).not.toContain('three');
  });

  it('takes the project’s own scripts where nothing is configured', async ({ world }) => {
    setUp(world);
    const scripts = { test: 'echo tested', build: 'echo built', other: 'exit 1' };
    writeFileSync(join(world.repo, 'package.json'), JSON.stringify({ scripts }));
    const { code, out } = await cliIn(world, world.repo, ['checks']);
    expect({ code, end: out.trimEnd().split('\n').at(-1) }).toEqual({ code: 0, end: '✓ 2 passed' });
    expect(out).toContain('$ npm run test\n');
    expect(out).toContain('$ npm run build\n');
  });

  it('works on the worktree of the phase it is called from', async ({ world }) => {
    setUp(world);
    world.config({ checks: ['pwd'] });
    const { out } = await cliIn(world, world.dir, ['checks'], { SIGNALBOX_WORKTREE: world.repo });
    expect(out).toContain(`${world.repo}\n`);
  });

  it('prints nothing but JSON on standard output when asked for JSON', async ({ world }) => {
    setUp(world);
    world.config({ checks: ['echo one', 'false'] });
    const { code, out, err } = await world.cli('checks', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({
      ok: false,
      results: [
        { command: 'echo one', code: 0 },
        { command: 'false', code: 1 },
      ],
    });
    expect(err).toContain('one\n');
  });

  it('says so when there are none', async ({ world }) => {
    setUp(world);
    const { code, out } = await world.cli('checks');
    expect({ code, out }).toEqual({
      code: 0,
      out: 'No checks are configured and the project has none of its own.\n',
    });
  });
});
