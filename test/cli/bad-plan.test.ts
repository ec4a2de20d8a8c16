import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, refusal, type Shown, setUp, stateOf, type World, worktreesOf } from './support.ts';

/** Runs everything there is once; the good plan must be complete afterwards whatever else there was. */
async function othersGoOn(world: World): Promise<string> {
  world.plan('good', { tickets: { fine: {} } });
  const { out, err } = await world.cli('tick');
  expect(err).toBe('');
  expect(world.ticket('good', 'fine').status).toBe('complete');
  return out;
}

describe.concurrent('a ticket file that cannot be used holds back that ticket alone', () => {
  const good = { planId: 'p', ticketId: 'bad', title: 'x' };
  const texts: [string, string, string][] = [
    ['is truncated', JSON.stringify(good, null, 2).slice(0, 30), 'not valid JSON'],
    ['is empty', '', 'the file is empty'],
    ['is a list', '[]', '1:1: found an empty list; allowed is a mapping.'],
    [
      'has no title',
      JSON.stringify({ ...good, title: undefined }),
      '1:1: title: found nothing; allowed is text.',
    ],
    [
      'has a status there is not',
      JSON.stringify({ ...good, status: 'redy' }),
      'allowed is queued, ready, running',
    ],
    ['belongs to another ticket', JSON.stringify({ ...good, ticketId: 'other' }), 'calls itself "p/other"'],
    [
      'was written by a newer version',
      JSON.stringify({ ...good, schema: 99 }),
      'written by a newer Signalbox',
    ],
    [
      'has a branch that starts with -',
      JSON.stringify({ ...good, branch: '-D' }),
      'branch "-D" starts with "-"',
    ],
    ['has an illegal branch', JSON.stringify({ ...good, branch: 'a..b' }), 'branch "a..b" contains ".."'],
    [
      'has a branch with a space',
      JSON.stringify({ ...good, branch: 'a b' }),
      'branch "a b" contains a space',
    ],
  ];
  it('because of what is in it', async ({ world }) => {
    const ids = texts.map((_, index) => `bad${index}`);
    setUp(world, 'commit', { ok: {}, ...Object.fromEntries(ids.map((id) => [id, {}])) });
    const written = texts.map(([, text], index) => text.replace('"bad"', `"bad${index}"`));
    for (const [index, text] of written.entries()) writeFileSync(world.ticketFile('p', `bad${index}`), text);
    const { code, out } = await world.cli('run', 'p');
    expect(code).toBe(1);
    expect(world.ticket('p', 'ok').status).toBe('complete');
    const { problems } = await world.json<Shown>('status', '--plan', 'p');
    for (const [index, [what, , message]] of texts.entries()) {
      const file = world.ticketFile('p', `bad${index}`);
      const line = out.split('\n').find((each) => each.includes(`${file}:`));
      expect(line, what).toContain(message);
      expect(problems[index], what).toMatchObject({
        ticketId: `bad${index}`,
        path: file,
        message: expect.stringContaining(message),
      });
      expect(readFileSync(file, 'utf8'), what).toBe(written[index]);
    }
    for (const id of ['bad0', 'bad5']) {
      const ended = await world.cli('pause', 'p', id);
      expect(ended.code).toBe(2);
      expect(refusal(ended)).toMatch(/\n {3}(Fix or delete the file|Correct planId)/);
    }
  });

  it('when it is missing', async ({ world }) => {
    setUp(world, 'commit', { bad: {}, ok: {} });
    rmSync(world.ticketFile('p', 'bad'));
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect((await world.cli('status')).out).toContain(`✗ ${world.ticketFile('p', 'bad')} does not exist`);
    expect(world.ticket('p', 'ok').status).toBe('complete');
  });

  it('when no plan lists it: it is named with its file', async ({ world }) => {
    setUp(world);
    world.writeTicket('p', 'stray', { title: 'x' });
    const { out } = await world.cli('status');
    expect(out).toContain(`${world.ticketFile('p', 'stray')}: the ticket is not listed in plan.json`);
  });
});

describe.concurrent('a plan file that cannot be used holds back that plan alone', () => {
  const plan = { id: 'bad', status: 'active' };
  const texts: [string, string, string][] = [
    ['is truncated', '{"id": "bad", "tick', 'not valid JSON'],
    ['is empty', '', 'the file is empty'],
    [
      'calls itself otherwise than its directory',
      JSON.stringify({ ...plan, id: 'q' }),
      '"q" but its directory is "bad2"',
    ],
    ['lists an id with a slash', entries('a/b'), 'tickets[0].ticketId: id "a/b" may contain only'],
    ['lists an id with ..', entries('..'), 'tickets[0].ticketId: id ".."'],
    ['lists an id with a newline', entries('a\nb'), 'tickets[0].ticketId: id "a\\nb"'],
    ['lists an id of 300 characters', entries('x'.repeat(300)), 'is 300 characters long'],
    ['has an illegal base', JSON.stringify({ ...plan, base: '--upload-pack=x' }), 'base: branch'],
  ];
  function entries(ticketId: string): string {
    return JSON.stringify({ ...plan, tickets: [{ ticketId }] });
  }
  it('because of what is in it', async ({ world }) => {
    setUp(world, 'commit', {});
    const written = texts.map(([, text], index) => text.replace('"bad"', `"bad${index}"`));
    for (const [index, text] of written.entries()) {
      mkdirSync(dirname(world.planFile(`bad${index}`)), { recursive: true });
      writeFileSync(world.planFile(`bad${index}`), text);
    }
    const told = await othersGoOn(world);
    const { out } = await world.cli('status');
    for (const [index, [what, , message]] of texts.entries()) {
      const file = world.planFile(`bad${index}`);
      expect(told, what).toContain(`${file}:`);
      expect(out, what).toContain(`✗ ${file}:`);
      expect(out, what).toContain(message);
      expect(readFileSync(file, 'utf8'), what).toBe(written[index]);
    }
    for (const index of [0, 2, 3]) {
      const ended = await world.cli('run', '--plan', `bad${index}`);
      expect(ended.code).toBe(2);
      expect(refusal(ended).startsWith(`❌ ${world.planFile(`bad${index}`)}:`)).toBe(true);
      expect(ended.err).toMatch(/\n {3}\S/);
    }
  });

  it('when its directory has a name that no plan can have', async ({ world }) => {
    setUp(world, 'commit', {});
    for (const name of ['bad name', '-rf', '..hidden', 'x'.repeat(200), 'red\u001b[31m']) {
      mkdirSync(join(world.stateDir, 'plans', name), { recursive: true });
      writeFileSync(
        join(world.stateDir, 'plans', name, 'plan.json'),
        JSON.stringify({ id: name, status: 'active' }),
      );
    }
    const told = await othersGoOn(world);
    const { out } = await world.cli('status');
    for (const name of ['bad name', '-rf', '..hidden', 'red'])
      expect(out).toContain(`✗ ${join(world.stateDir, 'plans', name)}: the plan directory's name `);
    expect(told + out).not.toContain('\u001b');
  });

  it('when its tickets wait for each other, or for nothing there is', async ({ world }) => {
    setUp(world, 'commit', {});
    world.plan('loop', { tickets: { a: { blockedBy: ['b'] }, b: { blockedBy: ['a'] } } });
    world.plan('lost', { tickets: { c: { blockedBy: ['loop/zzz'] } } });
    const told = await othersGoOn(world);
    expect(told).toContain('Tickets wait for each other: a → b → a.');
    expect(told).toContain('Ticket "c" is blocked by "loop/zzz", which does not exist.');
    const { code, err } = await world.cli('run', 'lost');
    expect(code).toBe(2);
    expect(err).toContain('see all problems with: signalbox plan check lost');
  });
});

describe.concurrent('what lies where files and directories of a plan belong holds back that plan or ticket alone', () => {
  const odd: [string, (path: string) => void, string, string][] = [
    [
      'tickets',
      (path) => writeFileSync(path, ''),
      'cannot be read: a file is where a directory',
      'Move away',
    ],
    [
      'tickets/a.json',
      (path) => execFileSync('mkfifo', [path]),
      'cannot be read: it is a named pipe',
      'Move it',
    ],
    ['tickets/a.json', (path) => mkdirSync(path), 'cannot be read: it is a directory', 'put a file there'],
    ['plan.json', (path) => execFileSync('mkfifo', [path]), 'cannot be read: it is a named pipe', 'Move it'],
    ['.', (path) => writeFileSync(path, ''), 'is no directory of a plan', 'move it away'],
    ['.', (path) => symlinkSync('nowhere', path), 'is no directory of a plan', 'move it away'],
  ];
  it('whatever it is', async ({ world }) => {
    setUp(world, 'commit', {});
    const places = odd.map(([name, put], index) => {
      world.plan(`bad${index}`, { tickets: { a: {} } });
      const path = join(dirname(world.planFile(`bad${index}`)), name);
      rmSync(path, { recursive: true });
      put(path);
      return path;
    });
    const told = await othersGoOn(world);
    const { out, code } = await world.cli('status');
    expect(code).toBe(0);
    for (const [index, [, , message, fix]] of odd.entries())
      for (const text of [told, out]) {
        const line = text.split('\n').find((each) => each.includes(`${places[index]}`));
        expect(line, text).toContain(message);
        expect(line).toContain(fix);
      }
    for (const index of odd.keys())
      for (const args of [
        ['run', '--plan', `bad${index}`],
        ['plan', 'check', `bad${index}`],
        ['pause', `bad${index}`, 'a'],
      ]) {
        const ended = await world.cli(...args);
        expect(ended.code, args.join(' ')).toBeGreaterThan(0);
        expect(ended.out + ended.err).not.toMatch(/\bE[A-Z]{4,}\b/);
      }
  });
});

describe.concurrent('ids on the command line', () => {
  it('never become paths', async ({ world }) => {
    setUp(world);
    const before = stateOf(world);
    for (const id of ['a/b', '..', 'a\nb', 'x'.repeat(300)])
      for (const args of [
        ['logs', id],
        ['pause', 'p', id],
      ]) {
        const ended = await world.cli(...args);
        expect(ended.code, args.join(' ')).toBe(2);
        expect(refusal(ended)).toMatch(/^❌ The (plan|ticket) id "/);
      }
    for (const args of [
      ['plan', 'delete', '../plans/p', '--force'],
      ['status', '--plan', '../plans/p'],
    ])
      expect((await world.cli(...args)).code).toBe(2);
    expect(stateOf(world)).toEqual(before);
  });
});

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
