import { describe, expect } from 'vitest';
import {
  add,
  done,
  git,
  it,
  runSpec,
  story,
  tasks,
  type World,
  withoutWaits,
  work,
  writeSpec,
} from './support.ts';

const ref = 'refs/signalbox/failed/spec-limits/1-1';
const answer = `echo '<signalbox>{"outcome":"code","owner":"default","criticality":"standard"}</signalbox>'`;

/** Runs a spec whose units are assigned by a script. */
async function assignedBy(world: World, script: string, list: string, ...flags: string[]) {
  withoutWaits(world);
  world.agent('nosy', script);
  world.config({ defaultAgent: 'rehearsal' });
  const dir = writeSpec(world, list, { assigned: false });
  return runSpec(world, dir, '--backend', 'rehearsal', '--assign-backend', 'nosy', ...flags);
}

describe.concurrent('an agent that assigns and does more than read', () => {
  it('has its commit taken out and kept, and that is nobody’s work', async ({ world }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [done()] }]);
    const { code } = await assignedBy(world, `commit Hack\n${answer}`, tasks('One'), '--max-attempts', '1');
    expect(code).toBe(2);
    const ticket = world.ticket('spec-limits', '1');
    expect(ticket.phaseHistory[0]?.error?.message).toContain('may only read');
    expect(ticket.phaseHistory[0]?.error?.message).toContain(`kept at ${ref}`);
    expect(ticket.error).toContain('expected at least 1 commit');
    expect(work(world)).toEqual([]);
    expect(git(world.repo, 'show', `${ref}:work-1.txt`)).toBe('assign 1 1');
  });

  it('leaves no file to the one who implements, also when it crashes', { tags: 'full' }, async ({
    world,
  }) => {
    world.rehearsal([{ when: { phase: 'implement' }, do: [...add('a.txt'), done()] }]);
    const { code } = await assignedBy(world, 'echo left > left.txt\nexit 3', tasks('One'));
    expect(code).toBe(0);
    expect(git(world.repo, 'show', '--name-only', '--format=', 'spec/limits~1')).toBe('a.txt');
    expect(git(world.repo, 'show', `${ref}:left.txt`)).toBe('left');
  });

  it('does not have the one who implements pay for a branch that it cut', { tags: 'full' }, async ({
    world,
  }) => {
    const cut = `test $SIGNALBOX_TICKET = 1 || git reset --quiet --hard HEAD~2\n${answer}`;
    const { code } = await assignedBy(world, cut, tasks('One', 'Two'), '--in-place');
    expect(code).toBe(0);
    expect(story(world.ticket('spec-limits', '2'))).toEqual([
      'assign failure',
      'fallback success',
      'implement success',
      'checks success',
      'tick success',
    ]);
    expect(git(world.repo, 'log', '-4', '--format=%s')).toContain('Rehearse implement of 1');
  });
});
