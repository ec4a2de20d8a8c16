import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { markedProcesses, processStart } from '../../src/machine/process-identity-and-signals.ts';
import { type RunOptions, run } from '../../src/machine/run-process.ts';
import { waitFor } from '../support/index.ts';
import { firstOnly } from '../support/tiers.ts';
import { within } from '../support/within.ts';

const HERE: RunOptions = { cwd: tmpdir(), env: { PATH: process.env.PATH } };

const FREQUENT: RunOptions = { ...HERE, isFrequent: true };
const WAYS = [
  ['as a child', HERE],
  ['by a shell that is kept', FREQUENT],
] as const;

/** The first programs of a process are never started by a shell. */
beforeAll(async () => {
  for (let started = 0; started < 6; started += 1) await run('/bin/true', [], FREQUENT);
});

async function gone(pid: string): Promise<void> {
  await waitFor(`the end of process ${pid}`, () => processStart(Number(pid)) === undefined);
}

for (const [index, [by, way]] of WAYS.entries())
  describe(`run, ${by}`, firstOnly(index), () => {
    const sh = (script: string, options: RunOptions = {}) =>
      run('/bin/sh', ['-c', script], { ...way, ...options });

    it('returns what a program prints, and how it ended', async () => {
      const end = await sh('cat; echo no >&2; exit 3', { input: 'ü😀' });
      expect(end).toMatchObject({ code: 3, signal: null, stdout: 'ü😀', stderr: 'no\n', stopped: undefined });
      expect(await sh('kill -TERM $$')).toMatchObject({ code: null, signal: 'SIGTERM' });
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
      expect(await sh('while :; do echo noise; done', { maxBytes: 1000 })).toMatchObject({
        stopped: 'output',
      });
    });

    it('keeps only the end where that is wanted', async () => {
      const end = await sh('echo first; echo last; echo error >&2', { tailBytes: 5, mergeOutput: false });
      expect(end).toMatchObject({ code: 0, stdout: 'last\n', stderr: 'rror\n' });
      // Two pipes have no common order: each text is read before the next one is written.
      const pause = within(50) / 1000;
      const both = await sh(`echo a; sleep ${pause}; echo b >&2; sleep ${pause}; echo c`, {
        mergeOutput: true,
      });
      expect(both).toMatchObject({ stdout: 'a\nb\nc\n', stderr: '' });
    });

    it('stops when it is told to, and does not even begin when that was before', async () => {
      const abort = new AbortController();
      const running = sh('sleep 60', { signal: abort.signal });
      abort.abort();
      expect(await running).toMatchObject({ code: null, stopped: 'abort' });
      expect(await sh('echo begun', { signal: abort.signal })).toMatchObject({
        stdout: '',
        stopped: 'abort',
      });
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
      const program = sh('(sleep 0.2; echo in time) & exit 0', { leftovers: 'keep' });
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

    it('returns all of a long output, in order', async () => {
      const end = await sh('i=0; while [ $i -lt 50000 ]; do echo $i; i=$((i + 1)); done; echo end >&2');
      expect(end.stdout).toBe(`${Array.from({ length: 50_000 }, (_, index) => index).join('\n')}\n`);
      expect(end.stderr).toBe('end\n');
    });

    it('says that a program or its directory does not exist', async () => {
      const missing = { code: null, error: { code: 'ENOENT' }, stderr: '' };
      for (const file of ['no-such-program', '/no/such/program'])
        expect(await run(file, [], way)).toMatchObject(missing);
      expect(await sh('true', { cwd: '/no/such/directory' })).toMatchObject(missing);
    });
  });

describe('a shell that is kept', () => {
  /** The process group of a program is its own as a child, and the shell's otherwise. */
  const where = async (options: RunOptions = {}) => {
    const { stdout } = await run('/bin/sh', ['-c', 'echo $$; ps -o pgid= -p $$'], {
      ...FREQUENT,
      ...options,
    });
    const [pid, group] = stdout.trim().split(/\s+/).map(Number);
    return { group: Number(group), isChild: pid === group };
  };

  it('starts one program after the other', async () => {
    const first = await where();
    expect(first).toEqual({ group: expect.any(Number), isChild: false });
    expect(await where()).toEqual(first);
    expect(await where({ isFrequent: false })).toMatchObject({ isChild: true });
  });

  it('passes arguments, input and variables as they are', async () => {
    const odd = ['', ' ', "it's", '$HOME `id` "$(id)" \\', '*', 'a\nb', 'ü😀', '-n', '#'];
    const input = `${odd.join('|')}\n\n`;
    const env = { PATH: process.env.PATH, ODD: odd.join('|'), EMPTY: '', PWD: '/elsewhere' };
    const options = { ...FREQUENT, env, input };
    await where();
    const args = ['-c', 'printf "%s\\0" "$@"; cat; env', 'name', ...odd];
    const plain = await run('/bin/sh', args, { ...options, isFrequent: false });
    const kept = await run('/bin/sh', args, options);
    expect(kept.stdout.slice(0, plain.stdout.indexOf('PATH='))).toContain(`${odd.join('\0')}\0${input}`);
    expect(kept.stdout.split('\n').sort()).toEqual(plain.stdout.split('\n').sort());
  });

  it('has nothing of the program before', async () => {
    await run('/bin/sh', ['-c', 'cd /; SECRET=1; env'], { ...FREQUENT, env: { PATH: '/bin', SECRET: '1' } });
    const { stdout } = await run('/bin/sh', ['-c', 'env; pwd'], { ...FREQUENT, cwd: '/usr' });
    expect(stdout).not.toContain('SECRET');
    expect(stdout).toMatch(/\/usr\n$/);
  });

  it('does not count as something that a job has left', async () => {
    const mark = `SIGNALBOX_JOB=${mkdtempSync(join(tmpdir(), 'signalbox-job-'))}`;
    const [name = '', dir = ''] = mark.split('=');
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const options = { ...FREQUENT, env: { ...HERE.env, [name]: dir } };
    // At once, so that at least one of them starts a new shell.
    const ends = Array.from({ length: 8 }, () => run('/bin/sh', ['-c', `echo $${name}; sleep 0.1`], options));
    for (const { stdout } of await Promise.all(ends)) expect(stdout).toBe(`${dir}\n`);
    expect(await markedProcesses(mark)).toEqual([]);
  });

  it('is not used for what a shell cannot pass on as it is', async () => {
    expect(await where({ env: { ...FREQUENT.env, 'odd.name': '1' } })).toMatchObject({ isChild: true });
    const long = 'x'.repeat(70_000);
    expect((await run('/bin/echo', [long], FREQUENT)).stdout).toBe(`${long}\n`);
  });

  it('is replaced when it was killed before the next program', async () => {
    const { group } = await where();
    process.kill(group, 'SIGKILL');
    expect((await run('/bin/echo', ['still', 'runs'], FREQUENT)).stdout).toBe('still runs\n');
    expect((await where()).group).not.toBe(group);
  });

  it('that is killed takes its program with it, which is not run again', async () => {
    const { group } = await where();
    const file = join(mkdtempSync(join(tmpdir(), 'signalbox-run-')), 'runs');
    onTestFinished(() => rmSync(dirname(file), { recursive: true }));
    const running = run('/bin/sh', ['-c', 'echo $$ >> "$0"; exec sleep 60', file], FREQUENT);
    await waitFor('the program', () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'));
    process.kill(group, 'SIGKILL');
    expect(await running).toMatchObject({ code: null, signal: 'SIGKILL', stopped: undefined });
    await gone(readFileSync(file, 'utf8'));
  });

  it('runs many programs at once, and each gets its own output', async () => {
    const numbers = Array.from({ length: 30 }, (_, index) => String(index));
    const ends = await Promise.all(numbers.map((each) => run('/bin/echo', [each], FREQUENT)));
    expect(ends.map((end) => end.stdout)).toEqual(numbers.map((each) => `${each}\n`));
  });

  it('loses no output while this process is busy', async () => {
    await where();
    const block = (ms: number) => {
      for (const until = performance.now() + ms; performance.now() < until; );
    };
    // Both reports are there when they are asked for, and the program ends while the first is handled.
    const other = spawn('/bin/cat');
    onTestFinished(() => void other.kill());
    other.stdin.write('ready');
    await once(other.stdout, 'data');
    other.stdout.once('data', () => block(300));
    other.stdin.write('again');
    block(50);
    const program = run('/bin/sh', ['-c', 'sleep 0.15; echo said'], FREQUENT);
    block(50);
    expect(await program).toMatchObject({ code: 0, stdout: 'said\n' });
  });
});
