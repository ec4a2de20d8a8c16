import { describe, expect, it, onTestFinished } from 'vitest';
import { processStart } from '../../src/machine/processes.ts';
import { type RunOptions, run } from '../../src/machine/run-process.ts';
import { waitFor } from '../support/index.ts';
import { within } from '../support/within.ts';

const sh = (script: string, options: RunOptions = {}) => run('/bin/sh', ['-c', script], options);

async function gone(pid: string): Promise<void> {
  await waitFor(`the end of process ${pid}`, () => processStart(Number(pid)) === undefined);
}

describe('run', () => {
  it('returns what a program prints, and how it ended', async () => {
    const end = await sh('cat; echo no >&2; exit 3', { input: 'ü😀' });
    expect(end).toMatchObject({ code: 3, signal: null, stdout: 'ü😀', stderr: 'no\n', stopped: undefined });
    expect(await sh('kill -TERM $$')).toMatchObject({ code: null, signal: 'SIGTERM' });
    expect(await run('/no/such/program', [])).toMatchObject({ code: null, error: { code: 'ENOENT' } });
  });

  it('survives a program that does not read its input', async () => {
    expect(await sh('exit 0', { input: 'x'.repeat(1_000_000) })).toMatchObject({ code: 0 });
  });

  it('ends a program that takes too long, with everything it started', async () => {
    const end = await sh('sleep 60 & echo $!; wait', { timeoutMs: within(500) });
    expect(end).toMatchObject({ code: null, stopped: 'timeout' });
    await gone(end.stdout);
  });

  it('ends a program that prints too much', async () => {
    expect(await sh('while :; do echo noise; done', { maxBytes: 1000 })).toMatchObject({ stopped: 'output' });
  });

  it('keeps only the end where that is wanted', async () => {
    const end = await sh('echo first; echo last; echo error >&2', { tailBytes: 5, together: false });
    expect(end).toMatchObject({ code: 0, stdout: 'last\n', stderr: 'rror\n' });
    // Two pipes have no common order: each text is read before the next one is written.
    const pause = within(50) / 1000;
    const both = await sh(`echo a; sleep ${pause}; echo b >&2; sleep ${pause}; echo c`, { together: true });
    expect(both).toMatchObject({ stdout: 'a\nb\nc\n', stderr: '' });
  });

  it('stops when it is told to, and does not even begin when that was before', async () => {
    const abort = new AbortController();
    const running = sh('sleep 60', { signal: abort.signal });
    abort.abort();
    expect(await running).toMatchObject({ code: null, stopped: 'abort' });
    expect(await sh('echo begun', { signal: abort.signal })).toMatchObject({ stdout: '', stopped: 'abort' });
  });

  it('gives a program time to end after an abort', async () => {
    const signal = AbortSignal.abort();
    expect(await sh('echo done', { signal, abortGraceMs: 30_000 })).toMatchObject({
      code: 0,
      stdout: 'done\n',
    });
    expect(await sh('sleep 60', { signal, abortGraceMs: 50 })).toMatchObject({ stopped: 'abort' });
  });

  it('returns what was printed in time, also when this process was too busy to read it', async () => {
    const program = run('sh', ['-c', '(sleep 0.2; echo in time) & exit 0'], { leftovers: 'keep' });
    const block = () => {
      const until = performance.now() + 1_000;
      while (performance.now() < until);
    };
    setTimeout(() => setImmediate(block), 150);
    expect((await program).stdout).toBe('in time\n');
  });

  it('does not wait for what a program leaves behind, and kills it if it keeps the output open', async () => {
    const end = await sh('sleep 60 & echo $!');
    expect(end).toMatchObject({ code: 0, stopped: undefined });
    await gone(end.stdout);
  });

  it.each(['keep', 'kill'] as const)('can %s what a program leaves behind', async (leftovers) => {
    const end = await sh('sleep 60 >/dev/null 2>&1 & echo $!', { leftovers });
    expect(end.code).toBe(0);
    if (leftovers === 'kill') return gone(end.stdout);
    onTestFinished(() => void process.kill(Number(end.stdout), 'SIGKILL'));
    expect(processStart(Number(end.stdout))).toBeDefined();
  });
});
