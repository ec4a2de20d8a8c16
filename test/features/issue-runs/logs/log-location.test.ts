import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { variants } from '../../../support/index.ts';
import { EXEC, EXEC_FLAGS, git, IssueWorld, inCode, it, refusal, writeOldLog } from '../support.ts';

describe.concurrent('logs of a repository in which somebody has put links', () => {
  variants([
    ['the directory of logs', '.signalbox/logs', '../../other/.signalbox/logs'],
    ['the directory above', '.signalbox', '../other/.signalbox'],
  ] as const)('are not written or deleted elsewhere: %s', async ([, link, target], { world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const other = join(world.dir, 'other', '.signalbox', 'logs');
    mkdirSync(other, { recursive: true });
    const logs = ['run-20200101-000001-aaaa', 'run-20200101-000002-aaaa'].map((id) => writeOldLog(other, id));
    if (link !== '.signalbox') mkdirSync(join(world.repo, '.signalbox'));
    symlinkSync(target, join(world.repo, link));
    git(world.repo, 'add', '--force', '--all');
    git(world.repo, 'commit', '--quiet', '--message=link');
    world.config({ run: { rotation: { maxFiles: 1 } } });
    const ended = await issues.cli('run', 'a.md', ...EXEC_FLAGS);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('leads out of the repository');
    expect(refusal(ended)).toContain('--log-path');
    expect(readdirSync(other)).toEqual(logs);
    expect(issues.runs()).toEqual([]);
    const elsewhere = join(world.dir, 'logs');
    expect((await issues.cli('run', 'a.md', '--log-path', elsewhere, ...EXEC_FLAGS)).code).toBe(0);
    expect(existsSync(elsewhere)).toBe(true);
  });
});

describe.concurrent('a place where nothing can be made', () => {
  it.runIf(existsSync('/proc/self'))('is refused for the log, with the way out', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const ended = await issues.cli('run', 'a.md', '--log-path', '/proc/x', ...EXEC_FLAGS);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('The log of the run cannot be written to /proc/x');
    expect(refusal(ended)).toContain('--no-log-json');
  });

  variants([
    ["git's own directory", '.git/refs/heads', "among git's files."],
    ['a file', 'a.md', 'it is not a directory.'],
    ['a new directory in there', '.git/new/logs', "among git's files."],
  ] as const)(
    'is refused for the log, %s, on the command line and in code',
    async ([, place, why], { world }) => {
      const issues = new IssueWorld(world).write('a.md', '# A\n');
      const ended = await issues.cli('run', 'a.md', '--log-path', place, ...EXEC_FLAGS);
      expect(ended.code).toBe(2);
      expect(refusal(ended)).toContain(why);
      expect(refusal(ended)).toContain('--no-log-json');
      await expect(inCode(issues, { options: { ...EXEC, logPath: place } }, ['a.md'])).rejects.toMatchObject({
        name: 'InputError',
        code: 'run/log',
        hint: expect.stringContaining('--no-log-json'),
      });
      expect(issues.runs()).toEqual([]);
    },
  );

  it('is told for the home as the storage that it is', async ({ world }) => {
    const link = join(world.dir, 'link');
    symlinkSync(join(world.dir, 'nowhere'), link);
    const issues = new IssueWorld(world, { SIGNALBOX_HOME: join(link, 'home') }).write('a.md', '# A\n');
    const ended = await issues.cli('run', 'a.md', ...EXEC_FLAGS);
    expect(ended.code).toBe(4);
    expect(refusal(ended)).toContain(`: ${link} is a link that leads nowhere.`);
    expect(refusal(ended)).toContain('Choose another directory');
    const doctor = await issues.cli('doctor');
    expect(doctor.out).toContain(`${link} cannot be written (it is a link that leads nowhere)`);
  });
});

describe.concurrent('a run in a linked worktree', () => {
  variants([
    ['with a log', []],
    ['without one', ['--no-log-json']],
  ] as const)('counts in the stats of the repository, %s', async ([, flags], { world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const linked = join(world.dir, 'linked');
    git(world.repo, 'worktree', 'add', '--quiet', '-b', 'linked', linked);
    const run = world.start(['run', 'a.md', ...EXEC_FLAGS, ...flags], issues.env, linked);
    expect(await run.ended).toMatchObject({ code: 0 });
    expect(existsSync(join(linked, '.signalbox'))).toBe(false);
    if (flags.length === 0) {
      git(world.repo, 'worktree', 'remove', linked);
      expect(issues.log(await issues.run()).summary).toMatchObject({ passed: 1 });
    }
    expect(JSON.parse((await issues.cli('stats', '--json')).out)).toMatchObject({
      runs: 1,
      issues: { total: 1, passed: 1 },
    });
  });
});

describe.concurrent('logs of a run', () => {
  it('are no change of the repository', async ({ world }) => {
    world.agent('agent', 'commit');
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    expect((await issues.cli('run', 'a.md', '--phases', 'exec')).code).toBe(0);
    expect(readdirSync(join(world.repo, '.signalbox', 'logs'))).toHaveLength(3);
    expect(git(world.repo, 'status', '--porcelain')).toBe('');
  });
});
