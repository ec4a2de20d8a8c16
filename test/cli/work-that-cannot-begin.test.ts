import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, othersGoOn, type Shown, setUp, type World, worktreesOf } from './support.ts';

describe.concurrent('work that cannot begin waits for a person, with the reason and the fix', () => {
  const told: [string, (world: World, id: string) => void, string, RegExp][] = [
    [
      'an unknown agent',
      (world, id) => world.plan(id, { agent: 'nobody', tickets: { a: {} } }),
      'no agent is called "nobody"',
      /Agents: .*agent/,
    ],
    [
      'an agent whose program is not there',
      (world, id) => {
        world.config({ agents: { absent: { command: 'no-such-program' } } });
        world.plan(id, { agent: 'absent', tickets: { a: {} } });
      },
      'Agent absent: no-such-program not found on PATH',
      /signalbox doctor|PATH|command/,
    ],
    [
      'an unknown workflow',
      (world, id) => world.plan(id, { workflow: 'wrok', tickets: { a: {} } }),
      'There is no workflow "wrok".',
      /Did you mean "work"\?/,
    ],
    [
      'no repository at all',
      (world, id) => world.plan(id, { repo: null, tickets: { a: {} } }),
      'names a repository',
      /Set "repo"/,
    ],
    [
      'a relative repository path',
      (world, id) => world.plan(id, { repo: './some/where', tickets: { a: {} } }),
      'is relative',
      /absolute path/,
    ],
    [
      'a repository whose clone is not named',
      (world, id) => world.plan(id, { repo: 'some/where', tickets: { a: {} } }),
      'is not in "repos" of this machine',
      /repos: some\/where: \/path/,
    ],
    [
      'a repository that is not there',
      (world, id) => world.plan(id, { repo: join(world.dir, 'gone'), tickets: { a: {} } }),
      'does not exist or is not a directory',
      /Correct `repo`/,
    ],
    [
      'a directory that is no repository',
      (world, id) => world.plan(id, { repo: join(world.dir, 'user'), tickets: { a: {} } }),
      'is not in the checkout of a git repository',
      /git -C \S+ init/,
    ],
    [
      'a bare repository',
      (world, id) => {
        git(world.dir, 'init', '--quiet', '--bare', 'bare.git');
        world.plan(id, { repo: join(world.dir, 'bare.git'), tickets: { a: {} } });
      },
      'is bare: it has no checkout',
      /normal clone/,
    ],
    [
      'a repository without a commit',
      (world, id) => {
        git(world.dir, 'init', '--quiet', 'empty');
        world.plan(id, { repo: join(world.dir, 'empty'), tickets: { a: {} } });
      },
      'has no commit to start from',
      /commit --allow-empty/,
    ],
    [
      'a base branch that is not there',
      (world, id) => world.plan(id, { base: 'nowhere', tickets: { a: {} } }),
      'The base branch nowhere does not exist',
      /`base`|branch/,
    ],
    [
      'a worktree path that is taken',
      (world, id) => {
        mkdirSync(world.worktree(id, 'a'), { recursive: true });
        writeFileSync(join(world.worktree(id, 'a'), 'mine.txt'), 'x');
        world.plan(id, { tickets: { a: {} } });
      },
      'is taken by a directory with other content',
      /Move it away|another place/,
    ],
    [
      'a worktree root that is a file',
      (world, id) => {
        writeFileSync(join(world.dir, 'afile'), '');
        world.plan(id, { worktreeRoot: join(world.dir, 'afile'), tickets: { a: {} } });
      },
      'afile is not a directory',
      /set `worktreeRoot` of the plan or the settings/,
    ],
  ];
  /** Found before the plan starts: it is held until that is fixed, and needs no retry. */
  const FOUND_BEFORE = new Set([
    'an unknown agent',
    'an agent whose program is not there',
    'a worktree path that is taken',
    'a worktree root that is a file',
  ]);
  it('for each of many reasons', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'commit', {});
    world.config({ maxConcurrency: 20 });
    for (const [index, [, prepare]] of told.entries()) prepare(world, `p${index}`);
    await othersGoOn(world);
    expect(world.calls('start').map(({ ticket }) => ticket)).toEqual(['good/fine']);
    const all = await world.json<Shown[]>('status');
    const { out } = await world.cli('status');
    const parts = out.split('\n\n');
    for (const [index, [what, , message, fix]] of told.entries()) {
      const { tickets } = all.find(({ plan }) => plan?.id === `p${index}`) ?? { tickets: [] };
      const status = FOUND_BEFORE.has(what) ? 'ready' : 'needs_attention';
      expect(tickets[0], what).toMatchObject({ status, claim: null });
      const part = parts.find((text) => text.startsWith(`p${index}\n`));
      expect(part, what).toContain(message);
      if (status === 'needs_attention') expect(part, what).toContain(`→ signalbox retry p${index} a`);
      expect(part, what).toMatch(fix);
    }
  });

  it('a prompt over one megabyte', { tags: 'full' }, async ({ world }) => {
    setUp(world, 'commit', {});
    world.workflow('long', [{ id: 'build', type: 'agent', prompt: '{{ description }}' }]);
    world.plan('p', { workflow: 'long', tickets: { a: { description: 'x'.repeat(1_048_577) } } });
    const checked = await world.cli('plan', 'check', 'p');
    expect(checked.code).not.toBe(0);
    expect(checked.out).toContain('The description has 1048577 bytes; a prompt may have at most 1048576.');
    expect(checked.out).toContain('signalbox plan edit p a --description-file <file>');
    await othersGoOn(world);
    expect(world.ticket('p', 'a')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(
        /has 1048577 bytes; at most 1048576 are allowed\. Shorten \{\{ description \}\}, which takes most of it, or let/,
      ),
    });
    world.plan('q', { workflow: 'long', tickets: { b: { description: 'x'.repeat(1_048_576) } } });
    expect((await world.cli('run', 'q')).code).toBe(0);
  });

  it('leaves what is at a taken path as it is', async ({ world }) => {
    setUp(world, 'commit');
    mkdirSync(world.worktree('p', 'a'), { recursive: true });
    writeFileSync(join(world.worktree('p', 'a'), 'mine.txt'), 'x');
    await world.cli('run', 'p');
    expect(readFileSync(join(world.worktree('p', 'a'), 'mine.txt'), 'utf8')).toBe('x');
    expect(worktreesOf(world.repo)).toEqual([]);
  });

  it('but a dirty repository is fine: work starts from what is committed', async ({ world }) => {
    setUp(world, 'cat README.md; commit');
    writeFileSync(join(world.repo, 'README.md'), 'changed, not committed\n');
    writeFileSync(join(world.repo, 'loose.txt'), 'x');
    git(world.repo, 'add', 'README.md');
    const before = git(world.repo, 'status', '--porcelain');
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect((await world.cli('logs', 'p', 'a')).out).toContain('A scratch repository.');
    expect(git(world.repo, 'diff', '--name-only', 'main', 'ticket/p/a')).toBe('work-a.txt');
    expect(git(world.repo, 'status', '--porcelain')).toBe(before);
  });
});

it.concurrent('plan check says of a ticket with an illegal branch that it cannot be used', async ({
  world,
}) => {
  setUp(world);
  world.writeTicket('p', 'a', { title: 'A', branch: '-x' });
  const { out, code } = await world.cli('plan', 'check', 'p');
  expect(code).toBe(1);
  expect(out).toContain('cannot be used, see below');
  expect(out).not.toContain('unreadable');
});

it.concurrent('status says of a blocker whose plan rests why it will not move, and what helps', async ({
  world,
}) => {
  setUp(world, 'commit', {});
  world.plan('dr', { status: 'draft', tickets: { d: {} } });
  world.plan('ar', { status: 'archived', tickets: { x: {}, y: { status: 'complete' } } });
  world.plan('p', {
    tickets: {
      a: { blockedBy: ['dr/d'] },
      b: { blockedBy: ['ar/x', 'a'] },
      c: { blockedBy: ['ar/y'] },
      e: { blockedBy: ['ar/x'] },
    },
  });
  const { tickets } = await world.json<Shown>('status', '--plan', 'p');
  const told = Object.fromEntries(tickets.map(({ ticketId, why, next }) => [ticketId, { why, next }]));
  expect(told).toMatchObject({
    a: { why: 'waits for dr/d (its plan is a draft)', next: 'signalbox plan approve dr' },
    b: { why: 'waits for ar/x (its plan is archived), a (not complete yet)' },
    c: { why: 'no engine is running' },
    e: { why: 'waits for ar/x (its plan is archived)', next: 'signalbox plan edit p e --blocked-by ""' },
  });
  expect(told.b?.next).toBe('signalbox plan edit p b --blocked-by "a"');
  expect((await world.cli('plan', 'edit', 'p', 'e', '--blocked-by', '')).code).toBe(0);
  expect((await world.json<Shown>('status', '--plan', 'p')).tickets.at(-1)).toMatchObject({
    why: 'no engine is running',
  });
});

it.concurrent('plan check tells of a base that has gone since, and of tickets that wait for a person', async ({
  world,
}) => {
  setUp(world, 'commit', {});
  git(world.repo, 'branch', 'trunk');
  world.plan('p', { base: 'trunk', tickets: { a: {}, b: {} } });
  expect((await world.cli('run', 'p', 'a')).code).toBe(0);
  git(world.repo, 'branch', '-D', 'trunk');
  expect((await world.cli('run', 'p', 'b')).code).toBe(1);
  expect(world.ticket('p', 'b').status).toBe('needs_attention');
  const { code, out } = await world.cli('plan', 'check', 'p');
  expect(code).toBe(1);
  expect(out).toContain(`✗ p: The base branch trunk does not exist in ${world.repo}.`);
  expect(out).toContain('! b: The ticket needs attention: ');
  expect(out).toContain('signalbox retry p b');
  expect(out).not.toContain('can run');
});

it.concurrent('plan check tells of work that nothing could be merged into, before agents do it', async ({
  world,
}) => {
  setUp(world, 'commit', {});
  const commit = git(world.repo, 'rev-parse', 'HEAD').trim();
  world.plan('p', { base: commit, workflow: 'local', tickets: { a: {}, b: { workflow: 'minimal' } } });
  const { code, out } = await world.cli('plan', 'check', 'p');
  expect(code).toBe(1);
  expect(out).toContain(
    '✗ p: The work would start from a commit on no branch, and phase "integrate" could not merge it.',
  );
  world.plan('q', { base: commit, workflow: 'minimal', tickets: { a: {} } });
  expect((await world.cli('plan', 'check', 'q')).code).toBe(0);
});

it.concurrent('a ticket is paused, resumed and cancelled where the file of its workflow is not', async ({
  world,
}) => {
  world.plan('p', { workflow: 'elsewhere', tickets: { a: {} } });
  const statusAfter = async (...args: string[]) => {
    expect(await world.cli(...args)).toMatchObject({ code: 0 });
    return world.ticket('p', 'a').status;
  };
  expect(await statusAfter('pause', 'p', 'a')).toBe('paused');
  expect(await statusAfter('resume', 'p', 'a')).toBe('ready');
  expect(await statusAfter('cancel', 'p', 'a', '--yes')).toBe('failed');
});
