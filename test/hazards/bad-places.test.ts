import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { it, type World } from '../support/index.ts';
import { within } from '../support/within.ts';

const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();
const prepare = (world: World) => {
  world.agent('agent', 'commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } }]);
};

describe.concurrent('a place that cannot be used', () => {
  it('as a base that is no commit here is refused, and the repository stays as it was', async ({ world }) => {
    prepare(world);
    const missing = '1234567890123456789012345678901234567890';
    world.plan('p', { base: missing, tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').error).toContain(`The base ${missing} is no commit`);
    expect(existsSync(join(world.repo, '.git/worktrees'))).toBe(false);
    git(world.repo, 'gc', '--quiet');
    writeFileSync(world.planFile('p'), JSON.stringify({ ...world.readPlan('p'), base: 'main' }));
    await world.cli('retry', 'p', 'a');
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it('of one ticket holds back that ticket alone', async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {}, b: { repo: 'rel/x' } } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').status).toBe('complete');
    expect(world.ticket('p', 'b').error).toContain('The repository rel/x of p/b is not in "repos"');
    expect(world.readPlan('p').claim).toBeNull();
  });

  it('for worktrees is an error, and others go on', async ({ world }) => {
    prepare(world);
    world.plan('bad', { worktreeRoot: '/proc/1/wt', tickets: { a: {} } });
    world.plan('good', { tickets: { a: {} } });
    expect((await world.cli('run', 'bad')).code).toBe(1);
    expect(world.ticket('bad', 'a').error).toContain('/proc/1/wt');
    expect((await world.cli('run', 'good')).code).toBe(0);
  });
});

describe.concurrent('an origin', () => {
  const addOrigin = (world: World, url: string) => {
    git(world.repo, 'remote', 'add', 'origin', url);
    git(world.repo, 'update-ref', 'refs/remotes/origin/main', 'HEAD');
    git(world.repo, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main');
  };

  it('that does not answer holds up no run that needs nothing of it', async ({ world }) => {
    const silent = createServer(() => undefined);
    await new Promise<void>((ready) => silent.listen(0, '127.0.0.1', ready));
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : 0;
    try {
      addOrigin(world, `git://127.0.0.1:${port}/x`);
      world.workflow('ask', [
        { id: 'ask', type: 'gate', prompt: 'Go?', on: { yes: 'done' } },
        { id: 'done', type: 'terminal' },
      ]);
      world.plan('p', { workflow: 'ask', tickets: { a: {} } });
      const began = performance.now();
      expect((await world.cli('run', 'p')).code).toBe(1);
      expect(performance.now() - began).toBeLessThan(within(30_000));
    } finally {
      silent.close();
    }
  });

  it('that is away is told of, and asked again as soon as it is back', async ({ world }) => {
    prepare(world);
    const origin = join(dirname(world.repo), 'origin.git');
    git(world.repo, 'clone', '--quiet', '--bare', '.', origin);
    addOrigin(world, origin);
    renameSync(origin, `${origin}.away`);
    world.plan('p', { tickets: { a: {} } });
    const { code, out } = await world.cli('run', 'p');
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('origin/main was not fetched') });
    renameSync(`${origin}.away`, origin);
    const tree = git(origin, 'rev-parse', 'HEAD^{tree}');
    const ahead = git(
      origin,
      '-c',
      'user.name=x',
      '-c',
      'user.email=x@y',
      'commit-tree',
      tree,
      '-p',
      'HEAD',
      '-m',
      'Upstream',
    );
    git(origin, 'update-ref', 'refs/heads/main', ahead);
    world.plan('q', { tickets: { a: {} } });
    expect((await world.cli('run', 'q')).code).toBe(0);
    expect(world.ticket('q', 'a').base?.commit).toBe(ahead);
  });
});

describe.concurrent('a slot that somebody has worked in', () => {
  it('is set aside, and run and clean say where it is and what is in it', async ({ world }) => {
    prepare(world);
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const slots = join(dirname(dirname(dirname(world.ticket('p', 'a').worktree ?? ''))), '.slots');
    appendFileSync(join(slots, '0', 'README.md'), 'precious\n');
    world.plan('q', { tickets: { a: {} } });
    const { out } = await world.cli('run', 'q');
    expect(out).toContain(join(slots, 'kept-1'));
    const { out: told } = await world.cli('clean');
    expect(told).toMatch(/kept-1.*deleting it would lose 1 uncommitted file/);
  });
});
