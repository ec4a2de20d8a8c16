import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Machine, machineIn } from '../../src/machine/machine-files-and-locks.ts';
import { scratch } from '../store/scratch.ts';

const ATTEMPT = { phase: 'build', visit: 1, attempt: 2 };

function machineWith(...planIds: string[]): Machine {
  const machine = machineIn(scratch());
  for (const planId of planIds) mkdirSync(join(machine.stateDir, 'plans', planId), { recursive: true });
  return machine;
}

const tmuxFile = ({ stateDir }: Machine, planId: string) => join(stateDir, 'plans', planId, 'tmux.json');

describe('directories of jobs', () => {
  it('are named after plan, ticket and attempt', () => {
    const machine = machineWith();
    const dir = machine.job({ planId: 'p', ticketId: 't' }, ATTEMPT);
    expect(dir).toBe(join(machine.stateDir, 'jobs', 'p', 't', 'build.1.2'));
    mkdirSync(dir, { recursive: true });
    mkdirSync(machine.jobsOf({ planId: 'p2', ticketId: 't' }), { recursive: true });
    machine.removeJobs('p');
    expect(existsSync(join(machine.jobs, 'p'))).toBe(false);
    expect(existsSync(join(machine.jobs, 'p2'))).toBe(true);
  });

  it.each(['..', 'a/b', ''])('are not made out of the id %j', (id) => {
    const machine = machineWith();
    expect(() => machine.job({ planId: 'p', ticketId: id }, ATTEMPT)).toThrow(/ticket id/);
    expect(() => machine.removeJobs(id)).toThrow(/plan id/);
    expect(() => machine.mergeJobs(id)).toThrow(/merge id/);
  });
});

describe('the tmux record of a plan', () => {
  it('is kept with the plan', () => {
    const machine = machineWith('p');
    expect(machine.tmuxRecord('p')).toBeUndefined();
    machine.keepTmuxRecord('p', { session: 's', socket: '/tmp/x' });
    expect(machine.tmuxRecord('p')).toEqual({ session: 's', socket: '/tmp/x' });
  });

  it.each(['', 'null', '[]', '{', '{"session": 1}', '{"session": "s"}'])('does not exist in %j', (text) => {
    const machine = machineWith('p');
    writeFileSync(tmuxFile(machine, 'p'), text);
    expect(machine.tmuxRecord('p')).toBeUndefined();
  });

  it('says which plan opened windows last', () => {
    const machine = machineWith('a', 'b', 'c', 'none');
    for (const [planId, time] of [
      ['a', 100],
      ['b', 300],
      ['c', 200],
    ] as const) {
      machine.keepTmuxRecord(planId, { session: planId, socket: '/tmp/x' });
      utimesSync(tmuxFile(machine, planId), time, time);
    }
    expect(machine.latestInTmux(['a', 'b', 'c', 'none'])).toBe('b');
    expect(machine.latestInTmux(['none'])).toBeUndefined();
  });
});
