import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { type Bench, makeBench } from './agent.ts';

let bench: Bench;
beforeEach(() => {
  bench = makeBench();
});
afterEach(() => bench.remove());

/** Runs steps in the repository, whatever the attempt. */
const doing = (...steps: unknown[]) => bench.rehearse({ scenario: [{ do: steps }] });

/** A way to wait until the agent has printed a text. */
function listen(child: ChildProcess): (text: string) => Promise<boolean> {
  let seen = '';
  child.stdout?.on('data', (chunk) => {
    seen += chunk;
  });
  return (text) => waitFor(text, () => seen.includes(text), { state: () => seen });
}

describe('steps', () => {
  it('write replaces and appends, and makes directories', async () => {
    await doing({ write: { path: 'a/b.md', text: 'one\n' } }, { write: { path: 'a/b.md', append: 'two\n' } });
    expect(readFileSync(join(bench.repo, 'a/b.md'), 'utf8')).toBe('one\ntwo\n');
  });

  it('commit takes everything, and nothing to commit is no error', async () => {
    const run = await doing({ write: { path: 'a.md', text: 'a' } }, { commit: 'Add a' }, { commit: 'Again' });
    expect(run.code).toBe(0);
    expect(bench.git('log', '--format=%s')).toBe('Add a\nBegin');
    expect(run.lines).toContainEqual({
      type: 'tool',
      name: 'commit',
      summary: 'nothing to commit',
      done: true,
    });
  });

  it('commit runs the hooks of the repository and says when one refuses', async () => {
    writeFileSync(join(bench.repo, '.git/hooks/pre-commit'), '#!/bin/sh\necho no tea >&2\nexit 1\n', {
      mode: 0o755,
    });
    const run = await doing({ write: { path: 'a.md', text: 'a' } }, { commit: 'Add a' });
    expect(run.last).toMatchObject({ type: 'error', message: expect.stringContaining('no tea') as string });
    expect(run.code).toBe(1);
  });

  it('say, tool and usage become lines; the last text is the result when none is given', async () => {
    const run = await doing(
      { say: 'Boiling' },
      { tool: { name: 'kettle', summary: 'on', done: false } },
      { usage: { inputTokens: 5, outputTokens: 6, costUsd: 0.25 } },
    );
    expect(run.lines).toEqual([
      { type: 'session', id: 'session-1' },
      { type: 'text', text: 'Boiling' },
      { type: 'tool', name: 'kettle', summary: 'on', done: false },
      { type: 'usage', inputTokens: 5, outputTokens: 6, costUsd: 0.25 },
      { type: 'result', text: 'Boiling' },
    ]);
  });

  it('result passes text and data on as they are, even against the schema', async () => {
    const scenario = [{ do: [{ result: { text: 'Hm', data: { outcome: 'maybe' } } }] }];
    const run = await bench.rehearse({
      scenario,
      schema: { properties: { outcome: { enum: ['pass', 'fail'] } } },
    });
    expect(run.last).toEqual({ type: 'result', text: 'Hm', data: { outcome: 'maybe' } });
  });

  it('wait takes the time it says', async () => {
    const before = performance.now();
    await doing({ wait: 0.3 });
    expect(performance.now() - before).toBeGreaterThanOrEqual(300);
  });

  it('run works in the worktree with the attempt’s environment and an author, and keeps output off the protocol', async () => {
    const run = await doing({
      run: 'echo "$SIGNALBOX_TICKET" > who && echo \'{"type":"result"}\' && git commit --allow-empty -qm x',
    });
    expect(readFileSync(join(bench.repo, 'who'), 'utf8')).toBe('T-1\n');
    expect(run.lines.filter((line) => line.type === 'result')).toHaveLength(1);
    expect(run.stderr).toContain('{"type":"result"}');
    expect(bench.git('log', '-1', '--format=%an')).toBe('Rehearsal');
  });

  it('run that fails ends the agent', async () => {
    const run = await doing({ run: 'exit 7' }, { write: { path: 'late.md', text: '' } });
    expect(run.code).toBe(1);
    expect(run.last).toEqual({ type: 'error', class: 'exit', message: '"exit 7" ended with exit code 7.' });
    expect(existsSync(join(bench.repo, 'late.md'))).toBe(false);
  });

  it('limit says when it ends and exits with 1', async () => {
    const before = Date.now();
    const run = await doing({ limit: { seconds: 30 } });
    expect(run.code).toBe(1);
    expect(run.last?.type).toBe('limit');
    const reset = Date.parse(String(run.last?.resetAt));
    expect(reset).toBeGreaterThanOrEqual(before + 30_000);
    expect(reset).toBeLessThanOrEqual(Date.now() + 30_000);
  });

  it('fail ends with an error of its class', async () => {
    const run = await doing({ fail: { class: 'overloaded', message: 'Busy.' } });
    expect(run.code).toBe(1);
    expect(run.last).toEqual({ type: 'error', class: 'overloaded', message: 'Busy.' });
  });

  it('crash ends by signal or code, without a result', async () => {
    const killed = await doing({ crash: { signal: 'SIGKILL' } });
    expect(killed.signal).toBe('SIGKILL');
    const left = await doing({ crash: { code: 0 } });
    expect(left.code).toBe(0);
    expect(left.lines.map((line) => line.type)).toEqual(['session']);
  });

  it('print makes as much noise as asked, in short lines or a single one', async () => {
    const short = await doing({ print: 300_000 });
    expect(short.stdout.length).toBeGreaterThan(300_000);
    expect(Math.max(...short.stdout.split('\n').map((line) => line.length))).toBe(999);
    const long = await doing({ print: { bytes: 300_000, oneLine: true } });
    expect(Math.max(...long.stdout.split('\n').map((line) => line.length))).toBe(300_000);
    expect(long.last?.type).toBe('result');
  });

  it('hang lasts until a signal comes', async () => {
    const child = bench.start({ scenario: [{ do: ['hang'] }] });
    const says = listen(child);
    await says('Hanging.');
    child.kill('SIGTERM');
    expect((await once(child, 'close'))[1]).toBe('SIGTERM');
  });

  it('a stubborn hang lasts until it is killed', async () => {
    const child = bench.start({ scenario: [{ do: [{ hang: { stubborn: true } }] }] });
    const says = listen(child);
    await says('Hanging.');
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      child.kill(signal);
      await says(`Ignoring ${signal}.`);
    }
    child.kill('SIGKILL');
    expect((await once(child, 'close'))[1]).toBe('SIGKILL');
  });
});

describe('what it refuses to do', () => {
  it.each([{ write: { path: 'a.md', text: 'a' } }, { commit: 'Add a' }, { run: 'touch a.md' }])(
    '%j with access read',
    async (step) => {
      const run = await bench.rehearse({ access: 'read', scenario: [{ do: [step] }] });
      expect(run.code).toBe(2);
      expect(run.last).toMatchObject({
        class: 'config',
        message: expect.stringContaining('access is read') as string,
      });
      expect(existsSync(join(bench.repo, 'a.md'))).toBe(false);
    },
  );

  it('to write through a link that leads out of the worktree', async () => {
    mkdirSync(join(bench.dir, 'outside'));
    symlinkSync(join(bench.dir, 'outside'), join(bench.repo, 'door'));
    symlinkSync(join(bench.dir, 'outside/nothing.md'), join(bench.repo, 'dangling.md'));
    for (const path of ['door/a.md', 'dangling.md', 'door/new/a.md']) {
      const run = await doing({ write: { path, text: 'out' } });
      expect(run.last).toMatchObject({ class: 'config', message: expect.stringContaining(path) as string });
    }
    expect(existsSync(join(bench.dir, 'outside/a.md'))).toBe(false);
    expect(existsSync(join(bench.dir, 'outside/nothing.md'))).toBe(false);
  });
});
