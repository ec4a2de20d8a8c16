import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLI, environment, run, scratch, signalbox } from './cli.ts';
import { tables } from './markdown.ts';
import { source } from './source.ts';

const documented = tables('docs/operations.md', 'Code').flatMap(({ rows }) =>
  rows.map(([code]) => Number(code)),
);

let home: string;
beforeEach(() => {
  home = scratch();
});
afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));

function put(path: string, value: unknown): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), typeof value === 'string' ? value : JSON.stringify(value));
}

/** Starts a command, waits until it has said something, and hands it over; ends it in any case. */
async function whileRunning(
  args: string[],
  said: RegExp,
  body: (child: ReturnType<typeof spawn>) => Promise<void>,
) {
  const child = spawn(process.execPath, [CLI, ...args], { cwd: home, env: environment(home) });
  const exited = once(child, 'close');
  try {
    let out = '';
    await new Promise<void>((resolve, reject) => {
      child.once('close', () => reject(new Error(`it ended early: ${out}`)));
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          out += text;
          if (said.test(out)) resolve();
        });
    });
    await body(child);
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
  return child.exitCode;
}

describe('exit codes', () => {
  it('are all in the source, and the source has no other', () => {
    const [main, signals] = ['src/cli/run-cli.ts', 'src/cli/show-events-until-stopped.ts'].map(source);
    const rule = main?.slice(main.indexOf('function exitCodeOf')) ?? '';
    const mapped = [...rule.matchAll(/(?:return|\?|:) (\d)\b/g)].map(([, code]) => Number(code));
    const stopped = [...(signals ?? '').matchAll(/\b(1\d\d)\b/g)].map(([, code]) => Number(code));
    expect(documented).toEqual([...new Set([0, ...mapped, ...stopped])].sort((a, b) => a - b));
  });

  it('the systemd unit starts the daemon again after all of them that a wait can help with', () => {
    const unit = /```ini\n([^`]*)```/.exec(source('docs/operations.md'))?.[1] ?? '';
    expect(unit).toMatch(/^Restart=on-failure$/m);
    expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
    const never = /^RestartPreventExitStatus=(.*)$/m.exec(unit)?.[1]?.split(' ').map(Number);
    expect(never).toEqual([2]);
  });

  it('0 for done, 1 for no, 2 for bad input', { tags: 'full' }, async () => {
    expect((await signalbox(['status'], home)).code).toBe(0);
    expect((await signalbox(['daemon', 'status'], home)).code).toBe(1);
    expect((await signalbox(['run', 'nope'], home)).code).toBe(2);
    expect((await signalbox(['frobnicate'], home)).code).toBe(2);
  });

  it('3 when somebody else holds it; a daemon that is stopped ends with 0', { tags: 'full' }, async () => {
    const code = await whileRunning(['daemon', '--plain'], /works on/, async () => {
      expect((await signalbox(['daemon'], home)).code).toBe(3);
    });
    expect(code).toBe(0);
  });

  it('130 for a run that was stopped', { tags: 'full' }, async () => {
    const env = environment(home);
    const repo = join(home, 'repo');
    await run('git', ['init', '--quiet', repo], { cwd: home, env });
    await run('git', ['commit', '--quiet', '--allow-empty', '--message', 'Begin'], { cwd: repo, env });
    put('hang.yaml', '- do: [hang]\n');
    put(
      '.signalbox/config.yaml',
      `agents: {rehearsal: {defaultArgs: [--scenario, ${join(home, 'hang.yaml')}]}}`,
    );
    const plan = { id: 'p', repo, workflow: 'minimal', agent: 'rehearsal', status: 'active' };
    put('.signalbox/state/plans/p/plan.json', { ...plan, tickets: [{ ticketId: 't' }] });
    put('.signalbox/state/plans/p/tickets/t.json', { planId: 'p', ticketId: 't', title: 'Hang' });
    const code = await whileRunning(['run', 'p', '--plain', '--verbose'], /Hanging/, async (child) => {
      const exited = once(child, 'close');
      child.kill('SIGINT');
      await exited;
    });
    expect(code).toBe(130);
  });
});
