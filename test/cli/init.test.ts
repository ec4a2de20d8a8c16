import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { CliCall } from '../support/cli-call.ts';
import { cliIn, git, it, refusal, type World, write } from './support.ts';

interface Made {
  home: string;
  repository: string | null;
  made: { path: string; did: string }[];
}

/** `init` on a terminal of a user who has two agents and no sandbox, and types these lines. */
function answered(world: World, lines: readonly string[], args: readonly string[] = []) {
  const dir = join(world.dir, 'programs');
  mkdirSync(dir, { recursive: true });
  for (const name of ['claude', 'codex']) writeFileSync(join(dir, name), '#!/bin/sh\n', { mode: 0o755 });
  const env = { HOME: world.env.HOME, SIGNALBOX_HOME: join(world.dir, 'own'), PATH: `${dir}:/nowhere` };
  const input = lines.map((line) => `${line}\n`).join('');
  return new CliCall(['init', ...args], { cwd: world.repo, env, input, terminal: true, columns: 80 }).ended;
}

describe.concurrent('init', () => {
  it('asks on a terminal, and records trust only if that is wanted', async ({ world }) => {
    const { out, code } = await answered(world, ['gemini', 'codex', 'make test', '2', 'y']);
    expect(code).toBe(0);
    expect(out).toContain('\n  2  codex\nWhich one is your default? [claude] Type one of: claude, codex.\n');
    expect(readFileSync(join(world.dir, 'own', 'config.yaml'), 'utf8')).toContain('\ndefaultAgent: codex\n');
    expect(JSON.parse(readFileSync(join(world.repo, '.signalbox', 'settings.json'), 'utf8'))).toMatchObject({
      checks: ['make test'],
      run: { pr: false, integrate: true },
    });
    expect(out).toContain(`settings.json names commands:\n  make test\n`);
    expect(out).toContain(`Trust ${world.repo}? [y/N] Trusted ${world.repo}.\n`);
    expect(readFileSync(join(world.dir, 'own', 'trusted.json'), 'utf8')).toContain(world.repo);
  });

  it('trusts nothing without a yes, and says what is missing then', async ({ world }) => {
    const { out } = await answered(world, ['', 'make test', '', '']);
    expect(out).toContain(
      `Not trusted. Before Signalbox runs anything there, trust it:\n  signalbox config trust ${world.repo}\n`,
    );
    expect(existsSync(join(world.dir, 'own', 'trusted.json'))).toBe(false);
  });

  it('asks nothing with --yes, and nothing again where all files exist', async ({ world }) => {
    expect((await answered(world, [], ['--yes'])).code).toBe(0);
    const before = readFileSync(join(world.repo, '.signalbox', 'settings.json'), 'utf8');
    const again = await answered(world, []);
    expect(again).toMatchObject({ code: 0, err: '' });
    expect(again.out).not.toContain('?');
    expect(readFileSync(join(world.repo, '.signalbox', 'settings.json'), 'utf8')).toBe(before);
  });

  it('writes nothing if the input ends before the last answer', async ({ world }) => {
    const ended = await answered(world, ['codex']);
    expect(ended.code).toBe(2);
    expect(ended.err).toContain('❌ The input ended before the last answer; nothing was written.\n');
    expect(ended.out.endsWith('\n')).toBe(true);
    expect(existsSync(join(world.dir, 'own'))).toBe(false);
    expect(readdirSync(world.repo)).not.toContain('.signalbox');
  });

  it('says that no agent was found, and what works without one', async ({ world }) => {
    const without = await cliIn(world, world.dir, ['init', '--yes'], { PATH: '/nowhere' });
    expect(without.out).toContain(
      '\n\nNo coding agent was found. To try Signalbox without one: --agent rehearsal\n',
    );
    expect((await answered(world, [], ['--yes'])).out).not.toContain('No coding agent');
  });

  it('makes the home outside of a repository, and nothing else', async ({ world }) => {
    const home = join(world.dir, 'user', '.signalbox');
    const env = { SIGNALBOX_HOME: undefined };
    const { code, out } = await cliIn(world, world.dir, ['init'], env);
    expect(code).toBe(0);
    for (const name of ['config.yaml', 'state', 'logs', 'workflows', 'prompts', 'scripts']) {
      expect(existsSync(join(home, name)), name).toBe(true);
      expect(out).toMatch(new RegExp(`^created +${join(home, name)}$`, 'm'));
    }
    expect(out).toContain(`Settings are in ${join(home, 'config.yaml')}.\nNext: signalbox doctor\n`);
    expect(existsSync(join(world.dir, '.signalbox'))).toBe(false);
    const again = JSON.parse((await cliIn(world, world.dir, ['init', '--json'], env)).out) as Made;
    expect(again).toMatchObject({ home, repository: null });
    expect(new Set(again.made.map(({ did }) => did))).toEqual(new Set(['kept']));
    expect((await cliIn(world, world.dir, ['status'], env)).out).toBe(`No plans in ${home}/state/plans.\n`);
  });

  it('in a repository also makes .signalbox, which git sees but not its logs', async ({ world }) => {
    const below = join(world.repo, 'src', 'deep');
    mkdirSync(below, { recursive: true });
    const { out, code } = await cliIn(world, below, ['init', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ home: world.home, repository: world.repo });
    expect(JSON.parse(readFileSync(join(world.repo, '.signalbox', 'settings.json'), 'utf8'))).toEqual({
      $schema: './settings.schema.json',
      version: 1,
    });
    mkdirSync(join(world.repo, '.signalbox', 'logs'));
    write(world, 'repo/.signalbox/logs/run.log', 'x');
    expect(git(world.repo, 'status', '--porcelain', '--untracked-files=all').split('\n').sort()).toEqual([
      '?? .signalbox/.gitignore',
      '?? .signalbox/manifest.json',
      '?? .signalbox/settings.json',
      '?? .signalbox/settings.schema.json',
    ]);
  });

  it('works in a repository without commits', async ({ world }) => {
    const fresh = join(world.dir, 'fresh');
    git(world.dir, 'init', '--quiet', fresh);
    expect((await cliIn(world, fresh, ['init'])).code).toBe(0);
    expect(existsSync(join(fresh, '.signalbox', 'settings.json'))).toBe(true);
  });

  it('makes another home with --dir and says how to use it', async ({ world }) => {
    const { out, code } = await cliIn(world, world.dir, ['init', '--dir', 'other']);
    expect(code).toBe(0);
    const config = join(world.dir, 'other', 'config.yaml');
    expect(out).toContain(`To use it: signalbox -C ${config}`);
    expect((await world.cli('-C', config, 'status')).out).toBe(
      `No plans in ${world.dir}/other/state/plans.\n`,
    );
  });

  it('quotes a home that a shell would not take as it is', async ({ world }) => {
    const { out } = await cliIn(world, world.dir, ['init', '--dir', 'x y/é']);
    const home = join(world.dir, 'x y', 'é');
    expect(out).toContain(
      `To use it: signalbox -C '${home}/config.yaml' …, or set SIGNALBOX_HOME='${home}'.`,
    );
  });

  it('refuses when a file is in the way, and says so', async ({ world }) => {
    const file = write(world, 'file', 'x');
    const ended = await world.cli('init', '--dir', file);
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain(`Cannot create ${file} (EEXIST).`);
    expect(ended.err).toContain('choose another place with --dir');
    expect(readFileSync(file, 'utf8')).toBe('x');
  });
});
