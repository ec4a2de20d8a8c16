import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { git, it, story, waitFor } from '../support/index.ts';
import { prepare, report, WORK } from './sandbox-support.ts';

describe('the work of a sandboxed agent', () => {
  it('has no network when it is told so', async ({ world }) => {
    const look = `ls /sys/class/net; cat /proc/net/dev | grep -v lo: | grep -c : > report.txt; git add --all; git commit -qm Net`;
    prepare(world, look, { sandboxNetwork: false });
    world.plan('p', { tickets: { a: {} } });
    const run = await world.cli('run', 'p');
    expect(run.code, run.out + run.err).toBe(0);
    expect(report(world)).toEqual(['0']);
  });

  it('keeps uncommitted work for the next attempt, and scripts see what it committed', async ({ world }) => {
    prepare(world, '');
    world.agent(
      'agent',
      'if [ -e half.txt ]; then git add --all; git commit -qm Whole; else echo x > half.txt; exit 3; fi',
      { sandbox: 'bwrap' },
    );
    world.script(
      'look.sh',
      '[ "$(git log -1 --format=%s)" = Whole ] && [ -z "$(git status --porcelain)" ] || exit 4',
    );
    world.workflow('work', [
      { ...WORK, maxRetries: 1, onSuccess: 'look' },
      { id: 'look', type: 'script', command: 'look.sh' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(story(world.ticket('p', 'a'))).toEqual(['build failure', 'build success', 'look success']);
  });

  it('loses nothing that was committed when the engine is killed', async ({ world }) => {
    const work = 'git commit --allow-empty -qm Before; mkfifo wait; echo > there.txt; read x < wait';
    prepare(world, work);
    world.plan('p', { tickets: { a: {} } });
    const run = world.start(['run', 'p']);
    await waitFor('a commit', () => existsSync(join(world.worktree('p', 'a'), 'there.txt')));
    await run.kill('SIGKILL');
    expect((await world.cli('pause', 'p', 'a')).code).toBe(0);
    world.agent('agent', 'git commit --allow-empty -qm After', { sandbox: 'bwrap' });
    await world.cli('resume', 'p', 'a');
    const again = await world.cli('run', 'p');
    expect(again.code, again.out + again.err).toBe(0);
    const log = git(world.repo, 'log', '--format=%s', 'main..ticket/p/a').trim().split('\n');
    expect(log).toEqual(['After', 'Before']);
  });

  it('is not taken for one that cost nothing when it breaks its git directory', async ({ world }) => {
    prepare(world, 'ln -s /etc/passwd "$(git rev-parse --git-dir)/x"');
    const again = { ...WORK, id: 'again' };
    world.workflow('work', [{ ...WORK, maxRetries: 0, onFailure: 'again' }, again]);
    world.config({ budgets: { ticket: { tokens: 1000 }, unknown: 'block' } });
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const ticket = world.ticket('p', 'a');
    expect(ticket.phaseHistory.map(({ phase, error }) => [phase, error?.class])).toEqual([
      ['build', 'workspace'],
    ]);
    expect(ticket.hold?.reason).toContain('the cost of phase build of ');
  });
});
