import { describe, expect } from 'vitest';
import { tickUnit } from '../../../src/features/spec-runs/tick-unit.ts';
import { partsOf } from '../../engine/parts.ts';
import { it, runSpec, tasks, writeSpec } from './support.ts';

describe('a spec of many units', () => {
  it('ends with a table of those that are worth a look', async ({ world }) => {
    const titles = Array.from({ length: 100 }, (_, index) => `Part ${index + 1}`);
    const text = tasks(...titles).replace(/\[ \] ([1-4]?\d)\./g, '[x] $1.');
    const args = ['--no-tmux', '--delay', '0', '--max-iterations', '1'];
    const { code, out } = await world.cli('spec', writeSpec(world, text), ...args);
    expect(code).toBe(1);
    expect(out).toMatch(/^✓ +50 +complete +Part 50/m);
    expect(out).toMatch(/^◌ +51 +\w+ +Part 51/m);
    expect(out.match(/^[✓◌] +\d+ +\w+ +Part/gm)).toHaveLength(41);
    expect(out).toContain('… and 59 more: signalbox status --plan spec-limits');
    expect(out).toContain('The same command continues from here.');
  });

  it('is ticked with a few looks at the state, however many units there are', { tags: 'full' }, async ({
    world,
  }) => {
    const titles = Array.from({ length: 60 }, (_, index) => `Part ${index + 1}`);
    const dir = writeSpec(world, tasks(...titles));
    expect((await runSpec(world, dir, '--max-iterations', '1')).code).toBe(1);
    const parts = await partsOf(world);
    const look = parts.store.view.bind(parts.store);
    let looks = 0;
    parts.store.view = () => {
      looks += 1;
      return look();
    };
    expect((await tickUnit(parts, { planId: 'spec-limits', ticketId: '1' })).already).toEqual(['1']);
    expect(looks).toBeLessThan(6);
  });
});
