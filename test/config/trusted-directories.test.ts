import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { repositoryOf } from '../../src/config/find-config-and-state.ts';
import { isTrusted, trust } from '../../src/config/trusted-directories.ts';
import { failure, scratch } from './scratch.ts';

describe('an untrusted signalbox.yaml', () => {
  it.each([
    ['agents', 'agents:\n  claude: {command: ./evil}'],
    ['agents', 'agents: {claude: {env: {NODE_OPTIONS: --import=./evil.mjs}}}'],
    ['hooks.afterCreate', 'hooks: {afterCreate: [make]}'],
    ['checks', 'checks: [make]'],
    ['ghCommand', 'ghCommand: ./gh'],
    ['mcpServers', 'mcpServers: {x: {command: y}}'],
    ['scriptDir', 'scriptDir: scripts'],
    ['workflowDir', 'workflowDir: workflows'],
    ['promptDir', 'promptDir: prompts'],
  ])('may not set %s', async (key, text) => {
    const { write, path, load } = scratch();
    const file = write('cwd/signalbox.yaml', `slots: 2\n${text}\n`);
    const error = await failure(load());
    expect(error).toMatchObject({ code: 'config/untrusted', details: { file, dir: path('cwd') } });
    expect(error.message).toMatch(new RegExp(`signalbox.yaml:2:\\d+: "${key}" decides what is run`));
    expect(error.hint).toContain(`signalbox config trust ${path('cwd')}`);

    trust(path('cwd'), path('user/.signalbox'));
    expect((await load()).origin[key]).toMatch(`${file}:2`);
  });

  it('may not say whose words are obeyed', async () => {
    const { write, path, load } = scratch();
    write('cwd/signalbox.yaml', 'forge: {reviewers: [evil-bot]}\n');
    const error = await failure(load());
    expect(error.code).toBe('config/untrusted');
    expect(error.message).toContain('"forge.reviewers" decides whose words are obeyed');
    trust(path('cwd'), path('user/.signalbox'));
    expect((await load()).forge.reviewers).toEqual(['evil-bot']);
  });

  it.each([
    ['worktreeRoot', '/etc'],
    ['worktreeRoot', '../trees'],
    ['worktreeRoot', 'link/trees'],
    ['logDir', '/etc'],
    ['logDir', '~/elsewhere'],
  ])('may not lead %s out of the project to %s', async (key, place) => {
    const { write, path, load } = scratch();
    symlinkSync(path('package'), path('cwd/link'));
    const file = write('cwd/signalbox.yaml', `${key}: ${place}\n`);
    const error = await failure(load());
    expect(error).toMatchObject({ code: 'config/untrusted', details: { file, dir: path('cwd') } });
    expect(error.message).toContain(`signalbox.yaml:1:1: "${key}" leads out of the project`);
    expect(error.hint).toContain(`signalbox config trust ${path('cwd')}`);
    trust(path('cwd'), path('user/.signalbox'));
    expect((await load()).origin[key]).toMatch(file);
  });

  it.each(['logDir: var/logs', 'worktreeRoot: ../worktrees', 'worktreeRoot: null'])(
    'may say %s',
    async (text) => {
      const { write, load } = scratch();
      write('cwd/signalbox.yaml', `${text}\n`);
      expect((await load()).untrusted).not.toBeNull();
    },
  );

  it('may set what names no command', async () => {
    const { write, path, load } = scratch();
    write(
      'cwd/signalbox.yaml',
      'slots: 2\ncopy: [.env]\ndefaultWorkflow: minimal\ntimeouts: {agentSeconds: 9}\n',
    );
    const settings = await load();
    expect(settings).toMatchObject({ slots: 2, copy: ['.env'], defaultWorkflow: 'minimal' });
    expect(settings.searchPath.scripts).toEqual([path('user/.signalbox/scripts'), path('package/scripts')]);
  });

  it('may not bring scripts, workflows or prompts of its own either', async () => {
    const { write, path, load } = scratch();
    write('cwd/signalbox.yaml', 'slots: 2\n');
    write('cwd/.signalbox/scripts/setup-worktree.sh', 'echo evil\n');
    const error = await failure(load());
    expect(error.code).toBe('config/untrusted');
    expect(error.message).toContain(path('cwd/.signalbox/scripts'));
    trust(path('cwd'), path('user/.signalbox'));
    expect((await load()).searchPath.scripts[0]).toBe(path('cwd/.signalbox/scripts'));
  });

  it('is trusted by being named with -C', async () => {
    const { write, load } = scratch();
    write('cwd/signalbox.yaml', 'checks: [make]\n');
    expect((await load({ configPath: 'signalbox.yaml' })).checks).toEqual(['make']);
  });
});

describe('.signalbox/settings.json of a repository', () => {
  it('needs trust for commands, from anywhere in the repository', async () => {
    const { write, path, load } = scratch();
    mkdirSync(path('cwd/.git'));
    mkdirSync(path('cwd/deep/down'), { recursive: true });
    write('cwd/.signalbox/settings.json', '{"version": 1, "checks": ["make"]}\n');
    const error = await failure(load({ cwd: path('cwd/deep/down') }));
    expect(error).toMatchObject({ code: 'config/untrusted', details: { dir: path('cwd') } });
    trust(path('cwd'), path('user/.signalbox'));
    expect((await load({ cwd: path('cwd/deep/down') })).checks).toEqual(['make']);
  });

  it('is the main one’s in a linked worktree, whatever an agent wrote there', async () => {
    const { write, path, load } = scratch();
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', path('cwd'), '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
    git('init', '-q');
    write('cwd/.signalbox/settings.json', '{"slots": 7}\n');
    git('add', '-A');
    git('commit', '-qm', 'one');
    git('worktree', 'add', '-q', path('tree'));
    write('tree/.signalbox/settings.json', '{"slots": 8, "checks": ["evil"]}\n');
    expect(repositoryOf(path('tree'))).toBe(path('cwd'));
    expect((await load({ cwd: path('tree') })).slots).toBe(7);
  });

  it('is not looked for where the home itself is', async () => {
    const { write, path, load } = scratch();
    mkdirSync(path('user/.git'));
    write('user/.signalbox/settings.json', '{"slots": 7}\n');
    expect((await load({ cwd: path('user') })).slots).toBe(4);
  });

  it('is refused with its place when it is broken', async () => {
    const { write, path, load } = scratch();
    mkdirSync(path('cwd/.git'));
    const file = write('cwd/.signalbox/settings.json', '{\n  "slot": 1\n}\n');
    const error = await failure(load());
    expect(error.message).toBe(`${file}:2:3: unknown key "slot"; did you mean "slots"?`);
  });
});

describe('trusted directories', () => {
  it('are remembered once, by their real path, for the user alone', () => {
    const { path } = scratch();
    const home = path('user/.signalbox');
    symlinkSync(path('cwd'), path('link'));
    expect(isTrusted(path('cwd'), home)).toBe(false);
    expect(trust(path('link'), home)).toEqual({ dir: path('cwd'), added: true });
    expect(trust(path('cwd'), home)).toEqual({ dir: path('cwd'), added: false });
    expect(isTrusted(path('link'), home)).toBe(true);
    expect(isTrusted(path('package'), home)).toBe(false);
    expect(JSON.parse(readFileSync(path('user/.signalbox/trusted.json'), 'utf8'))).toEqual({
      version: 1,
      directories: [path('cwd')],
    });
    expect(statSync(path('user/.signalbox/trusted.json')).mode & 0o777).toBe(0o600);
  });

  it('do not include what is below them', () => {
    const { path } = scratch();
    mkdirSync(path('cwd/vendored'));
    trust(path('cwd'), path('home'));
    expect(isTrusted(path('cwd/vendored'), path('home'))).toBe(false);
  });

  it('must exist', () => {
    const { path, write } = scratch();
    expect(() => trust(path('gone'), path('home'))).toThrow('is not a directory');
    expect(() => trust(write('file', ''), path('home'))).toThrow('is not a directory');
  });

  it.each(['{', '[]', '{"directories": []}', '{"version": 1, "directories": "all"}', 'null'])(
    'a list that reads %j trusts nobody and is not overwritten',
    (text) => {
      const { path, write } = scratch();
      const file = write('home/trusted.json', text);
      expect(() => isTrusted(path('cwd'), path('home'))).toThrow(file);
      expect(() => trust(path('cwd'), path('home'))).toThrow(file);
      expect(readFileSync(file, 'utf8')).toBe(text);
    },
  );
});
