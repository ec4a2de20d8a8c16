import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Bench, makeBench } from './agent.ts';

const verdict = {
  type: 'object',
  required: ['outcome', 'summary', 'findings'],
  properties: {
    outcome: { type: 'string', enum: ['fail', 'pass'] },
    summary: { type: 'string' },
    findings: { type: 'array', items: { type: 'object' } },
  },
};

let bench: Bench;
beforeEach(() => {
  bench = makeBench();
});
afterEach(() => bench.remove());

describe('without a scenario', () => {
  it('writes and commits a file named after the ticket, and ends with a result', async () => {
    const run = await bench.rehearse();
    expect(run.code).toBe(0);
    expect(run.lines.map((line) => line.type)).toEqual([
      'session',
      'text',
      // Write and commit, each with its beginning and its end.
      'tool',
      'tool',
      'tool',
      'tool',
      'usage',
      'result',
    ]);
    expect(run.lines[0]).toEqual({ type: 'session', id: 'session-1' });
    expect(readFileSync(join(bench.repo, 'rehearsal/plan/T-1.md'), 'utf8')).toMatch(/^# Make tea\n/);
    expect(bench.git('status', '--porcelain')).toBe('');
    expect(bench.git('log', '-1', '--format=%an <%ae> %s')).toBe(
      'Rehearsal <rehearsal@localhost> Rehearse implement of T-1',
    );
  });

  it('commits as the repository’s own user where it has one', async () => {
    bench.git('config', 'user.name', 'Ada');
    bench.git('config', 'user.email', 'ada@localhost');
    await bench.rehearse();
    expect(bench.git('log', '-1', '--format=%an <%ae>')).toBe('Ada <ada@localhost>');
  });

  it('is content when a cut-off attempt has committed the same before, and commits anew in a later visit', async () => {
    await bench.rehearse();
    const again = await bench.rehearse({ resume: true });
    expect(again.code).toBe(0);
    expect(bench.git('rev-list', '--count', 'HEAD')).toBe('2');
    await bench.rehearse({ env: { SIGNALBOX_VISIT: '2' } });
    expect(bench.git('rev-list', '--count', 'HEAD')).toBe('3');
  });

  it('gives data that satisfies the schema, with the outcome one hopes for', async () => {
    const run = await bench.rehearse({ access: 'read', schema: verdict });
    expect(run.last).toMatchObject({
      type: 'result',
      data: { outcome: 'pass', summary: 'rehearsed', findings: [] },
    });
  });

  it('never writes with access read', async () => {
    const run = await bench.rehearse({ access: 'read' });
    expect(run.last?.type).toBe('result');
    expect(readdirSync(bench.repo)).toEqual(['.git']);
    expect(bench.git('rev-list', '--count', 'HEAD')).toBe('1');
  });

  it('leaves nothing in the home directory', async () => {
    await bench.rehearse();
    expect(readdirSync(bench.home)).toEqual([]);
  });

  it('takes a prompt of several megabytes', async () => {
    const run = await bench.rehearse({ access: 'read', prompt: 'tea '.repeat(1_000_000) });
    expect(run.lines).toContainEqual(expect.objectContaining({ type: 'usage', inputTokens: 1_000_000 }));
  });

  it('refuses a ticket name that leads out of the worktree', async () => {
    const run = await bench.rehearse({ env: { SIGNALBOX_TICKET: '../../../escaped' } });
    expect(run.last).toMatchObject({ type: 'error', class: 'config' });
    expect(readdirSync(bench.dir).sort()).toEqual(['home', 'repo']);
  });
});

describe('arguments', () => {
  it.each([
    [[], '--session or --resume'],
    [['--session', 'a'], '--access is needed'],
    [['--session', 'a', '--access', 'none'], '--access none'],
    [['--session', 'a', '--resume', 'b', '--access', 'read'], 'exclude each other'],
    [['--session', 'a', '--access'], '--access needs a value'],
    [['--sesion', 'a'], '"--sesion"'],
  ])('refuses %j', async (args, part) => {
    const run = await bench.rehearse({ args });
    expect(run.code).toBe(2);
    expect(run.lines).toEqual([
      { type: 'error', class: 'config', message: expect.stringContaining(part) as string },
    ]);
  });

  it('names a schema it cannot read', async () => {
    const file = join(bench.dir, 'broken.json');
    writeFileSync(file, '{');
    const run = await bench.rehearse({ schema: file });
    expect(run.last).toMatchObject({ class: 'config', message: expect.stringContaining(file) as string });
  });
});
