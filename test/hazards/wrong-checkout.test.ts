import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, isRunning, it, story, type World, waitFor } from '../support/index.ts';
import { firstOnly } from '../support/tiers.ts';

/** Ways to spoil a worktree between two phases, by ticket; each runs in it. */
const SPOILED: Record<string, string> = {
  'other-branch': 'git switch --quiet --create somewhere-else',
  detached: 'git switch --quiet --detach',
  'plain-directory':
    'cd ..; mv plain-directory aside-1; mkdir plain-directory; cp aside-1/*.txt plain-directory',
  'plain-file': 'cd ..; mv plain-file aside-2; echo mine > plain-file',
  'another-repository':
    'b=$SIGNALBOX_BRANCH; cd ..; mv another-repository aside-3; git init --quiet -b "$b" another-repository',
  'link-to-the-checkout':
    'cd ..; mv link-to-the-checkout aside-4; ln -s "$SCRATCH_REPO" link-to-the-checkout',
  'link-to-a-sibling': 'cd ..; mv link-to-a-sibling aside-5; ln -s detached link-to-a-sibling',
};

function prepare(world: World, tickets: string[], spoiled = SPOILED): void {
  const cases = Object.entries(spoiled).map(([id, lines]) => `${id}) ${lines};;`);
  world.agent('agent', 'commit');
  world.script(
    'spoil.sh',
    `SCRATCH_REPO='${world.repo}'\ncase $SIGNALBOX_TICKET in\n${cases.join('\n')}\nesac`,
  );
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build it.', onSuccess: 'spoil' },
    { id: 'spoil', type: 'script', command: 'spoil.sh', onSuccess: 'polish' },
    { id: 'polish', type: 'agent', prompt: 'Polish it.', maxRetries: 2 },
  ]);
  world.plan('p', { tickets: Object.fromEntries(tickets.map((id) => [id, {}])) });
}

const ROWS = [
  ['run', null, 'names a repository'],
  ['daemon', './some/where', 'is relative'],
  ['run', './some/where', 'is relative'],
  ['daemon', null, 'names a repository'],
] as const;

describe('a worktree that is not what the ticket recorded', () => {
  it.concurrent('fails the attempt before the agent is started, whatever was put in its place', async ({
    world,
  }) => {
    prepare(world, Object.keys(SPOILED));
    const head = git(world.repo, 'rev-parse', 'HEAD');
    const { code, out } = await world.cli('run', 'p');
    expect(code, out).toBe(1);
    for (const id of Object.keys(SPOILED)) {
      const ticket = world.ticket('p', id);
      expect(story(ticket), id).toEqual(['build success', 'spoil success', 'polish failure']);
      expect(ticket.status, id).toBe('failed');
      expect(ticket.phaseHistory.at(-1)?.error, id).toMatchObject({ class: 'workspace' });
      expect(ticket.error, id).toContain(world.worktree('p', id));
      expect(git(world.repo, 'log', '--format=%s', '-1', `ticket/p/${id}`)).toBe('build');
    }
    const polished = world.calls().filter((call) => call.attempt.startsWith('polish'));
    expect(polished).toEqual([]);
    expect(git(world.repo, 'rev-parse', 'HEAD')).toBe(head);
    expect(git(world.repo, 'status', '--porcelain')).toBe('');
  });

  it.concurrent('is made again from its branch when somebody deleted it', async ({ world }) => {
    prepare(world, ['gone'], { gone: 'cd ..; rm -rf gone' });
    const { code, out, err } = await world.cli('run', 'p');
    expect(code, out + err).toBe(0);
    const [polish] = world.calls('start', { attempt: 'polish.1.1' });
    expect(polish?.cwd).toBe(world.worktree('p', 'gone'));
    expect(git(world.repo, 'log', '--format=%s', 'main..ticket/p/gone')).toBe('polish\nbuild');
  });

  it.concurrent('a path that is taken before the run starts refuses it and is left alone', async ({
    world,
  }) => {
    prepare(world, ['file', 'directory', 'checkout', 'fine']);
    const place = (id: string) => world.worktree('p', id);
    mkdirSync(join(place('directory'), 'sub'), { recursive: true });
    writeFileSync(place('file'), 'precious');
    writeFileSync(join(place('directory'), 'sub', 'precious.txt'), 'precious');
    git(dirname(place('checkout')), 'clone', '--quiet', world.repo, 'checkout');
    const { code, err } = await world.cli('run', 'p');
    expect(code).toBe(2);
    for (const id of ['file', 'directory', 'checkout'])
      expect(err).toContain(`Worktree of ${id}: The worktree path ${place(id)} is taken by`);
    expect(world.calls('start')).toEqual([]);
    expect(existsSync(place('fine'))).toBe(false);
    expect(existsSync(join(place('directory'), 'sub', 'precious.txt'))).toBe(true);
  });

  it.concurrent('two tickets of one path: the second fails or is refused, and never works in the first one’s tree', async ({
    world,
  }) => {
    prepare(world, []);
    world.agent('agent', 'alone; go; commit');
    const worktree = join(world.worktrees, 'shared');
    for (const id of ['p', 'q']) world.plan(id, { tickets: { a: { worktree } } });
    const runs = ['p', 'q'].map((id) => world.start(['run', id]));
    await waitFor('one of them to end', () => runs.some(({ alive }) => !alive));
    world.go();
    const codes = (await Promise.all(runs.map((run) => run.ended))).map(({ code }) => code);
    // Refused when the other one has its worktree already; failed where both found the path free.
    expect([
      [0, 1],
      [0, 2],
    ]).toContainEqual(codes.sort());
    const statuses = ['p', 'q'].map((id) => world.ticket(id, 'a').status).sort();
    expect(statuses).toEqual(['complete', codes.includes(2) ? 'queued' : 'failed']);
    expect(new Set(world.calls().map((call) => call.ticket)).size).toBe(1);
  });

  it.concurrent('a live agent whose tree was spoiled while no engine watched does not count as success', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'alone; go; commit');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true } }]);
    world.plan('p', { tickets: { a: {} } });
    const first = world.start(['run', 'p']);
    const { pid } = await world.call('start');
    await first.kill('SIGKILL');
    git(world.worktree('p', 'a'), 'switch', '--quiet', '--create', 'somewhere-else');
    const second = world.start(['run', 'p']);
    await second.says('taken over');
    world.go();
    expect((await second.ended).code).toBe(1);
    const ticket = world.ticket('p', 'a');
    expect(ticket).toMatchObject({ status: 'failed', claim: null });
    expect(ticket.phaseHistory.at(-1)?.error?.class).toBe('workspace');
    expect(world.calls('start')).toHaveLength(1);
    expect(isRunning(pid)).toBe(false);
  });

  it.concurrent('commits on another branch are no evidence', async ({ world }) => {
    world.agent('agent', 'git switch --quiet --create somewhere-else; commit');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true } }]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'failed' });
    expect(world.ticket('p', 'a').error).toContain('it is on branch somewhere-else');
  });

  it.concurrent('a repository that is missing, bare or without a commit holds back only its own ticket', async ({
    world,
  }) => {
    prepare(world, []);
    const at = (name: string) => join(world.dir, name);
    git(world.dir, 'init', '--quiet', '--bare', 'bare');
    git(world.dir, 'init', '--quiet', 'unborn');
    mkdirSync(at('plain'));
    world.plan('p', {
      tickets: {
        missing: { repo: at('nowhere') },
        bare: { repo: at('bare') },
        unborn: { repo: at('unborn') },
        plain: { repo: at('plain') },
        relative: { repo: './some/where' },
        fine: {},
      },
    });
    world.plan('q', { repo: null, tickets: { problemsWithoutPlan: {} } });
    const daemon = world.invoke(['daemon', '-c', '8']);
    await world.reaches('p', 'fine', 'complete');
    for (const id of ['missing', 'bare', 'unborn', 'plain'])
      expect((await world.reaches('p', id, 'failed')).error, id).toContain(at(''));
    expect((await world.reaches('p', 'relative', 'needs_attention')).error).toContain('is relative');
    expect((await world.reaches('q', 'problemsWithoutPlan', 'needs_attention')).error).toContain(
      'names a repository',
    );
    expect((await daemon.kill('SIGTERM')).code).toBe(0);
    expect(world.calls('start').every((call) => call.ticket === 'p/fine')).toBe(true);
  });

  for (const [index, [front, repo, why]] of ROWS.entries())
    it.concurrent(
      `a ${front} lets go of all tickets of a plan whose repository is ${repo}`,
      firstOnly(index, 2),
      async ({ world }) => {
        prepare(world, []);
        const ids = ['a', 'b', 'c'];
        world.plan('q', { repo, tickets: { a: {}, b: {}, c: {} } });
        const engine = world.start(front === 'run' ? ['run', 'q', '-c', '4'] : ['daemon', '-c', '4']);
        if (front === 'run') expect((await engine.ended).code).toBe(1);
        for (const id of ids) await world.reaches('q', id, 'needs_attention');
        // Makes the daemon look at everything once more.
        world.plan('later', { repo, tickets: { z: {} } });
        if (front === 'daemon') await world.reaches('later', 'z', 'needs_attention');
        for (const id of ids) {
          const ticket = world.ticket('q', id);
          expect(ticket, id).toMatchObject({
            status: 'needs_attention',
            claim: null,
            hold: { kind: 'broken' },
          });
          expect(ticket.error, id).toContain(why);
        }
        if (front === 'daemon') expect((await engine.kill('SIGTERM')).code).toBe(0);
      },
    );
});

it('two repositories beside each other never share a worktree path', async ({ world }) => {
  world.agent('agent', 'note at; commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true } }]);
  const other = join(world.dir, 'other');
  git(world.dir, 'clone', '--quiet', world.repo, other);
  world.plan('p', {
    tickets: {
      a: { branch: 'feature' },
      b: { branch: 'feature', repo: other },
      c: { repo: other },
      // Recorded by an earlier engine.
      d: { repo: other, worktree: join(world.worktrees, 'kept') },
    },
  });
  const { code, out, err } = await world.cli('run', 'p');
  expect(code, out + err).toBe(0);
  const paths = ['a', 'b', 'c', 'd'].map((id) => world.calls('at', { ticket: `p/${id}` })[0]?.cwd ?? '');
  expect(new Set(paths).size).toBe(4);
  expect(paths).toContain(join(world.worktrees, 'feature'));
  expect(paths[2]).toBe(join(world.worktrees, 'ticket/p/c'));
  expect(paths[3]).toBe(join(world.worktrees, 'kept'));
  for (const [repo, id] of [[world.repo, 'a'] as const, [other, 'b'] as const])
    expect(git(repo, 'show', `feature:work-${id}.txt`)).toContain('build');
});

it('a tree that several tickets share stays where it is when another repository leaves its usual path', async ({
  world,
}) => {
  world.agent('agent', 'note at; go; commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true } }]);
  const other = join(world.dir, 'other');
  git(world.dir, 'clone', '--quiet', world.repo, other);
  const branch = 'feature';
  world.plan('p', { tickets: { a: { branch } } });
  world.plan('q', { repo: other, workspace: 'shared', tickets: { b: { branch }, c: { branch } } });
  const first = world.invoke(['run', 'p']);
  await world.call('at', { ticket: 'p/a' });
  const second = world.invoke(['run', 'q']);
  const { cwd } = await world.call('at', { ticket: 'q/b' });
  world.go('a');
  expect((await first.ended).code).toBe(0);
  world.go();
  const { code, out } = await second.ended;
  expect(code, out).toBe(0);
  expect(world.calls('at', { ticket: 'q/c' })).toMatchObject([{ cwd }]);
});
