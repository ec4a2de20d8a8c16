import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { Engine } from '../../src/engine/engine.ts';
import { machineIn } from '../../src/machine/machine-files-and-locks.ts';
import { freeFromVmStat, freeInControlGroups } from '../../src/machine/measure-agent-and-free-memory.ts';
import { it, type World, waitFor } from '../support/index.ts';
import { partsOf } from './parts.ts';

function prepare(world: World): void {
  world.agent('agent', 'go; commit');
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
  world.plan('p', { tickets: { a: {}, b: { order: 1 } } });
}

describe('admission by free memory', () => {
  it.concurrent('one agent always runs; the next waits for room, says so, and then starts', async ({
    world,
  }) => {
    prepare(world);
    const parts = await partsOf(world);
    parts.machine.memory.free = () => 100;
    const options = {
      mode: 'until-idle',
      maxConcurrency: 4,
      checkEveryMs: 60_000,
      scope: { planId: 'p' },
    } as const;
    const engine = new Engine(parts, options);
    const running = engine.run();
    await world.call('start', { ticket: 'p/a' });
    const held = await world.reaches('p', 'b', (ticket) => ticket.hold?.kind === 'memory' && !ticket.claim);
    expect(held).toMatchObject({ status: 'ready', phaseHistory: [] });
    expect(held.hold?.reason).toMatch(/agent needs about 500 MB, 0 MB are left/);
    expect((await world.cli('status', '--plan', 'p')).out).toContain('not enough free memory');
    parts.machine.memory.free = () => 100_000;
    engine.wake();
    await world.call('start', { ticket: 'p/b' });
    world.go();
    await running;
    expect(world.ticket('p', 'b').status).toBe('complete');
  });

  it.concurrent('a ticket that waits for room starts when the other one has ended', async ({ world }) => {
    prepare(world);
    const parts = await partsOf(world);
    parts.machine.memory.free = () => 100;
    const options = {
      mode: 'until-idle',
      maxConcurrency: 4,
      checkEveryMs: 60_000,
      scope: { planId: 'p' },
    } as const;
    const running = new Engine(parts, options).run();
    await world.reaches('p', 'b', (ticket) => ticket.hold?.kind === 'memory');
    world.go();
    await running;
    expect(['a', 'b'].map((id) => world.ticket('p', id).status)).toEqual(['complete', 'complete']);
  });

  it.concurrent('a setting turns it off', async ({ world }) => {
    prepare(world);
    world.config({ memory: { agentMegabytes: 0 } });
    const parts = await partsOf(world);
    parts.machine.memory.free = () => 0;
    const options = {
      mode: 'until-idle',
      maxConcurrency: 4,
      checkEveryMs: 60_000,
      scope: { planId: 'p' },
    } as const;
    const running = new Engine(parts, options).run();
    await world.call('start', { ticket: 'p/b' });
    world.go();
    await running;
  });

  it.concurrent('measures what an agent and all below it use, and remembers it per agent', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world);
    const hog = `${process.execPath} -e 'const b = Buffer.alloc(120e6, 1); setInterval(() => b[0], 1000)' & hog=$!; go; kill $hog; commit`;
    world.agent('agent', hog);
    world.plan('p', { tickets: { a: {} } });
    const parts = await partsOf(world);
    const options = {
      mode: 'until-idle',
      maxConcurrency: 1,
      checkEveryMs: 60_000,
      scope: { planId: 'p' },
    } as const;
    const running = new Engine(parts, options).run();
    await waitFor('a measurement', () => (parts.machine.memory.sizeOf('p/a') ?? 0) > 120);
    world.go();
    await running;
    const kept = machineIn(parts.settings.stateDir).memory.peakOf('agent');
    expect(kept).toBeGreaterThan(120);
    expect(kept).toBeLessThan(1000);
  });

  it.for<[string, string, Record<string, string>, number | undefined]>([
    ['nothing is limited', '0::/user.slice/a', { 'user.slice/a/memory.max': 'max' }, undefined],
    [
      'a service has less than the slice above it',
      '0::/system.slice/signalbox.service',
      {
        'system.slice/memory.max': `${900 << 20}`,
        'system.slice/memory.current': '0',
        'system.slice/signalbox.service/memory.max': `${500 << 20}`,
        'system.slice/signalbox.service/memory.current': `${400 << 20}`,
        'system.slice/signalbox.service/memory.stat': `anon 1\ninactive_file ${50 << 20}\n`,
      },
      150,
    ],
    [
      'a container sees only its own',
      '0::/../../host/path',
      { 'memory.max': `${300 << 20}`, 'memory.current': `${100 << 20}` },
      200,
    ],
    [
      'the older kind',
      '9:name=systemd:/\n4:cpu,memory:/box\n0::/',
      {
        'memory/memory.limit_in_bytes': '9223372036854771712',
        'memory/memory.usage_in_bytes': '1',
        'memory/box/memory.limit_in_bytes': `${64 << 20}`,
        'memory/box/memory.usage_in_bytes': `${32 << 20}`,
        'memory/box/memory.stat': `total_inactive_file ${8 << 20}\n`,
      },
      40,
    ],
  ])('knows the limits of control groups: %s', ([, self, files, megabytes], { world }) => {
    for (const [name, text] of Object.entries(files)) {
      const file = join(world.dir, 'groups', name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    expect(freeInControlGroups(self, join(world.dir, 'groups'))).toBe(megabytes);
  });

  it.concurrent('reads what macOS says', () => {
    const text =
      'Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:      6400.\nPages active:   99999.\n' +
      'Pages inactive:   6400.\nPages speculative:  640.\nPages wired down:  1.\nPages purgeable:  640.\n';
    expect(freeFromVmStat(text)).toBe(220);
    expect(freeFromVmStat('nonsense')).toBeUndefined();
  });
});
