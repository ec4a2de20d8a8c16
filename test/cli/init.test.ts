import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { cliIn, git, it, refusal, write } from './support.ts';

interface Made {
  home: string;
  repository: string | null;
  made: { path: string; did: string }[];
}

describe.concurrent('init', () => {
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
      version: 1,
    });
    mkdirSync(join(world.repo, '.signalbox', 'logs'));
    write(world, 'repo/.signalbox/logs/run.log', 'x');
    expect(git(world.repo, 'status', '--porcelain', '--untracked-files=all').split('\n').sort()).toEqual([
      '?? .signalbox/.gitignore',
      '?? .signalbox/manifest.json',
      '?? .signalbox/settings.json',
    ]);
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
