import { hostname } from 'node:os';
import { describe, expect } from 'vitest';
import { ownIdentity } from '../../src/machine/process-identity-and-signals.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { it } from '../support/index.ts';

describe('a claim', () => {
  it('is live while its process is the one that made it', ({ world }) => {
    const holder = openStore(world.dir).holder('run');
    const claim = holder.claim('2026-01-01T00:00:00.000Z');
    expect(claim).toMatchObject({ ...ownIdentity(), by: 'run', host: hostname() });
    expect(holder.isLive(claim)).toBe(true);
    expect(holder.isLive({ ...claim, started: '1' })).toBe(false);
    expect(holder.isLive({ ...claim, boot: 'before the power cut' })).toBe(false);
    expect(holder.isLive({ ...claim, pid: 0x3fffff })).toBe(false);
  });

  it('of another host is live while its heartbeat is fresh', ({ world }) => {
    const holder = openStore(world.dir).holder('run');
    const far = {
      ...holder.claim('2026-01-01T00:00:00.000Z'),
      host: 'elsewhere',
      machine: 'other',
      boot: 'theirs',
      token: 'far',
    };
    expect(holder.isLive(far)).toBe(false);
    world.append('engines/far.json', '{}');
    expect(holder.isLive(far)).toBe(true);
    expect(holder.leaseLeft(far)).toBeGreaterThan(0);
    expect(holder.leaseLeft(holder.claim('2026-01-01T00:00:00.000Z'))).toBeUndefined();
    world.age('engines/far.json', 61);
    expect(holder.isLive(far)).toBe(false);
  });

  it('of a token that is a path does not leave its directory', ({ world }) => {
    const holder = openStore(world.dir).holder('run');
    world.append('outside.json', '{}');
    const far = {
      ...holder.claim('2026-01-01T00:00:00.000Z'),
      host: 'elsewhere',
      machine: 'other',
      boot: 'theirs',
      token: '../outside',
    };
    expect(holder.isLive(far)).toBe(false);
  });

  it('has a heartbeat that is gone when its engine has ended', async ({ world }) => {
    const holder = openStore(world.dir).holder('run');
    await holder.start();
    expect(world.exists(`engines/${holder.token}.json`)).toBe(true);
    await holder.stop();
    expect(world.exists(`engines/${holder.token}.json`)).toBe(false);
  });
});
