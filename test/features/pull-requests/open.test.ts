import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type FakeCall, FakeGh } from '../../support/gh/fake-gh.ts';
import { git, it } from '../../support/index.ts';
import { Bench, failure, issue } from './bench.ts';

const none: FakeCall = { argv: [], cwd: '' };

describe.concurrent('a pull request', () => {
  it('is pushed and opened once; a second call only looks', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12, { labels: ['Bug: crash'] }) } });
    await bench.work('12');
    const first = await bench.open('12');
    expect(first).toEqual({
      number: 1,
      url: 'https://github.com/acme/web/pull/1',
      created: true,
      pushed: true,
    });
    expect(bench.pulls()).toMatchObject([
      { title: 'fix(#12): Add a thing', baseRefName: 'main', headRefName: 'feature/12-add-a-thing' },
    ]);
    expect(bench.tip('feature/12-add-a-thing')).toBe(bench.tip('feature/12-add-a-thing', world.repo));
    expect(await bench.open('12')).toEqual({ ...first, created: false, pushed: false });
    expect(bench.gh.calls('pr create')).toHaveLength(1);
    expect(bench.gh.calls('pr edit')).toHaveLength(0);
    expect(bench.journal('12')).toEqual([
      'push intent',
      'push done',
      'create intent',
      'create done',
      'push intent',
      'push done',
    ]);
  });

  it('is not opened, and nothing is pushed, where the work started from a branch that origin does not have', async ({
    world,
  }) => {
    const bench = new Bench(world);
    git(world.repo, 'branch', 'wip');
    world.plan('p', { base: 'wip', tickets: { '12': issue(12) } });
    await bench.work('12');
    expect(await failure(bench.open('12'))).toMatchObject({
      code: 'workspace/base-not-pushed',
      message: 'feature/12-add-a-thing started from wip, which origin does not have: nothing was pushed.',
    });
    expect(git(bench.origin, 'branch', '--list', 'feature/*')).toBe('');
    expect(bench.pulls()).toEqual([]);
  });

  it('that is open gets the new commits and the new findings; title and other text stay', {
    tags: 'full',
  }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    const path = await bench.work('12');
    await bench.open('12');
    bench.gh.pullRequest(1, (pull) => {
      pull.title = 'A better title';
      pull.body = `Please look at this first.\r\n\r\n${pull.body}\r\n\r\ncc somebody`;
    });
    const tip = bench.commit(path, { 'more.txt': 'more\n' });
    const ticket = world.ticket('p', '12');
    world.writeTicket('p', '12', { ...ticket, context: { qa_summary: 'Now with more.' } });
    expect(await bench.open('12')).toMatchObject({ number: 1, created: false, pushed: true });
    expect(bench.tip('feature/12-add-a-thing')).toBe(tip);
    expect(bench.pulls()).toHaveLength(1);
    expect(bench.pulls()[0]?.title).toBe('A better title');
    expect(bench.pulls()[0]?.body).toBe(
      'Please look at this first.\n\n<!-- signalbox -->\nFixes #12\n\nNow with more.\n<!-- /signalbox -->\n\ncc somebody',
    );
  });

  it('that somebody opened by hand is taken, and keeps its text', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    const path = await bench.work('12');
    git(path, 'push', '--quiet', 'origin', 'HEAD');
    await bench.open('12');
    bench.gh.pullRequest(1, (pull) => {
      pull.body = 'Mine.';
    });
    expect(await bench.open('12')).toMatchObject({ number: 1, created: false, pushed: false });
    expect(bench.pulls()[0]?.body).toBe('Mine.\n\n<!-- signalbox -->\nFixes #12\n<!-- /signalbox -->');
  });

  it('of a fork with a branch of the same name is somebody else’s', { tags: 'full' }, async ({ world }) => {
    const bench = new Bench(world);
    const env = bench.overSsh('git@github.com:acme/web.git');
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12', undefined, env);
    await bench.open('12', env);
    bench.gh.pullRequest(1, (pull) => Object.assign(pull, { headOwner: 'stranger', baseRefName: 'release' }));
    expect(await bench.open('12', env)).toMatchObject({ number: 2, created: true });
    expect(await bench.open('12', env)).toMatchObject({ number: 2, created: false });
  });

  it('from a fork names its owner, and can have no branch of the fork as its base', async ({ world }) => {
    const bench = new Bench(world);
    const env = { ...bench.overSsh('git@github.com:me/web.git'), GH_REPO: 'acme/web' };
    world.plan('p', { tickets: { '12': issue(12), '13': { ...issue(13), blockedBy: ['12'] } } });
    await bench.work('12', undefined, env);
    await bench.work('13', undefined, env);
    bench.gh.fail({ call: 'pr create', stderr: 'GraphQL: Something is wrong with it\n' });
    const { message } = await failure(bench.open('13', env));
    expect(message).toBe(
      'The GitHub CLI could not open a pull request for feature/13-add-a-thing: Something is wrong with it',
    );
    const [{ argv } = none] = bench.gh.calls('pr create');
    expect(argv).toEqual(expect.arrayContaining(['--head', 'me:feature/13-add-a-thing', '--base', 'main']));
  });

  it('is found again when the answer to its creation was lost', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    bench.gh.fail({ call: 'pr create', after: true, stderr: 'error connecting to api.github.com\n' });
    expect(await bench.open('12')).toMatchObject({ number: 1, created: true });
    expect(bench.pulls()).toHaveLength(1);
  });

  it('converges after a crash between push and creation', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    bench.gh.fail({ call: 'pr create', stderr: 'HTTP 502\n' });
    expect(await failure(bench.open('12'))).toMatchObject({ code: 'gh/server' });
    expect(bench.journal('12').at(-1)).toBe('create failed');
    expect(await bench.open('12')).toMatchObject({ number: 1, created: true, pushed: false });
    expect(bench.pulls()).toHaveLength(1);
  });

  it('that was merged with these commits is the answer; its branch does not come back', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    await bench.open('12');
    bench.gh.pullRequest(1, (pull) => {
      pull.state = 'MERGED';
      pull.headRefOid = bench.tip('feature/12-add-a-thing');
    });
    git(bench.origin, 'update-ref', '-d', 'refs/heads/feature/12-add-a-thing');
    expect(await bench.open('12')).toMatchObject({ number: 1, created: false, pushed: false });
    expect(git(bench.origin, 'branch', '--list')).not.toContain('feature');
  });

  it('that was turned down is not opened a second time for the same commits', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    const path = await bench.work('12');
    await bench.open('12');
    bench.gh.pullRequest(1, (pull) => {
      pull.state = 'CLOSED';
      pull.headRefOid = bench.tip('feature/12-add-a-thing');
    });
    expect(await failure(bench.open('12'))).toMatchObject({
      code: 'forge/closed',
      hint: 'Open it again (gh pr reopen 1), or change the work first.',
    });
    bench.commit(path, { 'better.txt': 'x' });
    expect(await bench.open('12')).toMatchObject({ number: 2, created: true });
  });

  it('is changed with an old gh too, whose `pr edit` asks for what GitHub no longer has', async ({
    world,
  }) => {
    const bench = new Bench(world);
    const old = join(world.dir, 'bin', 'old-gh');
    writeFileSync(
      old,
      `#!/bin/sh
if [ "$1 $2" = 'pr edit' ]; then
  echo 'GraphQL: Projects (classic) is being deprecated (repository.pullRequest.projectCards)' >&2; exit 1
fi
if [ "$1" = api ]; then
  for word; do case $word in body=@*) cat "\${word#body=@}" > '${join(world.dir, 'patched')}' ;; repos/*) echo "$word" ;; esac; done
  exit 0
fi
exec '${FakeGh.command}' "$@"
`,
    );
    chmodSync(old, 0o755);
    world.config({ ghCommand: old });
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    await bench.open('12');
    world.writeTicket('p', '12', { ...world.ticket('p', '12'), context: { qa_summary: 'News.' } });
    await bench.open('12');
    expect(readFileSync(join(world.dir, 'patched'), 'utf8')).toContain('News.');
  });
});

describe.concurrent('text from elsewhere', () => {
  it('is data: no title or body of it is an option, a command or a second line', async ({ world }) => {
    const bench = new Bench(world);
    const title = `--web $(touch pwned) \`id\`\n--body "x" \u001b[31m\u202e${'🙂'.repeat(200)}`;
    const summary = 'Fixes #99, closes acme/web#98. cc @everyone <!-- <details> ```\n```js\n@scope/pkg';
    world.plan('p', {
      tickets: { '12': { ...issue(12), title, branch: 'feature/12-x', context: { qa_summary: summary } } },
    });
    await bench.work('12');
    await bench.open('12');
    const [{ argv } = none] = bench.gh.calls('pr create');
    const said = argv[argv.indexOf('--title') + 1] ?? '';
    expect(said).toMatch(/^feat\(#12\): --web \$\(touch pwned\) `id` --body "x" 🙂/);
    for (const bad of ['\n', '\u001b', '\u202e']) expect(said).not.toContain(bad);
    expect(said.length).toBeLessThanOrEqual(200);
    expect(Buffer.from(said).toString()).toBe(said);
    expect(argv.join(' ')).not.toContain('everyone');
    expect(world.exists('pwned')).toBe(false);
    const body = bench.pulls()[0]?.body ?? '';
    expect(body.match(/\b(fix|close|resolve)\w*:?\s+\S*#\d+/gi)).toEqual(['Fixes #12']);
    expect(body).not.toContain('@everyone');
    expect(body).not.toMatch(/<(?!!-- \/?signalbox)/);
    // The open code block is closed before our own mark.
    expect(body).toMatch(/@scope\/pkg\n```\n<!-- \/signalbox -->$/);
  });

  it('shows every criterion with its evidence, those that nobody judged as such, and a verdict that is not a plain yes', async ({
    world,
  }) => {
    const bench = new Bench(world);
    const context = {
      qa_summary: 'All done.',
      qa_verdict: 'AC_MET_BUT_NOT_A_PLUS',
      qa_criteria: [
        { criterion: '1. sums a|b', met: true, evidence: '`npm test`: 3 passed' },
        { criterion: 'Refuses\ntext', met: false, evidence: 'no test' },
      ],
    };
    const acceptanceCriteria = ['Sums a|b', 'Refuses text', 'Counts'];
    world.plan('p', { tickets: { '12': { ...issue(12), context, acceptanceCriteria } } });
    await bench.work('12');
    await bench.open('12');
    expect(bench.pulls()[0]?.body).toBe(
      [
        '<!-- signalbox -->',
        'Fixes #12',
        '',
        'All done.',
        '',
        '|  | Acceptance criterion | Evidence |',
        '|---|---|---|',
        '| ✓ | Sums a\\|b | `npm test`: 3 passed |',
        '| ✗ | Refuses text | no test |',
        '| – | Counts | not judged |',
        '',
        '> **Note:** the review’s verdict is `AC_MET_BUT_NOT_A_PLUS`, not `READY_FOR_MERGE`.',
        '<!-- /signalbox -->',
      ].join('\n'),
    );
  });
});

describe.concurrent('the page of a ticket', () => {
  it('is linked in the text of its pull request only where a setting says so', { tags: 'full' }, async ({
    world,
  }) => {
    const bench = new Bench(world);
    const publicUrl = 'https://signalbox.example.org/';
    const bodyOf = async (id: string, web: Record<string, unknown>) => {
      world.config({ ghCommand: FakeGh.command, web });
      await bench.work(id);
      await bench.open(id);
      return bench.pulls().find(({ body }) => body.includes(`Fixes #${id}`))?.body;
    };
    world.plan('p', { tickets: { '12': issue(12), '13': issue(13) } });
    expect(await bodyOf('12', { publicUrl })).not.toContain('signalbox.example.org');
    const body = await bodyOf('13', { publicUrl, linkInPullRequests: true });
    expect(body).toContain('Signalbox: https://signalbox.example.org/plans/p/tickets/13');
  });
});

describe.concurrent('nothing is opened', () => {
  it('when there is nothing to push', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12), '13': issue(13) } });
    await bench.work('12', {});
    expect(await failure(bench.open('12'))).toMatchObject({
      code: 'forge/nothing',
      message: 'feature/12-add-a-thing has no commits beyond origin/main: there is nothing to push.',
    });
    expect(await failure(bench.open('13'))).toMatchObject({ code: 'ticket/unstarted' });
    expect(bench.gh.calls()).toEqual([]);
  });

  it('when there is no origin', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    git(world.repo, 'remote', 'remove', 'origin');
    const { code, message, hint } = await failure(bench.open('12'));
    expect({ code, message }).toEqual({
      code: 'workspace/no-remote',
      message: `The repository ${world.repo} has no remote called origin, so there is nowhere to push to.`,
    });
    expect(hint).toContain('remote add origin');
  });

  it('when gh is missing or logged out; then nothing is pushed either', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    bench.gh.change((state) => {
      state.loggedIn = false;
    });
    expect(await failure(bench.open('12'))).toMatchObject({
      code: 'gh/auth',
      hint: 'Run `gh auth login`, or set GH_TOKEN; `gh auth status` shows what is in use.',
    });
    world.config({ ghCommand: join(world.dir, 'no-such-gh') });
    expect(await failure(bench.open('12'))).toMatchObject({ code: 'gh/missing' });
    expect(git(bench.origin, 'branch', '--list')).not.toContain('feature');
  });

  it('when the push fails: the reason is the server’s own', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    await bench.work('12');
    mkdirSync(join(bench.origin, 'hooks'), { recursive: true });
    const hook = join(bench.origin, 'hooks', 'pre-receive');
    writeFileSync(hook, '#!/bin/sh\necho "Commits must be signed." >&2\nexit 1\n');
    chmodSync(hook, 0o755);
    expect(await failure(bench.open('12'))).toMatchObject({
      code: 'workspace/push',
      message:
        'feature/12-add-a-thing could not be pushed to origin: [remote rejected] (pre-receive hook declined): Commits must be signed.',
    });
    expect(bench.gh.calls('pr create')).toEqual([]);
    expect(bench.journal('12')).toEqual(['push intent', 'push failed']);
    git(world.repo, 'remote', 'set-url', 'origin', join(world.dir, 'nowhere.git'));
    expect(await failure(bench.open('12'))).toMatchObject({
      code: 'workspace/push',
      message: expect.stringContaining('does not appear to be a git repository'),
    });
  });

  it('when the branch has commits on origin that are not here: nothing is forced', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { '12': issue(12) } });
    const path = await bench.work('12');
    await bench.open('12');
    const theirs = bench.tip('feature/12-add-a-thing');
    git(path, 'commit', '--quiet', '--amend', '--message=Another');
    expect(await failure(bench.open('12'))).toMatchObject({
      code: 'workspace/push-rejected',
      message:
        'origin refused feature/12-add-a-thing: it has commits there that are not here, and nothing is ever pushed by force.',
    });
    expect(bench.tip('feature/12-add-a-thing')).toBe(theirs);
  });
});
