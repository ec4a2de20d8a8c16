import { chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { cliIn, git, it, refusal, setUp, write } from './support.ts';

describe.concurrent('a config file that cannot be used', () => {
  const texts: [string, string, RegExp][] = [
    [
      'has an unknown key',
      'maxConcurency: 3\n',
      /:1:1: unknown key "maxConcurency"; did you mean "maxConcurrency"\?/,
    ],
    [
      'has an unknown key deeper down',
      'agents:\n  x:\n    command: y\n    adaptor: claude\n',
      /:4:5: unknown key "adaptor"; did you mean "adapter"\?/,
    ],
    ['is no YAML', 'slots: 1\nagents:\n  a: [1\n', /:4:1: .*\n {3}Correct the YAML at that place/],
    ['is a list', '- x\n', /:1:1: found a list; allowed is a mapping of settings/],
    [
      'has a value of the wrong kind',
      'slots: 1\npollInterval: soon\n',
      /:2:15: pollInterval: found .*soon.*allowed is a number/,
    ],
    [
      'names an unknown agent',
      'defaultAgent: cluade\n',
      /:1:1: no agent is called "cluade"; did you mean "claude"\?/,
    ],
    [
      'has an agent without a command',
      'agents:\n  x: {}\n',
      /:2:3: agents\.x has no "command"\.\n {3}Say which/,
    ],
    ['was written for a newer version', 'version: 9\n', /:1:10: version 9 was written for a newer Signalbox/],
    ['is binary', '\u0000\u0001\u0002', /:1:1: found the text/],
  ];
  it('because of what is in it: file, line, column and the fix', { tags: 'full' }, async ({ world }) => {
    setUp(world);
    for (const [what, text, message] of texts) {
      const file = write(world, 'home/config.yaml', text);
      const ended = await world.cli('run', 'p');
      expect(ended.code, what).toBe(2);
      expect(refusal(ended).startsWith(`❌ ${file}`), what).toBe(true);
      expect(ended.err, what).toMatch(message);
    }
    expect(world.calls()).toEqual([]);
  });

  it('because it is not there: only when it was named', async ({ world }) => {
    setUp(world);
    const file = join(world.dir, 'no.yaml');
    for (const ended of [
      await world.cli('-C', file, 'status'),
      await world.invoke(['status'], { SIGNALBOX_CONFIG: file }).ended,
    ]) {
      expect(ended.code).toBe(2);
      expect(refusal(ended)).toContain(`There is no config file ${file}.\n   Name an existing file with -C`);
    }
    rmSync(join(world.home, 'config.yaml'));
    expect((await world.cli('status')).code).toBe(0);
  });

  it('because it cannot be read: it is never passed over', async ({ world }) => {
    setUp(world);
    const file = join(world.home, 'config.yaml');
    chmodSync(file, 0o000);
    if (process.getuid?.() !== 0)
      expect((await world.cli('status')).err).toContain(`${file} cannot be read (EACCES).`);
    rmSync(file);
    mkdirSync(file);
    const directory = await world.cli('status');
    expect(directory.code).toBe(2);
    expect(refusal(directory)).toBe(
      `❌ ${file} cannot be read (EISDIR).\n   It is a directory; a file is wanted.\n`,
    );
    rmSync(file, { recursive: true });
    symlinkSync('config.yaml', file);
    expect((await world.cli('status')).err).toContain(`${file} cannot be read (ELOOP).`);
  });
});

describe.concurrent('a repository that nobody has trusted', () => {
  /** As a user without a config file, standing in somebody else's repository. */
  const stranger = { SIGNALBOX_HOME: undefined };

  it('may not say what is run: signalbox.yaml', { tags: 'full' }, async ({ world }) => {
    write(world, 'repo/signalbox.yaml', 'slots: 1\nagents:\n  claude:\n    command: ./evil.sh\n');
    for (const args of [['status'], ['run', 'p'], ['daemon'], ['doctor']]) {
      const { code, out, err } = await cliIn(world, world.repo, args, stranger);
      expect(code, args.join(' ')).not.toBe(0);
      expect(out + err).toContain(`${world.repo}/signalbox.yaml:2:1: "agents" decides what is run`);
      expect(out + err).toContain(`signalbox config trust ${world.repo}`);
    }
    expect((await cliIn(world, world.repo, ['config', 'trust'], stranger)).code).toBe(0);
    expect((await cliIn(world, world.repo, ['status'], stranger)).code).toBe(0);
  });

  it('may not bring workflows, prompts or scripts', async ({ world }) => {
    write(world, 'repo/signalbox.yaml', 'slots: 1\n');
    mkdirSync(join(world.repo, '.signalbox', 'scripts'), { recursive: true });
    const ended = await cliIn(world, world.repo, ['workflow', 'list'], stranger);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain(`${world.repo}/.signalbox/scripts decides what is run`);
  });

  it('may not bring plans: with signalbox.yaml', { tags: 'full' }, async ({ world }) => {
    write(world, 'repo/signalbox.yaml', 'slots: 1\n');
    for (const args of [['run', 'p'], ['tick'], ['daemon']]) {
      const ended = await cliIn(world, world.repo, args, stranger);
      expect(ended.code, args.join(' ')).toBe(2);
      expect(refusal(ended)).toContain('decides where plans come from');
    }
    expect((await cliIn(world, world.repo, ['status'], stranger)).code).toBe(0);
  });

  it('may not bring plans: with a state directory in .signalbox/settings.json', async ({ world }) => {
    mkdirSync(join(world.repo, '.signalbox'));
    write(world, 'repo/.signalbox/settings.json', '{"version": 1, "stateDir": "../theirs"}');
    for (const args of [['run', 'p'], ['tick']]) {
      const ended = await cliIn(world, world.repo, args, stranger);
      expect(ended.code, args.join(' ')).toBe(2);
      expect(refusal(ended)).toContain(`signalbox config trust ${world.repo}`);
    }
  });

  it('may not say what is run: .signalbox/settings.json', async ({ world }) => {
    mkdirSync(join(world.repo, '.signalbox'));
    write(world, 'repo/.signalbox/settings.json', '{"version": 1, "hooks": {"afterCreate": ["./evil.sh"]}}');
    const ended = await cliIn(world, world.repo, ['status'], stranger);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('settings.json:1:26: "hooks.afterCreate" decides what is run');
  });

  it('has no say in a worktree of a trusted one: an agent cannot plant settings', async ({ world }) => {
    setUp(world);
    const worktree = join(world.dir, 'linked');
    git(world.repo, 'worktree', 'add', '--quiet', '--detach', worktree);
    mkdirSync(join(worktree, '.signalbox'));
    write(world, 'linked/.signalbox/settings.json', '{"version": 1, "checks": ["./evil.sh"]}');
    expect((await cliIn(world, worktree, ['config'], {})).out).not.toContain('evil');
  });
});
