import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect } from 'vitest';
import { CliCall } from '../support/cli-call.ts';
import { BUILD, DONE, it, linesOf, refusal, STUCK, setUp, type World } from './support.ts';

function twoPhases(world: World): void {
  world.agent('agent', 'echo from the agent; echo aside >&2; commit');
  world.script('check.sh', 'echo from the check');
  world.workflow('work', [
    { ...BUILD, onSuccess: 'check' },
    { id: 'check', type: 'script', command: 'check.sh', onSuccess: 'done' },
    DONE,
    STUCK,
  ]);
  world.plan('p', { tickets: { a: {}, b: {} } });
}

describe.concurrent('tool calls in logs', () => {
  it('are one line each, with ✓ or ✗, and paths relative to the worktree', async ({ world }) => {
    world.workflow('work', [{ ...BUILD, maxRetries: 0 }, DONE, STUCK]);
    const here = world.worktree('p', 'a');
    world.rehearsal([
      {
        do: [
          { say: `I read ${here}/README.md.` },
          { tool: { name: 'Read', summary: `${here}/README.md` } },
          { tool: { name: 'Watch', summary: 'the clock', done: false } },
          { run: 'exit 3' },
        ],
      },
    ]);
    world.plan('p', { agent: 'rehearsal', tickets: { a: {}, b: {} } });
    await world.cli('run', 'p', 'a');
    const { out } = await world.cli('logs', 'p', 'a');
    expect(out).toMatch(/^── build \(rehearsal\) \d\d:\d\d:\d\d$/m);
    expect(out).toContain('I read README.md.\n✓ Read README.md\n✗ run exit 3\n▸ Watch the clock\n');
    expect((await world.cli('logs', 'p', '--failed')).out).toMatch(
      /^p\/a\n── build .*\n(?:.*\n)*✗ run exit 3\n/,
    );
    expect((await world.cli('logs', 'p', 'b', '--failed')).err).toContain('p/b has no failed attempt.');
    await world.cli('retry', 'p', 'a');
    expect((await world.cli('logs', 'p', '--failed')).err).toContain('No ticket of p is failed now.');
    const json = linesOf<{ kind: string; text: string }>((await world.cli('logs', 'p', 'a', '--json')).out);
    expect(json.map(({ text }) => text)).toContain(`▸ Read ${here}/README.md`);
  });
});

describe.concurrent('logs', () => {
  it('of a plan are its events in order, of one phase on demand', { tags: 'full' }, async ({ world }) => {
    twoPhases(world);
    await world.cli('run', 'p', '--concurrency', '1');
    const { out, code } = await world.cli('logs', 'p');
    expect(code).toBe(0);
    expect(out).toMatch(/^\d\d:\d\d:\d\d .*a: build started/m);
    expect(out.indexOf('a: build started')).toBeLessThan(out.indexOf('✓ a complete'));
    const check = (await world.cli('logs', 'p', '--phase', 'check')).out;
    expect(check).toContain('b: check started');
    expect(check).not.toContain('build');
    const events = linesOf<{ v: number; type: string }>((await world.cli('logs', 'p', '--json')).out);
    expect(events).toEqual(world.events('p'));
  });

  it('of a plan show what people did: a skip, an answer', async ({ world }) => {
    setUp(world);
    world.workflow('work', [
      { id: 'ask', type: 'gate', prompt: 'Ok?', on: { yes: 'build' } },
      BUILD,
      DONE,
      STUCK,
    ]);
    await world.cli('run', 'p');
    expect((await world.cli('skip', 'p', 'a', 'build')).code).toBe(0);
    expect((await world.cli('logs', 'p')).out).toMatch(/^\d\d:\d\d:\d\d → a: skip build$/m);
    expect((await world.cli('logs', 'p', 'a')).out).toMatch(/^── ask .*\n── skipped\n$/);
  });

  it('of a ticket are what its attempts printed', async ({ world }) => {
    twoPhases(world);
    await world.cli('run', 'p');
    const { out } = await world.cli('logs', 'p', 'a');
    expect(out).toMatch(
      /^── build \(agent\) .*\nfrom the agent\naside\n── success\n── check .*\nfrom the check\n── success\n$/,
    );
    const lines = linesOf((await world.cli('logs', 'p', 'a', '--phase', 'check', '--json')).out);
    expect(lines).toMatchObject([
      { phase: 'check', visit: 1, attempt: 1, kind: 'begin' },
      { phase: 'check', kind: 'stdout', text: 'from the check' },
      { phase: 'check', kind: 'end' },
    ]);
  });

  it('shows with --failed what led to a phase that may not be entered again', async ({ world }) => {
    setUp(world);
    world.workflow('work', [
      { ...BUILD, maxVisits: 2, onSuccess: 'verify' },
      { id: 'verify', type: 'script', command: 'verify.sh', onSuccess: 'done', onFailure: 'build' },
      DONE,
      STUCK,
    ]);
    world.script('verify.sh', 'echo expected 3 to be 4; exit 1');
    await world.cli('run', 'p');
    const place = { cwd: world.repo, env: { ...world.env, NO_COLOR: '1' }, terminal: true, columns: 60 };
    const { out } = await new CliCall(['logs', 'p', '--failed'], place).ended;
    expect(out).toMatch(
      /^p\/a\n── verify .*\nexpected 3 to be 4\n── failure: .*\n── build \[visit 3\] .*\n── failure: verify: /,
    );
    expect(out).toMatch(/at most\s+2\s+are\s+allowed\.\n$/);
    expect(out.split('\n').filter((line) => line.length > 60)).toEqual([]);
  });

  it('can be followed until Ctrl-C', async ({ world }) => {
    setUp(world, 'echo one; go; echo two; commit');
    const run = world.invoke(['run', 'p']);
    await world.call('start');
    const log = world.invoke(['logs', 'p', 'a', '-f']);
    await log.says('one');
    expect(log.soFar).not.toContain('two');
    world.go();
    await log.says(/two[\s\S]*── success/);
    expect((await run.ended).code).toBe(0);
    expect(log.alive).toBe(true);
    expect(await log.kill('SIGINT')).toMatchObject({ code: 0, signal: null, err: '' });
  });

  it.for([
    ['commit', 'complete', '── a complete'],
    ['exit 1', 'needs_attention', '── a needs attention'],
  ])(
    'can be followed until the ticket rests: after %j it is %s',
    async ([body = '', status, last], { world }) => {
      setUp(world, `echo one; go; echo two; ${body}`);
      const run = world.invoke(['run', 'p']);
      await world.call('start');
      const log = world.invoke(['logs', 'p', 'a', '--follow', '--until-rest']);
      await log.says('one');
      world.go();
      await run.ended;
      const { code, out } = await log.ended;
      expect(code).toBe(0);
      expect(out).toContain(`two\n`);
      expect(out.trimEnd().split('\n').at(-1)).toContain(last);
      const again = linesOf((await world.cli('logs', 'p', 'a', '-f', '--until-rest', '--json')).out);
      expect(again.at(-1)).toMatchObject({ kind: 'rest', status });
    },
  );

  it('cannot wait for the rest of a plan, or without following', async ({ world }) => {
    setUp(world);
    for (const words of [
      ['p', '-f'],
      ['p', 'a'],
    ])
      expect(refusal(await world.cli('logs', ...words, '--until-rest'))).toContain(
        '--until-rest needs a ticket',
      );
  });

  it('of agents keep their lines and say what was used', async ({ world }) => {
    setUp(world);
    world.rehearsal([
      {
        do: [
          { say: 'A list:\n\n  - one\n\t- two\u001b[2J\n' },
          { usage: { inputTokens: 1000, outputTokens: 500, costUsd: 0.25 } },
          { commit: 'Work' },
        ],
      },
    ]);
    world.config({ defaultAgent: 'rehearsal' });
    await world.cli('run', 'p');
    const { out } = await world.cli('logs', 'p', 'a');
    expect(out).toContain('\nA list:\n\n  - one\n  - two\n');
    expect(out).toContain('(1.5k tokens · $0.25)\n');
    expect(out).not.toContain('\u001b');
  });

  it('end with a message when the plan goes away meanwhile', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    const log = world.invoke(['logs', 'p', 'a', '--follow']);
    await log.says('── success');
    rmSync(dirname(world.planFile('p')), { recursive: true });
    const { code, err } = await log.ended;
    expect(code).toBe(2);
    expect(err).toContain('❌ There is no plan "p".');
    expect(err).not.toContain('at ');
  });

  it('are empty for a ticket that has not begun', async ({ world }) => {
    setUp(world);
    expect(await world.cli('logs', 'p')).toMatchObject({ code: 0, out: '' });
    expect(await world.cli('logs', 'p', 'a')).toMatchObject({ code: 0, out: '' });
  });

  it('of what is not there are refused', async ({ world }) => {
    setUp(world);
    expect((await world.cli('logs', 'x')).code).toBe(2);
    const ended = await world.cli('logs', 'p', 'z');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('Its tickets: a.');
  });
});
