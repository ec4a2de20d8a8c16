import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { readJob } from '../../src/machine/jobs/start-and-read-job.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import { git, it, story, type World, waitFor } from '../support/index.ts';
import { firstOnly } from '../support/tiers.ts';
import { within } from '../support/within.ts';

const usage = (costUsd: number) => ({ usage: { inputTokens: 100, outputTokens: 10, costUsd } });
const FINISH = [{ write: { path: 'rest.txt', text: 'x' } }, { commit: 'The rest' }, usage(0.5)];

function prepare(world: World, rules: unknown[]): void {
  world.rehearsal(rules);
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, onFailure: 'person' },
    { id: 'person', type: 'terminal', notify: true },
  ]);
  world.config({ defaultAgent: 'rehearsal' });
}

const isBroke = (ticket: Ticket) => ticket.hold?.kind === 'budget' && ticket.claim === null;

function raise(world: World, planId: string, ticketId: string, budget: Record<string, number>): void {
  world.writeTicket(planId, ticketId, { ...world.ticket(planId, ticketId), budget });
}

describe('a budget', () => {
  it.concurrent('stops an agent while it works, asks it to commit, and goes on in its session once raised', async ({
    world,
  }) => {
    prepare(world, [
      {
        when: { resumed: false },
        do: [{ write: { path: 'half.txt', text: 'x' } }, usage(1), usage(2.5), { hang: {} }],
      },
      { when: { attempt: 1 }, do: [{ commit: 'What is done' }, usage(0.25)] },
      { when: {}, do: FINISH },
    ]);
    world.plan('p', { tickets: { a: { budget: { usd: 2 } } } });
    const first = await world.cli('run', 'p');
    expect(first.code).toBe(1);
    expect(first.out).toMatch(/budget is used up: \$2\.50 of \$2\.00; it commits what is done/);
    const held = world.ticket('p', 'a');
    expect(held).toMatchObject({
      status: 'ready',
      hold: { kind: 'budget', reason: 'the ticket’s budget is used up: $2.75 of $2.00', until: null },
      retries: {},
    });
    expect(story(held)).toEqual(['build interrupted']);
    expect(held.phaseHistory[0]).toMatchObject({ usage: { costUsd: 2.75 }, error: { class: 'budget' } });
    expect(git(world.worktree('p', 'a'), 'log', '-1', '--format=%s').trim()).toBe('What is done');
    expect(world.promptOf('p', 'a', 'build.1.1.landing')).toContain('Commit what is done');
    expect((await world.cli('status', '--plan', 'p')).out).toContain('continues when the budget is raised');

    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').phaseHistory).toHaveLength(1);
    raise(world, 'p', 'a', { usd: 20 });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const done = world.ticket('p', 'a');
    expect(story(done)).toEqual(['build interrupted', 'build success']);
    expect(done.phaseHistory[1]?.sessionId).toBe(done.phaseHistory[0]?.sessionId);
  });

  it.concurrent('is reported once when little of it is left, and so is each attempt that costs far more than others', {
    tags: 'full',
  }, async ({ world }) => {
    const finish = (costUsd: number) => [
      { write: { path: 'rest.txt', text: 'x' } },
      { commit: 'x' },
      usage(costUsd),
    ];
    prepare(world, [
      { when: { ticket: 'f' }, do: finish(0.9) },
      { when: {}, do: finish(0.1) },
    ]);
    world.config({ maxConcurrency: 1 });
    const tickets = Object.fromEntries([...'abcdefgh'].map((id) => [id, {}]));
    world.plan('p', { tickets, budget: { usd: 1.7 } });
    const { code, out } = await world.cli('run', 'p');
    expect(code).toBe(0);
    const notices = out.split('\n').filter((line) => / of the |of its /.test(line));
    expect(notices).toEqual([
      '! f: 82 % of the plan’s budget is used: $1.40 of $1.70',
      '! f: build cost $0.90, 9 times the median of its 6 attempts',
    ]);
  });

  it.concurrent('asks nothing more of an agent that has left nothing uncommitted', async ({ world }) => {
    prepare(world, [{ when: {}, do: [usage(9), { hang: {} }] }]);
    world.plan('p', { tickets: { a: { budget: { tokens: 50 } } } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').hold?.reason).toBe(
      'the ticket’s budget is used up: 110 tokens of 50 tokens',
    );
    expect(world.jobDirs().map((dir) => dir.split('/').at(-1))).toEqual(['build.1.1']);
  });

  it.concurrent('of a plan is one for all its tickets, and other plans go on', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, [{ when: {}, do: FINISH }]);
    world.config({ maxConcurrency: 1 });
    world.plan('p', { budget: { usd: 1 }, tickets: { a: {}, b: { order: 1 }, c: { order: 2 } } });
    world.plan('q', { tickets: { d: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect((await world.cli('run', 'q')).code).toBe(0);
    const states = ['a', 'b', 'c']
      .map((id) => world.ticket('p', id))
      .map((each) => each.hold?.kind ?? each.status);
    expect(states).toEqual(['complete', 'complete', 'budget']);
    const { out } = await world.cli('status', '--plan', 'p');
    expect(out).toContain('→ starts when the budget is raised, with: signalbox run p');
    world.editPlan('p', (plan) => Object.assign(plan, { budget: { usd: 5 } }));
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it.concurrent('of a day ends with it, and status says when', async ({ world }) => {
    prepare(world, [{ when: {}, do: FINISH }]);
    world.config({ maxConcurrency: 1, budgets: { day: { launches: 1 } } });
    world.plan('p', { tickets: { a: {}, b: { order: 1 } } });
    const run = world.invoke(['run', 'p']);
    const held = await world.reaches('p', 'b', isBroke);
    const midnight = new Date(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`).getTime() + 86_400_000;
    expect(held.hold).toMatchObject({
      reason: 'today’s budget is used up: 1 launch of 1 launch',
      until: new Date(midnight).toISOString(),
    });
    expect(run.alive).toBe(true);
    await run.kill('SIGTERM');
  });

  it.concurrent('of time ends an attempt that takes longer', { tags: 'full' }, async ({ world }) => {
    prepare(world, [{ when: {}, do: [{ hang: {} }] }]);
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', budget: { seconds: 1 } }]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a')).toMatchObject({
      status: 'ready',
      hold: {
        kind: 'budget',
        reason: expect.stringMatching(/^the phase’s budget is used up: \d+ s of 1 s$/),
      },
    });
  });

  it.concurrent('of time ends an agent that tells nothing of itself, which is then not done', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, []);
    world.agent('agent', 'echo All done.; sleep 60');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', budget: { seconds: 1 } }]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(story(world.ticket('p', 'a'))).toEqual(['build interrupted']);
    expect(world.ticket('p', 'a').hold?.kind).toBe('budget');
  });

  it.concurrent('lets Claude Code be done whose last report used it up', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, []);
    const done = {
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: 'Done.',
      total_cost_usd: 3,
      usage: { input_tokens: 5, output_tokens: 5 },
    };
    world.agent('claude', `echo '${JSON.stringify(done)}'; sleep 60`, { adapter: 'claude' });
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'x', agent: 'claude', budget: { usd: 2 }, onSuccess: 'fine' },
      { id: 'fine', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.ticket('p', 'a').phaseHistory[0]).toMatchObject({
      status: 'success',
      usage: { costUsd: 3 },
    });
  });

  it.concurrent('blocks on request when nobody knows what an agent used', async ({ world }) => {
    prepare(world, []);
    world.agent('agent', 'commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'review' },
      { id: 'review', type: 'agent', prompt: 'Review.' },
    ]);
    world.config({ budgets: { ticket: { usd: 5 }, unknown: 'block' } });
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'a').hold).toMatchObject({
      kind: 'budget',
      reason: expect.stringContaining('the cost of phase build of p/a is unknown'),
    });
    expect((await world.cli('status', '--plan', 'p')).out).toContain(
      'once you have checked: signalbox retry p a',
    );
    expect((await world.cli('retry', 'p', 'a')).code).toBe(0);
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it.concurrent('says of a ticket that has not begun what it waits for a look at', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, []);
    world.agent('agent', 'commit');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    world.config({ maxConcurrency: 1, budgets: { plan: { usd: 5 }, unknown: 'block' } });
    world.plan('p', { tickets: { a: {}, b: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const { out } = await world.cli('status', '--plan', 'p');
    expect(out).toContain('the cost of phase build of p/a is unknown');
    expect(out).toContain('→ once you have checked: signalbox retry p b');
    expect((await world.cli('retry', 'p', 'b')).code).toBe(0);
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  it.concurrent('of launches is not exceeded by tickets that start at the same time', async ({ world }) => {
    prepare(world, [{ when: {}, do: FINISH }]);
    world.config({ maxConcurrency: 4 });
    world.plan('p', { budget: { launches: 2 }, tickets: { a: {}, b: {}, c: {}, d: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const tickets = ['a', 'b', 'c', 'd'].map((id) => world.ticket('p', id));
    expect(tickets.filter((each) => each.status === 'complete')).toHaveLength(2);
    const held = tickets.filter((each) => each.hold?.kind === 'budget');
    expect(held.map((each) => each.hold?.reason)).toEqual(
      Array(2).fill('the plan’s budget is used up: 2 launches of 2 launches'),
    );
    expect(world.jobDirs()).toHaveLength(2);
  });

  it.concurrent('of time is one for all that run beside each other', { tags: 'full' }, async ({ world }) => {
    prepare(world, [{ when: {}, do: [{ hang: {} }] }]);
    world.config({ maxConcurrency: 3 });
    world.plan('p', { budget: { seconds: 6 }, tickets: { a: {}, b: {}, c: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const tickets = ['a', 'b', 'c'].map((id) => world.ticket('p', id));
    for (const each of tickets)
      expect(each.hold?.reason).toMatch(/^the plan’s budget is used up: \d+ s of 6 s$/);
    const seconds = tickets
      .flatMap((each) => each.phaseHistory)
      .reduce(
        (sum, { startedAt, completedAt }) => sum + Date.parse(completedAt ?? '') - Date.parse(startedAt),
        0,
      );
    // Each is stopped for itself, which takes its time on a busy machine; alone, every one would have had six.
    expect(seconds).toBeLessThan(within(14_000));
  });

  const output = {
    type: 'object',
    properties: { outcome: { enum: ['pass'] }, note: { type: 'string' } },
    required: ['outcome', 'note'],
  };

  it.concurrent('counts a turn that mends the result, and does not begin one that it has no launch for', async ({
    world,
  }) => {
    prepare(world, [
      { when: { resumed: true }, do: [{ result: { data: { outcome: 'pass', note: 'fits' } } }] },
      { when: {}, do: [{ say: 'Fine.' }, { result: { data: { outcome: 'pass' } } }] },
    ]);
    world.workflow('work', [
      { id: 'review', type: 'agent', prompt: 'Review.', output, on: { pass: 'done', failure: 'done' } },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { one: { budget: { launches: 1 } }, two: { budget: { launches: 2 } } } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'one').hold).toMatchObject({
      kind: 'budget',
      reason: 'the ticket’s budget is used up: 1 launch of 1 launch',
    });
    expect(world.jobDirs().filter((dir) => dir.includes('/one/'))).toHaveLength(1);
    expect(world.ticket('p', 'two')).toMatchObject({ status: 'complete', phaseHistory: [{ launches: 2 }] });
    raise(world, 'p', 'one', { launches: 3 });
    expect((await world.cli('run', 'p')).code).toBe(0);
  });

  for (const [index, [more, usd]] of Object.entries({ '': 2, ', the budget raised': 9 }).entries())
    it.concurrent(
      `counts the turn that winds up and ends while no engine is there${more}`,
      firstOnly(index),
      async ({ world }) => {
        const half = [{ write: { path: 'half.txt', text: 'x' } }, usage(3), { hang: {} }];
        const goes = `while [ ! -e '${world.dir}/go-on' ]; do sleep 0.03; done`;
        prepare(world, [
          { when: { resumed: false }, do: half },
          { when: { attempt: 1 }, do: [{ run: goes }, { commit: 'What is done' }, usage(0.25)] },
          { when: {}, do: FINISH },
        ]);
        world.plan('p', { tickets: { a: { budget: { usd: 2 } } } });
        const run = world.start(['run', 'p']);
        const landing = () => world.jobDirs().find((dir) => dir.endsWith('.landing'));
        const isAt = (state: string) => readJob(landing() ?? '').state === state;
        await waitFor('the turn that winds up', () => isAt('running'));
        await run.kill('SIGKILL');
        writeFileSync(join(world.dir, 'go-on'), '');
        await waitFor('its end', () => isAt('ended'));
        raise(world, 'p', 'a', { usd });
        expect((await world.cli('run', 'p')).code).toBe(usd === 2 ? 1 : 0);
        expect(world.ticket('p', 'a').phaseHistory[0]).toMatchObject({
          status: 'interrupted',
          launches: 2,
          usage: { costUsd: 3.25 },
        });
      },
    );

  it.concurrent('counts the turn that winds up, and leaves it out when no launch is left', async ({
    world,
  }) => {
    const half = [{ write: { path: 'half.txt', text: 'x' } }, usage(3), { hang: {} }];
    prepare(world, [
      { when: { resumed: false }, do: half },
      { when: {}, do: [{ commit: 'What is done' }] },
    ]);
    world.plan('p', {
      tickets: { one: { budget: { usd: 2, launches: 1 } }, two: { budget: { usd: 2, launches: 2 } } },
    });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(world.ticket('p', 'two').phaseHistory[0]).toMatchObject({ launches: 2 });
    expect(world.ticket('p', 'one').phaseHistory[0]).not.toHaveProperty('launches');
    const landed = world.jobDirs().filter((dir) => dir.endsWith('.landing'));
    expect(landed.map((dir) => dir.split('/').at(-2))).toEqual(['two']);
  });

  it.concurrent('gives time to a turn that mends the result only from what is left', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, [
      { when: { resumed: true }, do: [{ hang: {} }] },
      { when: {}, do: [{ wait: 3 }, { say: 'Fine.' }, { result: { data: { outcome: 'pass' } } }] },
    ]);
    world.workflow('work', [
      {
        id: 'review',
        type: 'agent',
        prompt: 'Review.',
        output,
        budget: { seconds: 6 },
        on: { pass: 'done', failure: 'done' },
      },
      { id: 'done', type: 'terminal' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const held = world.ticket('p', 'a');
    expect(held.hold?.reason).toMatch(/^the phase’s budget is used up: \d+ s of 6 s$/);
    const [{ startedAt, completedAt } = { startedAt: '', completedAt: '' }] = held.phaseHistory;
    expect(Date.parse(completedAt ?? '') - Date.parse(startedAt)).toBeLessThan(within(9_000));
  });

  it.concurrent('in tokens ends Claude Code after the model call that used it up, and a timeout loses nothing', {
    tags: 'full',
  }, async ({ world }) => {
    prepare(world, []);
    const message = (id: number) =>
      JSON.stringify({
        type: 'assistant',
        message: {
          id: `m${id}`,
          model: 'claude-sonnet-5-5',
          content: [{ type: 'text', text: 'On it.' }],
          usage: { input_tokens: 400, output_tokens: 1 },
        },
      });
    const lines = [1, 2, 3].map((id) => `echo '${message(id)}'`).join('; sleep 0.7; ');
    world.agent('claude', `${lines}; sleep 60`, { adapter: 'claude' });
    const phase = { type: 'agent', prompt: 'x', agent: 'claude', onFailure: 'person' };
    world.workflow('work', [
      {
        id: 'slow',
        ...phase,
        timeoutSeconds: 3,
        maxRetries: 1,
        budget: { tokens: 2000 },
      },
      { id: 'person', type: 'terminal', notify: true },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    const held = world.ticket('p', 'a');
    expect(story(held)).toEqual(['slow failure', 'slow interrupted']);
    expect(held.phaseHistory[0]).toMatchObject({ error: { class: 'timeout' }, usage: { inputTokens: 1200 } });
    expect(held.phaseHistory[0]?.usage?.costUsd).toBeGreaterThan(0.002);
    expect(held.phaseHistory[1]?.usage?.inputTokens).toBe(800);
    expect(held.hold?.reason).toMatch(/^the phase’s budget is used up: 20\d\d tokens of 2000 tokens$/);
  });

  it.concurrent('on request blocks after a limit that was met in the work, not after one before it', async ({
    world,
  }) => {
    prepare(world, []);
    const event = (value: unknown) => `echo '${JSON.stringify(value)}'`;
    const said = event({
      type: 'assistant',
      message: { id: 'm', content: [{ type: 'text', text: 'On it.' }] },
    });
    const limit = `echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(($(date +%s) + 1))'}}'`;
    const done = {
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: 'Done.',
      total_cost_usd: 0.1,
    };
    world.agent(
      'claude',
      `if [ "$SIGNALBOX_ATTEMPT" = 1 ]; then [ "$SIGNALBOX_TICKET" = before ] || ${said}; ${limit}; exit 1; fi; ${event(done)}`,
      { adapter: 'claude', account: 'none' },
    );
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'x', agent: 'claude' }]);
    world.config({ budgets: { ticket: { usd: 5 }, unknown: 'block' } });
    world.plan('p', { tickets: { before: {}, within: {} } });
    expect((await world.cli('run', 'p')).code).toBe(1);
    expect(story(world.ticket('p', 'before'))).toEqual(['build limit', 'build success']);
    expect(story(world.ticket('p', 'within'))).toEqual(['build limit']);
    expect(world.ticket('p', 'within').hold?.reason).toContain(
      'the cost of phase build of p/within is unknown',
    );
  });
});
