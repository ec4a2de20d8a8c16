import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { Bench } from '../features/pull-requests/bench.ts';
import type { FakeReview } from '../support/gh/fake-gh.ts';
import { type World, waitFor } from '../support/index.ts';
import { IssueWorld } from './issue-world.ts';
import { it } from './support.ts';

/** Two issues on GitHub, which a chain works on. */
function chained(world: World): { bench: Bench; issues: IssueWorld } {
  const bench = new Bench(world);
  world.config({ pollInterval: 0.2 });
  bench.gh.issues({ number: 1, title: 'One' }, { number: 2, title: 'Two' });
  const issues = new IssueWorld(world, bench.env);
  return { bench, issues };
}

function review(bench: Bench, number: number, given: Partial<FakeReview> & Pick<FakeReview, 'state'>): void {
  bench.gh.pullRequest(number, (pull) => {
    const at = new Date().toISOString();
    pull.reviews.push({
      author: { login: 'ann' },
      authorAssociation: 'MEMBER',
      body: '',
      submittedAt: at,
      ...given,
    });
  });
}

const gated = (world: World, run: string, id: string) =>
  world.reaches(run, id, (ticket) => ticket.hold?.kind === 'gate' && ticket.claim === null);

describe.concurrent('--qa-gate with pull requests', () => {
  it('goes on when the pull request is approved, also after a restart, and takes no slot meanwhile', {
    tags: 'full',
  }, async ({ world }) => {
    const { bench, issues } = chained(world);
    const first = issues.start('run', '1', '2', '--chain', '--qa-gate', '--phases', 'exec,qa');
    const run = await issues.run();
    await gated(world, run, '1');
    expect(bench.pulls()).toMatchObject([{ number: 3, state: 'OPEN' }]);
    await first.says('◌ #1 waits: Approve? READY_FOR_MERGE');
    await first.kill('SIGKILL');
    const second = issues.start('resume', run);
    await second.says('Progress: #1 ⏳ #2 ⏳');
    review(bench, 3, { state: 'COMMENTED', body: 'Hm.' });
    review(bench, 3, { state: 'APPROVED', body: 'Fine.' });
    expect((await world.reaches(run, '1', 'complete')).context).toMatchObject({
      qa_gate_decision: 'approve',
      qa_gate_message: 'ann approves: Fine.',
    });
    await gated(world, run, '2');
    expect(bench.pulls()[1]).toMatchObject({ baseRefName: 'feature/1-one', headRefName: 'feature/2-two' });
    expect((await issues.cli('respond', run, '2', 'approve', 'by', 'hand')).code).toBe(0);
    const ended = await second.ended;
    expect(ended.code, ended.out + ended.err).toBe(0);
    expect(ended.out).toMatch(/^2 of 2 done · /m);
    expect(ended.out.match(/#2 waits/g)).toHaveLength(1);
    const looks = world.events(run).filter(({ type }) => type === 'ticket:status').length;
    expect(looks).toBeLessThan(20);
  });

  it('sends the work back with what reviewers want changed, once for each state of the branch', {
    tags: 'full',
  }, async ({ world }) => {
    const { bench, issues } = chained(world);
    const flags = ['--chain', '--qa-gate', '--quality-loop', '--phases', 'exec,qa'];
    const running = issues.invoke('run', '1', ...flags);
    const run = await issues.run();
    await gated(world, run, '1');
    const tip = bench.tip('feature/1-one');
    review(bench, 3, { state: 'CHANGES_REQUESTED', body: 'Name it better.', commit: { oid: tip } });
    await world.reaches(run, '1', (ticket) => ticket.visits.qa_gate === 2 && ticket.hold?.kind === 'gate');
    const prompt = join(world.stateDir, 'jobs', run, '1', 'exec.2.1', 'prompt.md');
    expect(readFileSync(prompt, 'utf8')).toContain('ann requests changes: Name it better.');
    expect(bench.tip('feature/1-one')).not.toBe(tip);
    expect(world.ticket(run, '1').visits.exec).toBe(2);
    review(bench, 3, { state: 'APPROVED', body: '', commit: { oid: bench.tip('feature/1-one') } });
    expect((await running.ended).code).toBe(0);
  });

  it('waits on when GitHub cannot be asked, and says so', { tags: 'full' }, async ({ world }) => {
    const { bench, issues } = chained(world);
    // The first question reads the issue, the next ones the reviews.
    bench.gh.fail({ call: 'api graphql', from: 2, times: null, stderr: 'HTTP 502: Bad Gateway\n' });
    const running = issues.invoke('run', '1', '--chain', '--qa-gate', '--phases', 'exec,qa');
    const run = await issues.run();
    const held = await gated(world, run, '1');
    expect(held.hold?.reason).toMatch(/could not look for an answer: .*502/);
    bench.gh.change((state) => {
      state.failures = [];
    });
    review(bench, 3, { state: 'APPROVED' });
    const { code, out } = await running.ended;
    expect(code, out).toBe(0);
  });

  it('stays open when Ctrl-C comes in the middle of a look', { tags: 'full' }, async ({ world }) => {
    const { bench, issues } = chained(world);
    const running = issues.invoke('run', '1', '--chain', '--qa-gate', '--phases', 'exec,qa');
    const run = await issues.run();
    await gated(world, run, '1');
    bench.gh.fail({ call: 'api graphql', times: null, hang: true });
    const before = bench.gh.calls('api graphql').length;
    await waitFor('a look that hangs', () => bench.gh.calls('api graphql').length > before);
    await world.reaches(run, '1', ({ status }) => status === 'running');
    const { code, out } = await running.kill('SIGINT');
    expect(code).toBe(130);
    expect(out).toMatch(/! +#1 .*waits for approval/);
    expect(world.ticket(run, '1')).toMatchObject({ status: 'needs_attention', hold: { kind: 'gate' } });
    expect((await issues.cli('respond', run, '1', 'approve')).code).toBe(0);
    expect((await issues.cli('resume', run)).code).toBe(0);
  });

  it('ends with the question open where there is no pull request to look at', { tags: 'full' }, async ({
    world,
  }) => {
    const { issues } = chained(world);
    const flags = ['--chain', '--qa-gate', '--no-pr', '--phases', 'exec,qa'];
    const { code, out } = await issues.cli('run', '1', '2', ...flags);
    expect(code).toBe(1);
    expect(out).toMatch(/! +#1 .*waits for approval/);
    expect(out).toMatch(/◌ +#2 .*waits for #1 \(needs attention\)/);
    expect(out).toMatch(/^0 of 2 done · 1 needs you · 1 waiting · /m);
    const [run = ''] = issues.runs();
    expect(issues.log(run)).toMatchObject({
      summary: { passed: 0, failed: 0, waiting: 1, notStarted: 1 },
      issues: [{ status: 'waiting', waiting: true }, { status: 'not_started' }],
    });
    expect(issues.log(run).issues[0]).not.toHaveProperty('failureCategory');
    expect(JSON.parse((await issues.cli('stats', '--json')).out)).toMatchObject({
      issues: { total: 0 },
      failures: {},
    });
    expect((await issues.cli('respond', run, '1', 'reject', 'no tests')).code).toBe(0);
    const rejected = await issues.cli('resume', run);
    expect(rejected.code).toBe(1);
    expect(rejected.out).toMatch(/✗ +#1 .*rejected: no tests\n/);
    expect(rejected.out).toContain(`continue with: signalbox retry ${run} 1 && signalbox resume ${run}\n`);
  });
});

describe.concurrent('forge review', () => {
  it('prints decision and message, ends with 1 while there is none and with 2 when GitHub cannot be asked', {
    tags: 'full',
  }, async ({ world }) => {
    const { bench, issues } = chained(world);
    expect((await issues.cli('run', '1', '--phases', 'exec')).code).toBe(0);
    const [run = ''] = issues.runs();
    const ask = () => issues.cli('forge', 'review', run, '1');
    expect(await ask()).toMatchObject({ code: 1, out: 'Pull request #3 waits for a review.\n', err: '' });
    review(bench, 3, { state: 'APPROVED', body: 'Good.' });
    expect(await ask()).toMatchObject({ code: 0, out: 'approve\nann approves: Good.\n', err: '' });
    bench.gh.change((state) => {
      state.loggedIn = false;
    });
    expect(await ask()).toMatchObject({ code: 2, err: expect.stringContaining('gh auth login') });
  });
});
