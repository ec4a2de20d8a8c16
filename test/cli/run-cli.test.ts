import { getHeapStatistics } from 'node:v8';
import { describe, expect } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { isRunning } from '../support/index.ts';
import { it, setUp, shell } from './support.ts';

/** What a command could leave behind in its process. */
function traces() {
  return {
    listeners: process.eventNames().map((name) => [name, process.listenerCount(name)]),
    exitCode: process.exitCode,
    umask: process.umask(),
    cwd: process.cwd(),
    env: { ...process.env },
    heapLimit: getHeapStatistics().heap_size_limit,
  };
}

describe('runCli', () => {
  it('runs several commands at the same time, each with its own directories, output and exit code', async ({
    world,
  }) => {
    setUp(world, 'commit', { a: {} });
    world.plan('q', { tickets: { b: {} } });
    const before = traces();
    const [first, second, refused, help] = await Promise.all([
      world.cli('run', 'p'),
      world.cli('run', 'q', '--json'),
      world.invoke(['status', '--json'], { SIGNALBOX_HOME: '/nowhere' }).ended,
      world.cli('run', '--help'),
    ]);
    expect(first.code).toBe(0);
    expect(first.out).toContain('a complete');
    expect(first.out).not.toContain('"type"');
    expect(second.code).toBe(0);
    expect(second.out).toContain('"planId":"q"');
    expect(second.out).not.toContain('"planId":"p"');
    expect(refused).toMatchObject({ code: 0, out: '[]\n' });
    expect(help.out).toMatch(/^Usage: signalbox run/);
    expect(traces()).toEqual(before);
  });

  it('stops one of two runs at a signal, and the other continues', async ({ world }) => {
    setUp(world, 'note working; go; commit', { a: {} });
    world.plan('q', { tickets: { b: {} } });
    const before = traces();
    const stopped = world.invoke(['run', 'p']);
    const other = world.invoke(['run', 'q']);
    await world.call('working', { ticket: 'p/a' });
    await world.call('working', { ticket: 'q/b' });
    expect(await stopped.kill('SIGINT')).toMatchObject({ code: 130 });
    expect(world.events('p').findLast(({ type }) => type === 'plan:status')).toMatchObject({
      status: 'paused',
      door: 'cli',
    });
    expect(world.ticket('q', 'b').status).toBe('running');
    world.go();
    expect(await other.ended).toMatchObject({ code: 0 });
    expect(traces()).toEqual(before);
  });

  it('leaves a run at the second signal without waiting for its agent', async ({ world }) => {
    world.agent('agent', "trap '' TERM INT; note working; while :; do sleep 1; done");
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    const { pid } = await world.call('working');
    void run.kill('SIGINT');
    await run.says('again to leave at once');
    expect(await run.kill('SIGINT')).toMatchObject({ code: 130 });
    await world.reaches('p', 'a', ({ claim }) => claim === null);
    expect(isRunning(pid)).toBe(false);
  });

  it('says that the working directory is gone, without a stack trace', async ({ world }) => {
    const line = 'mkdir gone && cd gone && rmdir ../gone && $SIGNALBOX status';
    const { out, err, code } = await shell(world, line);
    expect({ out, err, code }).toEqual({
      out: '',
      err: '❌ The working directory has been deleted.\n   Change to one that exists, for example: cd ~\n',
      code: 2,
    });
  });

  it('shows no password of an address that stands where something else belongs', async ({ world }) => {
    for (const args of [['status'], ['run', '--json'], ['plan', 'show']]) {
      const { code, out, err } = await world.cli(...args, 'postgres://anna:s3cret@db.example.com/box');
      expect(code).toBe(2);
      expect(out + err).not.toContain('s3cret');
    }
  });

  it('never rejects: what goes wrong is an exit code and a message', async ({ world }) => {
    let out = '';
    const stream = {
      fd: -1,
      terminal: undefined,
      write: (text: string) => {
        out += text;
      },
      onClosed: () => undefined,
    };
    const code = await runCli(['status'], {
      cwd: world.dir,
      env: { HOME: world.dir, SIGNALBOX_CONFIG: 'missing.yaml' },
      stdin: { fd: -1, isTTY: () => false },
      stdout: stream,
      stderr: stream,
      signals: { on: () => () => undefined, raise: () => undefined },
    });
    expect(code).toBe(2);
    expect(out).toMatch(/^❌ .*missing\.yaml/);
  });
});
