import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { sweepOutput } from '../../src/engine/delete-old-output.ts';
import { ownIdentity } from '../../src/machine/process-identity-and-signals.ts';
import { it, type World } from '../support/index.ts';
import { partsOf } from './parts.ts';

function attempt(world: World, ticketId: string, name: string, days: number, bytes = 10): void {
  const file = `home/state/jobs/p/${ticketId}/${name}/stdout`;
  world.append(file, 'x'.repeat(bytes));
  world.age(file, days * 86_400);
}

function left(world: World, ticketId: string): string[] {
  const dir = join(world.stateDir, 'jobs', 'p', ticketId);
  return existsSync(dir) ? readdirSync(dir).sort() : [];
}

it('files that a killed process left half written go after an hour, those of a live one stay', async ({
  world,
}) => {
  world.plan('p', { tickets: { a: {} } });
  const dead = 0x3fffff;
  const put = (name: string, text: string, minutes: number) => {
    world.append(`home/state/${name}`, text);
    world.age(`home/state/${name}`, minutes * 60);
  };
  const stray = ['plans/p/plan.json', 'plans/p/tickets/a.json', 'locks/x', 'bases/results.json', ''].map(
    (path) => `${path}.${dead}.1.tmp`,
  );
  const kept = [`memory.json.${process.pid}.2.tmp`, 'plans/p/mine.tmp', `jobs/p/a/build.1.1/x.${dead}.1.tmp`];
  for (const name of [...stray, ...kept]) put(name, '{', 61);
  put(`young.${dead}.1.tmp`, '{', 59);
  put('locks/p.lock.break', JSON.stringify({ ...ownIdentity(), pid: dead }), 61);
  put('locks/q.lock.break', JSON.stringify(ownIdentity()), 61);
  sweepOutput(await partsOf(world), true);
  const left = (name: string) => world.exists(`home/state/${name}`);
  expect([...stray, 'locks/p.lock.break'].filter(left)).toEqual([]);
  expect([...kept, `young.${dead}.1.tmp`, 'locks/q.lock.break'].filter((name) => !left(name))).toEqual([]);
});

describe('kept output', () => {
  it('of finished tickets goes when it is too old; what is unfinished stays', async ({ world }) => {
    world.plan('p', { tickets: { done: { status: 'complete' }, open: { status: 'failed' } } });
    for (const id of ['done', 'open']) {
      attempt(world, id, 'build.1.1', 31);
      attempt(world, id, 'build.2.1', 29);
    }
    expect(sweepOutput(await partsOf(world), true)).toBe(1);
    expect(left(world, 'done')).toEqual(['build.2.1']);
    expect(left(world, 'open')).toEqual(['build.1.1', 'build.2.1']);
  });

  it('goes oldest first when there is too much of it', async ({ world }) => {
    world.config({ retention: { gigabytes: 0.000_002 } });
    world.plan('p', { tickets: { done: { status: 'complete' } } });
    for (const [index, name] of ['a.1.1', 'b.1.1', 'c.1.1'].entries())
      attempt(world, 'done', name, 9 - index, 900);
    expect(sweepOutput(await partsOf(world), true)).toBe(1);
    expect(left(world, 'done')).toEqual(['b.1.1', 'c.1.1']);
  });

  it('is looked through once a day', async ({ world }) => {
    world.plan('p', { tickets: { done: { status: 'complete' } } });
    attempt(world, 'done', 'build.1.1', 40);
    const parts = await partsOf(world);
    expect(sweepOutput(parts)).toBe(1);
    attempt(world, 'done', 'build.2.1', 40);
    expect(sweepOutput(parts)).toBe(0);
    world.age('home/state/jobs/.swept', 90_000);
    expect(sweepOutput(parts)).toBe(1);
  });
});
