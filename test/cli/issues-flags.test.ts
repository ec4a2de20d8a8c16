import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { Bench } from '../features/pull-requests/bench.ts';
import { CliCall } from '../support/cli-call.ts';
import { commitsOf, story } from '../support/index.ts';
import { IssueWorld } from './issue-world.ts';
import { git, it, linesOf, refusal } from './support.ts';

const EXEC = ['--phases', 'exec', '--no-smart-tests'];

describe.concurrent('the flags of a run of issues', () => {
  it('--concurrency bounds how many run at once', async ({ world }) => {
    world.agent('agent', 'note working; go; commit');
    const issues = new IssueWorld(world);
    for (const name of ['a', 'b', 'c']) issues.write(`${name}.md`, `# ${name}\n`);
    const run = issues.invoke('run', 'a.md', 'b.md', 'c.md', '--concurrency', '2', ...EXEC);
    await world.call('working', {}, 2);
    world.go('a');
    await world.call('working', {}, 3);
    world.go();
    expect((await run.ended).code).toBe(0);
    let [now, most] = [0, 0];
    for (const { what } of world.calls()) {
      if (what === 'start') now += 1;
      if (what === 'end') now -= 1;
      most = Math.max(most, now);
    }
    expect(most).toBe(2);
  });

  it('--chain starts each issue from the one before, and stops at a failure', { tags: 'full' }, async ({
    world,
  }) => {
    world.agent('agent', 'case $SIGNALBOX_TICKET in c) exit 1 ;; esac\ncommit $SIGNALBOX_TICKET');
    const issues = new IssueWorld(world).write('a.md', '# A\n', { dependsOn: ['b'] });
    for (const name of ['b', 'c', 'd']) issues.write(`${name}.md`, `# ${name}\n`);
    const { code, out } = await issues.cli('run', 'a.md', 'b.md', 'c.md', 'd.md', '--chain', ...EXEC);
    expect(code).toBe(1);
    expect(commitsOf(world.repo, 'feature/a-a')).toEqual(['b', 'a']);
    expect(out).toMatch(
      /◌ +d +not started +waits for c \(failed\)\n\n2 of 4 done · 1 needs you · 1 waiting · /,
    );
    expect(git(world.repo, 'branch', '--list', 'feature/d*')).toBe('');
    // One at a time shows what is known of each phase.
    expect(out).toContain('  b   agent agent\n');
    expect(out).toContain('  c   the agent ended with exit code 1');
  });

  it('--phases skips the others, which are recorded', { tags: 'full' }, async ({ world }) => {
    const issues = new IssueWorld(world).write('a.md', '# A\n', { labels: ['security'] });
    expect((await issues.cli('run', 'a.md', '--phases', 'spec,qa')).code).toBe(0);
    const [run = ''] = issues.runs();
    expect(story(world.ticket(run, 'a'))).toEqual([
      'spec success',
      'testgen skipped',
      'exec skipped',
      'smart_tests skipped',
      'security_review skipped',
      'checks success',
      'qa success',
      'pull_request skipped',
      'qa_gate skipped',
      'integrate skipped',
    ]);
  });

  it('--no-retry means one attempt of everything; otherwise spec has a second one after 5 s', {
    tags: 'full',
  }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'spec' }, do: [{ fail: { class: 'crash', message: 'no' } }] }]);
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const once = await issues.cli('run', 'a.md', '--no-retry');
    expect(once.code).toBe(1);
    expect(once.out).toMatch(/✗ Issue a failed \(\d+s\): Phase spec failed\n/);
    const [first = ''] = issues.runs();
    expect(story(world.ticket(first, 'a'))).toEqual(['spec failure']);
    const twice = issues.invoke('run', 'a.md');
    await twice.says('● a: spec ✗');
    const second = issues.runs().find((run) => run !== first) ?? '';
    const held = await world.reaches(second, 'a', (ticket) => ticket.hold?.kind === 'backoff');
    expect(Date.parse(held.hold?.until ?? '') - Date.parse(held.since ?? '')).toBe(5000);
    await twice.kill('SIGINT');
  });

  it('--verbose shows what agents say, line by line with the issue before it; --quiet the result alone', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('agent', 'echo first; printf "second\\033[31m\\nthird\\n"; commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n');
    const verbose = await issues.cli('run', 'a.md', '--verbose', ...EXEC);
    for (const line of ['  a │ first\n', '  a │ second\n', '  a │ third\n'])
      expect(verbose.out).toContain(line);
    const quiet = await issues.cli('run', 'b.md', '--quiet', ...EXEC);
    expect(quiet.code).toBe(0);
    expect(quiet.out).toMatch(
      /^\n +issue .*\n✓ +b .*\n\n1 of 1 done · \d+s · cost unknown\nThe work is .*\nTo merge: .*\nLog: .*\n$/,
    );
  });

  it('--quality-loop goes back to exec with the findings, --max-iterations bounds it', {
    tags: 'full',
  }, async ({ world }) => {
    const data = { outcome: 'AC_NOT_MET', summary: 'Nothing is printed.', criteria: [], findings: [] };
    world.rehearsal([{ when: { phase: 'qa' }, do: [{ result: { text: 'No.', data } }] }]);
    const issues = new IssueWorld(world)
      .write('a.md', '# A\n')
      .write('b.md', '# B\n', { labels: ['complex'] });
    const flags = ['--phases', 'exec,qa', '--no-smart-tests'];
    const looped = await issues.cli('run', 'a.md', ...flags, '--quality-loop', '--max-iterations', '2');
    expect(looped.code).toBe(1);
    expect(looped.out).toContain(
      '● a: qa ✗\n  a   AC_NOT_MET: Nothing is printed.\n● a: exec started (round 2)',
    );
    expect(looped.out).toMatch(/✗ Issue a failed \(\d+s\): Phase qa failed\n/);
    const [run = ''] = issues.runs();
    expect(world.ticket(run, 'a').phaseHistory.filter(({ phase }) => phase === 'qa')).toHaveLength(2);
    expect(world.promptOf(run, 'a', 'exec.2.1')).toContain('Nothing is printed.');
    const plain = await issues.cli('run', 'b.md', ...flags);
    expect(plain.out).not.toContain('round 2');
  });

  it('--timeout ends a phase that takes longer', { tags: 'full' }, async ({ world }) => {
    world.rehearsal([{ when: { phase: 'exec' }, do: ['hang'] }]);
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const { code, out } = await issues.cli('run', 'a.md', '--timeout', '1', '--json', ...EXEC);
    expect(code).toBe(1);
    expect(linesOf(out).at(-1)).toMatchObject({
      ok: false,
      results: [{ failureCategory: 'timeout', abortReason: 'Phase exec failed' }],
    });
  });

  it('--base starts from that branch, --force does again what is done, --agent names the agent', {
    tags: 'full',
  }, async ({ world }) => {
    world.agent('mine', 'commit mine');
    const issues = new IssueWorld(world);
    git(world.repo, 'switch', '--quiet', '--create', 'develop');
    issues.write('a.md', '# A\n');
    git(world.repo, 'switch', '--quiet', 'main');
    issues.write('a.md', '# A\n');
    const args = ['run', 'a.md', '--agent', 'mine', ...EXEC];
    expect((await issues.cli(...args, '--base', 'develop')).code).toBe(0);
    expect(git(world.repo, 'log', '--format=%s', 'develop..feature/a-a')).toBe('mine');
    expect((await issues.cli(...args)).out).toMatch(/✓ +a +done before/);
    expect((await issues.cli(...args, '--force')).out).toContain('✓ Issue a completed');
    expect(world.calls('start')).toHaveLength(2);
    const missing = await issues.cli('run', 'a.md', '--agent', 'mien');
    expect(missing.code).toBe(2);
    expect(refusal(missing)).toContain('did you mean "mine"?');
  });

  it.for([
    ['--models fast --efforts low', ['--model fast', '--effort low']],
    ['--models exec=big,qa=small --efforts qa=low', ['--model big']],
  ])('%s', async ([flags = '', expected], { world }) => {
    const log = join(world.dir, 'argv');
    world.agent('claude', `echo "$@" > ${log}; exit 1`, { adapter: 'claude' });
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    await issues.cli(
      'run',
      'a.md',
      '--agent',
      'claude',
      ...flags.toString().split(' '),
      ...EXEC,
      '--no-retry',
    );
    for (const part of expected ?? []) expect(readFileSync(log, 'utf8')).toContain(part);
  });

  it('--no-pr leaves the branch; without it a pull request is opened', { tags: 'full' }, async ({
    world,
  }) => {
    const bench = new Bench(world);
    bench.gh.issues({ number: 1, title: 'One' }, { number: 2, title: 'Two' });
    const issues = new IssueWorld(world, bench.env);
    expect((await issues.cli('run', '1', '--no-pr', ...EXEC)).code).toBe(0);
    expect(bench.pulls()).toEqual([]);
    const { out } = await issues.cli('run', '2', ...EXEC);
    expect(out).toMatch(/✓ +#2 .*https:\/\/github\.com\/acme\/web\/pull\/3/);
    expect(bench.pulls()).toHaveLength(1);
  });

  it.for([
    ['run', '12'],
    ['run', '12', '--plain'],
    ['run', '12', '--detach'],
    ['plan', 'new', 'p', '--from', '12'],
    ['import', '12'],
  ])(
    'shows on a terminal within a second what is being done while GitHub is asked: %j',
    { tags: 'full' },
    async (args, { world }) => {
      new IssueWorld(world);
      git(world.repo, 'remote', 'add', 'origin', 'https://github.com/acme/web.git');
      const gh = join(world.dir, 'slow', 'gh');
      mkdirSync(dirname(gh));
      const asked = join(world.dir, 'go-on');
      writeFileSync(gh, `#!/bin/sh\nwhile [ ! -e '${asked}' ]; do sleep 0.05; done\nexit 1\n`, {
        mode: 0o755,
      });
      const call = new CliCall(args, {
        cwd: world.repo,
        env: { ...world.env, TERM: 'xterm', PATH: `${dirname(gh)}:${world.env.PATH}` },
        ...{ terminal: true, columns: 80 },
      });
      await call.says(args[0] === 'run' ? '· Preparing the run…' : '· Reading the issues…');
      writeFileSync(asked, '');
      expect((await call.ended).code).not.toBe(0);
    },
  );

  it.for([
    [['--chain', '--batch', 'b.md'], '--chain cannot be used with --batch'],
    [['--chain', '--concurrency', '3'], '--chain cannot be used with --concurrency 3'],
    [['--sequential', '--concurrency', '3'], '--sequential cannot be used with --concurrency 3'],
    [['--qa-gate'], '--qa-gate needs --chain'],
    [['--quiet', '--verbose'], '--quiet cannot be used with --verbose'],
    [['--phases', 'spec', '--integrate'], '--integrate cannot be used with --phases spec: only work'],
    [['--phases', 'qa', '--quality-loop'], '--quality-loop cannot be used with --phases qa: the loop'],
    [['--phases', 'spec,cook'], 'there is no phase "cook"'],
    [['--concurrency', '0'], '❌ Invalid --concurrency value: 0. Must be a positive integer.'],
    [['--concurrency', '1.5'], '❌ Invalid --concurrency value: 1.5. Must be a positive integer.'],
    [['--max-iterations', '-1'], '❌ Invalid --max-iterations value: -1. Must be a positive integer.'],
    [['--timeout', '30m'], 'It is in seconds, without a unit; write 1800.'],
    [['--models', 'a,b'], 'there is more than one value for all phases'],
    [['--efforts', 'exec=huge'], '"huge" is none of'],
  ] as const)('%s is refused, and nothing starts', async ([args, message], { world }) => {
    const issues = new IssueWorld(world).write('a.md', '# A\n').write('b.md', '# B\n');
    const ended = await issues.cli('run', 'a.md', ...args);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain(message);
    expect(issues.runs()).toEqual([]);
  });
});
