import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { MemoryWatch } from '../../src/machine/measure-agent-and-free-memory.ts';
import { ownIdentity } from '../../src/machine/process-identity-and-signals.ts';
import { scratch } from '../store/scratch.ts';
import { withoutFiles } from '../support/without-files.ts';

const isLinux = process.platform === 'linux';
it.runIf(isLinux)(
  'an agent that cannot be measured for want of a file to open is measured the next time',
  async () => {
    const home = scratch();
    const jobDir = join(home, 'job');
    const { pid, started, ...namespace } = ownIdentity();
    mkdirSync(jobDir);
    writeFileSync(join(jobDir, 'command.json'), JSON.stringify(namespace));
    writeFileSync(join(jobDir, 'pid'), `${pid}\n${started}\n`);
    vi.useFakeTimers();
    try {
      const watch = new MemoryWatch(join(home, 'peaks.json'));
      watch.begin('p/a', 'agent', jobDir);
      await withoutFiles(() => vi.advanceTimersByTimeAsync(1_000));
      expect(watch.sizeOf('p/a')).toBeNull();
      await vi.advanceTimersByTimeAsync(3_000);
      await vi.waitFor(() => expect(watch.sizeOf('p/a')).toBeGreaterThan(0));
      watch.end('p/a');
      expect(watch.peakOf('agent')).toBeGreaterThan(0);
    } finally {
      vi.useRealTimers();
    }
  },
);
