import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeHome, makeProject } from '../../src/config/make-home-and-project-files.ts';
import { detectManifest } from '../../src/config/project-manifest.ts';
import { failure, runCommand, scratch } from './scratch.ts';

const MADE = ['', 'config.yaml', 'state', 'logs', 'workflows', 'prompts', 'scripts'];

describe('init', () => {
  it('makes a home that loads, and says what it made', async () => {
    const { path, load } = scratch();
    const said = await runCommand(['init'], { cwd: path('cwd'), env: { HOME: path('user') } });
    const home = path('user/.signalbox');
    for (const name of MADE)
      expect(said.out).toMatch(new RegExp(`^created +${home}${name && `/${name}`}$`, 'm'));
    expect(said.out).toContain('signalbox doctor');
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect((await load()).configFile).toBe(`${home}/config.yaml`);
  });

  it('changes nothing the second time', async () => {
    const { path, write } = scratch();
    const config = write('user/.signalbox/config.yaml', 'slots: 1\n');
    mkdirSync(path('cwd/.git'));
    const world = { cwd: path('cwd'), env: { HOME: path('user') } };
    await runCommand(['init'], world);
    const settings = write('cwd/.signalbox/settings.json', '{"slots": 2}\n');
    const manifest = write('cwd/.signalbox/manifest.json', '{"mine": true}\n');
    const said = JSON.parse((await runCommand(['init', '--json'], world)).out) as {
      home: string;
      repository: string;
      made: { path: string; did: string }[];
    };
    expect(new Set(said.made.map(({ did }) => did))).toEqual(new Set(['kept']));
    expect(said).toMatchObject({ home: path('user/.signalbox'), repository: path('cwd') });
    expect(readFileSync(config, 'utf8')).toBe('slots: 1\n');
    expect(readFileSync(settings, 'utf8')).toBe('{"slots": 2}\n');
    expect(readFileSync(manifest, 'utf8')).toBe('{"mine": true}\n');
  });

  it('makes settings, manifest and ignore rules at the top of a repository', async () => {
    const { path, write } = scratch();
    mkdirSync(path('cwd/.git'));
    mkdirSync(path('cwd/sub'));
    write('cwd/package.json', '{}');
    await runCommand(['init'], { cwd: path('cwd/sub'), env: { HOME: path('user') } });
    expect(JSON.parse(readFileSync(path('cwd/.signalbox/settings.json'), 'utf8'))).toEqual({ version: 1 });
    expect(JSON.parse(readFileSync(path('cwd/.signalbox/manifest.json'), 'utf8'))).toEqual({
      version: 1,
      stack: 'node',
      packageManager: 'npm',
    });
    expect(readFileSync(path('cwd/.signalbox/.gitignore'), 'utf8')).toBe('logs/\nstate/\n');
  });

  it('adds a missing ignore rule below a person’s own', () => {
    const { path, write } = scratch();
    const file = write('cwd/.signalbox/.gitignore', '/logs/\nmine');
    expect(makeProject(path('cwd')).at(-1)).toEqual({ path: file, did: 'extended' });
    expect(readFileSync(file, 'utf8')).toBe('/logs/\nmine\nstate/\n');
    expect(makeProject(path('cwd')).at(-1)).toEqual({ path: file, did: 'kept' });
  });

  it.each([
    [['init', '--dir', 'here'], {}, 'cwd/here', 'To use it: signalbox -C'],
    [['init', '--dir', '~/there'], {}, 'user/there', 'SIGNALBOX_HOME='],
    [['init'], { SIGNALBOX_HOME: 'own' }, 'cwd/own', 'Settings are in'],
  ])('%j with %j makes %s', async (args, env, home, says) => {
    const { path } = scratch();
    const said = await runCommand(args, { cwd: path('cwd'), env: { HOME: path('user'), ...env } });
    expect(said.out).toContain(says);
    expect(statSync(path(home, 'state')).isDirectory()).toBe(true);
  });

  it('refuses a home where a file is', async () => {
    const { path, write } = scratch();
    write('user/.signalbox', '');
    const error = await failure((async () => makeHome(path('user/.signalbox')))());
    expect(error.code).toBe('init/failed');
    expect(error.hint).toContain('--dir');
  });
});

describe('detectManifest', () => {
  it.each([
    [{}, null, null],
    [{ 'package.json': '{}' }, 'node', 'npm'],
    [{ 'package.json': '{}', 'pnpm-lock.yaml': '' }, 'node', 'pnpm'],
    [{ 'package.json': '{"packageManager": "yarn@4.1.0"}', 'package-lock.json': '' }, 'node', 'yarn'],
    [{ 'package.json': '{', 'bun.lock': '' }, 'node', 'bun'],
    [{ 'pyproject.toml': '', 'uv.lock': '' }, 'python', 'uv'],
    [{ 'requirements.txt': '' }, 'python', 'pip'],
    [{ 'Cargo.toml': '' }, 'rust', 'cargo'],
    [{ 'go.mod': '' }, 'go', 'go'],
    [{ 'build.gradle.kts': '' }, 'java', 'gradle'],
    [{ 'App.csproj': '' }, 'dotnet', 'dotnet'],
  ])('%j is %s with %s', (files, stack, packageManager) => {
    const { path, write } = scratch();
    for (const [name, text] of Object.entries(files)) write(`cwd/${name}`, text);
    expect(detectManifest(path('cwd'))).toEqual({ version: 1, stack, packageManager });
  });

  it('of a directory that is not there is empty', () => {
    expect(detectManifest('/nowhere/at/all')).toEqual({ version: 1, stack: null, packageManager: null });
  });
});
