import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, worktreesOf } from '../support/index.ts';

describe('what exists only in a worktree', () => {
  it.concurrent('keeps the worktree of a complete ticket, and the run says where and why', async ({
    world,
  }) => {
    world.agent(
      'agent',
      `commit
       case $SIGNALBOX_TICKET in
         changed) echo more >> README.md;;
         untracked) echo notes > notes.txt;;
         staged) echo staged > staged.txt; git add staged.txt;;
         stashless) git switch --quiet --detach; commit loose; git switch --quiet -;;
       esac`,
    );
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.', expect: { commits: true } }]);
    const kept = { changed: 'README.md', untracked: 'notes.txt', staged: 'staged.txt' };
    world.plan('p', { tickets: { changed: {}, untracked: {}, staged: {}, clean: {} } });
    const { code, out } = await world.cli('run', 'p');
    expect(code, out).toBe(0);
    for (const [id, file] of Object.entries(kept)) {
      const path = world.worktree('p', id);
      expect(existsSync(join(path, file)), id).toBe(true);
      expect(out).toContain(`${id}: worktree kept at ${path} (it has uncommitted files: ${file})`);
      const event = world.events('p').find((each) => each.type === 'workspace:keep' && each.ticketId === id);
      expect(event).toMatchObject({ path, reason: expect.stringContaining(file) });
    }
    expect(worktreesOf(world.repo).sort()).toEqual(
      Object.keys(kept)
        .map((id) => world.worktree('p', id))
        .sort(),
    );
  });

  it.concurrent('stays after a failure, a pause and a deleted plan', { tags: 'full' }, async ({ world }) => {
    world.agent('agent', 'echo half > half.txt; note wrote; [ $SIGNALBOX_TICKET = fails ] && exit 1; go');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
    world.plan('p', { tickets: { fails: {}, pauses: {} } });
    const run = world.invoke(['run', 'p']);
    await world.call('wrote', { ticket: 'p/pauses' });
    await world.reaches('p', 'fails', 'failed');
    expect((await world.cli('pause', 'p', 'pauses')).code).toBe(0);
    expect((await run.ended).code).toBe(1);
    const deleted = await world.cli('plan', 'delete', 'p', '--force');
    expect(deleted.code).toBe(1);
    expect(deleted.err).toContain(world.worktree('p', 'fails'));
    for (const id of ['fails', 'pauses'])
      expect(readFileSync(join(world.worktree('p', id), 'half.txt'), 'utf8')).toBe('half\n');
    const diff = await world.cli('diff', 'p', 'fails');
    expect(diff.out).toContain('+half');
  });

  it.concurrent('a commit that no branch holds keeps the worktree', async ({ world }) => {
    world.agent('agent', 'commit; git switch --quiet --detach; commit loose');
    world.script('fine.sh', 'git symbolic-ref --quiet HEAD || true');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const path = world.worktree('p', 'a');
    expect(git(path, 'log', '-1', '--format=%s')).toBe('loose');
  });

  it.concurrent('a worktree in which a process still works is not given away', async ({ world }) => {
    // env -i hides it from the sweep after the attempt: only its working directory gives it away.
    world.agent(
      'agent',
      `commit; env -i setsid sh -c 'echo $$ > "${world.dir}/squatter"; exec sleep 60' > /dev/null 2>&1 &
      while [ ! -s "${world.dir}/squatter" ]; do sleep 0.02; done`,
    );
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
    world.plan('p', { tickets: { a: {} } });
    const { out } = await world.cli('run', 'p');
    const pid = world.read('squatter').trim();
    process.kill(Number(pid), 'SIGKILL');
    expect(out).toContain(`process ${pid} works in it`);
    expect(worktreesOf(world.repo)).toEqual([world.worktree('p', 'a')]);
  });
});
