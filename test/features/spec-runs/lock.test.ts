import { existsSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { done, git, it, put, runSpec, tasks, type World, waitFor, work, writeSpec } from './support.ts';

const elsewhere = (world: World) => ({ SIGNALBOX_STATE_DIR: join(world.dir, 'other-state') });
const flags = ['--no-tmux', '--delay', '0'];
const HELD = (go: string) => ({
  when: { phase: 'implement' },
  do: [
    { write: { path: 'a.txt', append: 'a\n' } },
    { run: `until [ -e ${go} ]; do sleep 0.05; done` },
    { commit: 'Do it' },
    done(),
  ],
});
const locks = (world: World) => {
  const dir = join(world.repo, '.git', 'signalbox');
  return existsSync(dir) ? readdirSync(dir).filter((name) => /^(spec|tree)-.*\.json$/.test(name)) : [];
};

describe.concurrent('runs of one spec with different state directories', () => {
  it('do not run side by side: the second is refused and names the first', async ({ world }) => {
    world.rehearsal([HELD(`${world.dir}/go-on`)]);
    const dir = writeSpec(world, tasks('One'));
    const first = world.start(['spec', dir, ...flags]);
    await first.says('implement started');
    const second = await world.invoke(['spec', dir, ...flags], elsewhere(world)).ended;
    expect(second).toMatchObject({
      code: 3,
      err: expect.stringContaining(`already being run by spec (pid ${first.pid} on ${hostname()})`),
    });
    expect(second.err).toContain(`SIGNALBOX_STATE_DIR=${world.stateDir} signalbox status --plan spec-limits`);
    const dry = await world.invoke(['spec', dir, '--dry-run'], elsewhere(world)).ended;
    expect(dry.code).toBe(3);
    world.append('go-on', '');
    expect((await first.ended).code).toBe(0);
    expect(locks(world)).toEqual([]);
    expect(work(world)).toEqual(['Do it', 'Tick 1 of limits']);
  });

  it('are refused while the agent of one that was killed still works, and then go on', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([HELD(`${world.dir}/go-on`)]);
    const dir = writeSpec(world, tasks('One'));
    const first = world.start(['spec', dir, ...flags, '--json']);
    await first.says('"a.txt"');
    await first.kill('SIGKILL');
    const { code, err } = await world.invoke(['spec', dir, ...flags], elsewhere(world)).ended;
    expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining('its agent still works') });
    expect(err).toContain(`SIGNALBOX_STATE_DIR=${world.stateDir} signalbox resume spec-limits`);
    world.append('go-on', '');
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(
      (await world.invoke(['spec', dir, ...flags, '--fresh'], elsewhere(world)).ended).err,
    ).not.toContain('already');
  });

  it('do not mind a lock of a process that is gone, or one that nobody can read', { tags: 'full' }, async ({
    world,
  }) => {
    const dir = writeSpec(world, tasks('One'));
    const env = { SIGNALBOX_CRASH_AT: 'ticket:claimed' };
    expect((await world.start(['spec', dir, ...flags], env).ended).signal).toBe('SIGKILL');
    expect(locks(world)).toHaveLength(2);
    const dry = await world.invoke(['spec', dir, '--dry-run'], elsewhere(world)).ended;
    expect({ code: dry.code, err: dry.err }).toEqual({ code: 0, err: '' });
    for (const name of locks(world)) put(join(world.repo, '.git/signalbox', name), '{');
    expect((await runSpec(world, dir)).code).toBe(0);
    expect(locks(world)).toEqual([]);
  });

  it('count those that a daemon has', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([HELD(`${world.dir}/go-on`)]);
    const dir = writeSpec(world, tasks('One'));
    const { out } = await world.cli('spec', dir, ...flags, '--detach');
    try {
      const [, pid] = /^Daemon (\d+)/.exec(out) ?? [];
      // The locks of the spec and of its worktree.
      await waitFor('the daemon to have both locks', () => locks(world).length === 2);
      const { code, err } = await world.invoke(['spec', dir, ...flags], elsewhere(world)).ended;
      expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(`daemon (pid ${pid}`) });
      world.append('go-on', '');
      await world.reaches('spec-limits', '1', 'complete');
      await waitFor('the lock to be gone', () => locks(world).length === 0);
    } finally {
      await world.cli('daemon', 'stop');
    }
  });
});

describe.concurrent('a daemon', () => {
  it.for(['ticket:claimed', 'attempt:recorded'])(
    'waits for a run with another state directory, and no attempt is consumed (killed at %s)',
    { tags: 'full' },
    async (point, { world }) => {
      world.rehearsal([HELD(`${world.dir}/go-on`)]);
      const dir = writeSpec(world, tasks('One'));
      const env = { SIGNALBOX_CRASH_AT: point };
      expect((await world.start(['spec', dir, ...flags], env).ended).signal).toBe('SIGKILL');
      const other = world.start(['spec', dir, ...flags], elsewhere(world));
      await other.says('implement started');
      const daemon = world.start(['daemon']);
      const held = await world.reaches(
        'spec-limits',
        '1',
        ({ hold, claim }) => hold?.kind === 'blocked' && claim === null,
      );
      expect(held).toMatchObject({ status: 'ready', claim: null, error: null, retries: {} });
      expect(held.hold).toMatchObject({
        reason: expect.stringContaining(`pid ${other.pid} on ${hostname()}`),
        until: expect.any(String),
        lock: true,
      });
      expect((await world.cli('status', 'spec-limits')).out).toContain(
        `already being run by spec (pid ${other.pid}`,
      );
      world.append('go-on', '');
      expect((await other.ended).code).toBe(0);
      const after = await world.reaches('spec-limits', '1', 'complete');
      expect(after.phaseHistory.filter(({ status }) => status === 'failure')).toEqual([]);
      const { out } = await daemon.kill('SIGTERM');
      expect(out.split('already being run').length, out).toBe(2);
    },
  );
});

describe.concurrent('two specs', () => {
  it('do not work in one checkout at the same time', async ({ world }) => {
    world.rehearsal([HELD(`${world.dir}/go-on`)]);
    const one = writeSpec(world, tasks('One'), { name: 'one' });
    const two = writeSpec(world, tasks('Two'), { name: 'two' });
    const first = world.start(['spec', one, ...flags, '--in-place']);
    await first.says('implement started');
    const { code, err } = await runSpec(world, two, '--in-place');
    expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(`pid ${first.pid}`) });
    world.append('go-on', '');
    expect((await first.ended).code).toBe(0);
    expect((await runSpec(world, two, '--in-place')).code).toBe(0);
    expect(git(world.repo, 'log', '-1', '--format=%s')).toBe('Tick 1 of two');
  });
});
