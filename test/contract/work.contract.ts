import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { openAttempt } from '../../src/model/ticket.ts';
import { commitsOf, git } from '../support/repo.ts';
import { waitFor } from '../support/wait-for.ts';
import { story } from '../support/world.ts';
import { attempts, it, SELECTED, usageOf, withModelServer } from './bench.ts';

withModelServer();

const COMMIT = 'git add --all && git commit --quiet --message=Work';
const LINE = `He said "don't" — it's 100 % $HOME \`safe\` \\n 🙂 日本語 & <b>\n`;

describe.each(SELECTED)('$name', (cli) => {
  it('edits and commits in the ticket’s worktree and nowhere else, and its session is known meanwhile', async ({
    bench,
  }) => {
    const go = join(bench.dir, 'go-on');
    bench.prepare(
      cli,
      [
        { say: 'Writing.', do: [{ write: { path: join(bench.tree, 'hello.txt'), content: 'hello' } }] },
        { do: [{ shell: `echo more > more.txt && ${COMMIT}` }] },
        { do: [{ shell: `for i in $(seq 200); do [ -e ${go} ] && break; sleep 0.1; done` }] },
        { say: 'Done.' },
      ],
      { expect: { commits: 1, clean: true, files: ['hello.txt', 'more.txt'] } },
    );
    const run = bench.start(['run', 'p']);
    const sessionId = await waitFor(
      'a session while it runs',
      () => bench.requests.length >= 3 && openAttempt(bench.ticket('p', 't'))?.sessionId,
      { timeoutMs: 60_000, state: () => run.soFar },
    );
    writeFileSync(go, '');
    const { code, out } = await run.ended;
    expect(code, out).toBe(0);
    const [attempt] = attempts(bench.ticket('p', 't'));
    expect(attempt).toMatchObject({ status: 'success', sessionId, usage: usageOf(cli, 4) });
    expect(commitsOf(bench.repo, 'ticket/p/t')).toEqual(['Work']);
    expect(git(bench.repo, 'show', 'ticket/p/t:hello.txt')).toBe('hello');
    expect(git(bench.repo, 'status', '--porcelain')).toBe('');
    expect(readdirSync(bench.repo).sort()).toEqual(['.git', 'README.md']);
    expect(existsSync(join(bench.dir, 'user', 'hello.txt'))).toBe(false);
  });

  it('gives the model a prompt of 200 KB as it is', async ({ bench }) => {
    const prompt = `Begin.\n${LINE.repeat(Math.ceil(200_000 / Buffer.byteLength(LINE)))}The end.`;
    bench.prompt('big.md', `{% raw %}${prompt}{% endraw %}`);
    bench.prepare(cli, [{ say: 'Read.' }], { prompt: undefined, promptTemplate: 'big.md' });
    expect(story(await bench.run())).toEqual(['build success']);
    const texts = bench.requests[0]?.messages.filter(({ role }) => role === 'user').map(({ text }) => text);
    expect(texts?.some((text) => text.includes(prompt))).toBe(true);
  });

  it('continues a session: the model sees the first turn again, and tokens are counted once', async ({
    bench,
  }) => {
    bench.prepare(
      cli,
      [
        { say: 'The word is xylophone.', do: [{ shell: 'true' }] },
        { say: 'First turn over.' },
        { do: [{ shell: 'true' }] },
        { say: 'Second turn over.' },
        { say: 'Third turn over.' },
      ],
      { prompt: 'Remember the word quetzal.' },
      { prompt: 'Which word was it?', session: 'continue' },
      { prompt: 'And again?', session: 'continue' },
    );
    const ticket = await bench.run();
    expect(story(ticket)).toEqual(['build success', 'build2 success', 'build3 success']);
    const [first, second, third] = ticket.phaseHistory;
    expect(second?.sessionId).toBe(first?.sessionId);
    expect(third?.sessionId).toBe(first?.sessionId);
    const seen = bench.requests[2]?.messages.map(({ text }) => text).join('\n') ?? '';
    expect(seen).toContain('Remember the word quetzal.');
    expect(seen).toContain('The word is xylophone.');
    expect(seen).toContain('Which word was it?');
    expect(first?.usage).toMatchObject(usageOf(cli, 2));
    expect(second?.usage).toMatchObject(usageOf(cli, 2));
    expect(third?.usage).toMatchObject(usageOf(cli, 1));
    if (cli.cost === 'own') {
      const [a = 0, b = 0, c = 0] = ticket.phaseHistory.map((attempt) => attempt.usage?.costUsd ?? 0);
      expect(a).toBeGreaterThan(0);
      expect(b).toBeCloseTo(a, 6);
      expect(c).toBeCloseTo(a / 2, 6);
    }
  });

  const output = {
    type: 'object',
    properties: { outcome: { enum: ['good', 'bad'] }, note: { type: 'string' } },
    required: ['outcome', 'note'],
  };
  const on = { good: 'fine', bad: 'person', failure: 'person' };
  const judged = { output, onSuccess: undefined, onFailure: undefined, on };

  it('returns a structured result', async ({ bench }) => {
    const result = { outcome: 'good', note: 'a "quoted" note 🙂' };
    bench.prepare(cli, [{ result }, { say: 'That was it.' }], judged);
    const ticket = await bench.run();
    expect(attempts(ticket)[0]).toMatchObject({ status: 'success', outcome: 'good' });
    expect(existsSync(`${bench.jobDir()}.repair`)).toBe(false);
  });

  it('repairs a missing result in one more turn of the session', async ({ bench }) => {
    bench.prepare(
      cli,
      [{ say: 'I forgot the result.' }, { result: { outcome: 'bad', note: 'now' } }, { say: 'That was it.' }],
      judged,
    );
    const [attempt] = attempts(await bench.run());
    expect(attempt).toMatchObject({ status: 'success', outcome: 'bad' });
    const seen =
      bench.requests
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join('\n') ?? '';
    expect(seen).toContain('I forgot the result.');
    expect(attempt?.usage).toMatchObject(usageOf(cli, bench.requests.length));
  });

  it('with access read can read but not write, by a tool or by the shell', async ({ bench }) => {
    const outside = join(bench.dir, 'outside.txt');
    bench.prepare(
      cli,
      [
        { do: [{ shell: 'cat README.md' }] },
        { do: [{ write: { path: join(bench.tree, 'a.txt'), content: 'a' } }] },
        { do: [{ shell: `echo b > b.txt; echo c > ${outside}` }] },
        { do: [{ shell: 'touch d.txt' }] },
        { say: 'Could not.' },
      ],
      { access: 'read', onSuccess: 'person' },
    );
    const [attempt] = attempts(await bench.run());
    expect(attempt).toMatchObject({ status: 'success' });
    expect(bench.requests.length).toBeGreaterThan(1);
    const answer = bench.requests[1]?.messages.find(({ role }) => role === 'tool')?.text ?? '';
    expect(answer.includes('A scratch repository.')).toBe(cli.readsByShell);
    expect(existsSync(outside)).toBe(false);
    expect(git(bench.tree, 'status', '--porcelain')).toBe('');
  });

  it('with access read can look at history with git, and git writes no file', async ({ bench }) => {
    const outside = (name: string) => join(bench.dir, `${name}.txt`);
    const tricks = [
      `git log -1 --format=format:pwned --output=${outside('log')}`,
      `git diff --output=${outside('diff')} HEAD`,
      `git show --output ${outside('show')} HEAD`,
      `git status --porcelain > ${outside('status')}`,
      `git -c core.pager='touch ${outside('pager')}' -p log -1`,
      `git diff --no-index --output=${outside('index')} /dev/null README.md`,
      `git grep --open-files-in-pager='touch ${outside('grep')}' scratch`,
      `git log -1 --outpu=${outside('short')}`,
    ];
    bench.prepare(
      cli,
      [
        { do: [{ shell: 'git log -1 --format=%s' }] },
        { do: [{ shell: 'git show --stat HEAD' }] },
        ...tricks.map((shell) => ({ do: [{ shell }] })),
        { say: 'Could not.' },
      ],
      { access: 'read', onSuccess: 'person' },
    );
    const [attempt] = attempts(await bench.run());
    expect(attempt).toMatchObject({ status: 'success' });
    const answers = bench.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
    const subject = git(bench.repo, 'log', '-1', '--format=%s').trim();
    for (const answer of answers.slice(0, 2)) expect(answer.text.includes(subject)).toBe(cli.readsByShell);
    expect(readdirSync(bench.dir).filter((name) => name.endsWith('.txt'))).toEqual([]);
    expect(git(bench.tree, 'status', '--porcelain')).toBe('');
  });

  it('asks for the model and the effort of the phase, or says that it cannot', async ({ bench }) => {
    const [, [model, seen] = ['', '']] = cli.models;
    const effort = cli.effort === null ? {} : { effort: 'high' };
    bench.prepare(cli, [{ say: 'Done.' }], { model, ...effort });
    expect(story(await bench.run())).toEqual(['build success']);
    expect(bench.requests[0]?.model).toContain(seen);
    if (cli.effort !== null) expect(bench.requests[0]?.effort).toBe(cli.effort);
    else {
      bench.prepare(cli, [{ say: 'Done.' }], { effort: 'high' });
      const { code, out } = await bench.cli('run', 'p');
      expect(code).not.toBe(0);
      expect(out).toContain('cannot set the effort');
    }
  });

  it('stops at the most turns, or says that it cannot count them', async ({ bench }) => {
    bench.prepare(cli, [{ do: [{ shell: 'echo turn' }] }], { maxTurns: 2 });
    const { code, out } = await bench.cli('run', 'p');
    expect(code).not.toBe(0);
    if (!cli.maxTurns) return expect(out).toContain('cannot count turns');
    expect(attempts(bench.ticket('p', 't'))[0]).toMatchObject({
      status: 'failure',
      error: { class: 'turns' },
    });
    expect(bench.requests.length).toBeLessThanOrEqual(3);
  });

  it('that says it is done and did nothing has not succeeded', async ({ bench }) => {
    bench.prepare(cli, [{ say: 'Success! Everything is committed.' }], { expect: { commits: true } });
    const [attempt] = attempts(await bench.run());
    expect(attempt).toMatchObject({ status: 'failure', error: { class: 'evidence' } });
  });
});
