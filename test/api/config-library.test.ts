import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { getManifest } from '../../src/api/manifest.ts';
import { resolveRunOptions } from '../../src/api/orchestrator-arguments.ts';
import { getSettings } from '../../src/api/settings.ts';
import { makeProject } from '../../src/config/init-questions-and-files.ts';
import { failure, scratch } from '../config/scratch.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Runs with another working directory and some other variables of this process. */
async function inProcess(dir: string, env: Record<string, string>, work: () => Promise<void>): Promise<void> {
  const before = { cwd: process.cwd(), env: { ...process.env } };
  process.chdir(dir);
  Object.assign(process.env, env);
  try {
    await work();
  } finally {
    process.chdir(before.cwd);
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before.env);
  }
}

describe('getSettings', () => {
  it('has all layers but options, and resolveRunOptions goes on from there', async () => {
    const { write, path } = scratch();
    mkdirSync(path('cwd/.git'));
    write('user/.signalbox/config.yaml', 'slots: 1\nrun: {timeout: 60, concurrency: 2}\n');
    write('cwd/.signalbox/settings.json', '{"run": {"concurrency": 5, "retry": false}} // ours\n');
    const env = { HOME: path('user'), SIGNALBOX_TESTGEN: '1' };
    const settings = await getSettings({ cwd: path('cwd'), env });
    expect(settings).toMatchObject({
      slots: 1,
      packageDir: ROOT,
      run: { timeout: 60, concurrency: 5, retry: false, testgen: true, logPath: '.signalbox/logs' },
    });
    expect(resolveRunOptions({ timeout: 5 }, settings, { env })).toMatchObject({
      timeout: 5,
      concurrency: 5,
      retry: false,
      testgen: true,
      maxIterations: 3,
    });
  });

  it('rejects with a typed error that names the place', async () => {
    const { write, path } = scratch();
    const file = write('own.yaml', 'run: {concurrency: 0}\n');
    const error = await failure(
      getSettings({ cwd: path('cwd'), env: { HOME: path('user') }, configPath: file }),
    );
    expect(error).toMatchObject({ code: 'config/value', details: { file, line: 1, key: 'run.concurrency' } });
  });

  it('takes directory and environment of the process as they are at the call', async () => {
    const { write, path } = scratch();
    mkdirSync(path('cwd/.git'));
    write('cwd/.signalbox/settings.json', '{"run": {"timeout": 7}}');
    await inProcess(path('cwd'), { HOME: path('user'), SIGNALBOX_MAX_ITERATIONS: '12' }, async () => {
      const settings = await getSettings();
      expect(settings).toMatchObject({ userHome: path('user'), run: { timeout: 7, maxIterations: 12 } });
      expect(resolveRunOptions({}, {}).maxIterations).toBe(12);
    });
    expect(resolveRunOptions({}, {}).maxIterations).toBe(3);
  });
});

describe('getManifest', () => {
  it('tells from the files where nothing was initialised', async () => {
    const { write, path } = scratch();
    mkdirSync(path('cwd/.git'));
    write('cwd/package.json', '{}');
    write('cwd/pnpm-lock.yaml', '');
    mkdirSync(path('cwd/src'));
    expect(await getManifest({ cwd: path('cwd/src') })).toEqual({
      version: 1,
      stack: 'node',
      packageManager: 'pnpm',
      root: path('cwd'),
      file: null,
    });
    expect(await getManifest({ cwd: path('user') })).toMatchObject({ stack: null, packageManager: null });
  });

  it('reads what init wrote, and tells only what that leaves open', async () => {
    const { write, path } = scratch();
    mkdirSync(path('cwd/.git'));
    makeProject(path('cwd'), { checks: null, finish: 'branch' });
    write('cwd/Cargo.toml', '');
    const file = path('cwd/.signalbox/manifest.json');
    expect(await getManifest({ cwd: path('cwd') })).toMatchObject({
      stack: 'rust',
      packageManager: 'cargo',
      file,
    });
    write('cwd/.signalbox/manifest.json', '{"version": 1, "stack": "node", "packageManager": "yarn"}');
    expect(await getManifest({ cwd: path('cwd') })).toMatchObject({
      stack: 'node',
      packageManager: 'yarn',
      file,
    });
    write('cwd/.signalbox/manifest.json', '{"version": 1, "stack": "node"}');
    expect(await getManifest({ cwd: path('cwd') })).toMatchObject({ stack: 'node', packageManager: null });
  });

  it.each([
    ['{', 'it is not JSON'],
    ['[]', 'it is not a mapping'],
    ['{}', '"version" is not 1'],
    ['{"version": 2}', 'version 2 was written for a newer Signalbox'],
    ['{"version": 1, "stack": 3}', '"stack" is neither text nor null'],
    ['{"version": 1, "packageManager": []}', '"packageManager" is neither text nor null'],
  ])('%s is refused: %s', async (text, why) => {
    const { write, path } = scratch();
    const file = write('cwd/.signalbox/manifest.json', text);
    const error = await failure(getManifest({ cwd: path('cwd') }));
    expect(error).toMatchObject({ code: 'manifest/value', message: `${file}: ${why}.` });
  });

  it('takes the directory of the process as it is at the call', async () => {
    const { write, path } = scratch();
    write('cwd/go.mod', '');
    await inProcess(path('cwd'), {}, async () =>
      expect(await getManifest()).toMatchObject({ stack: 'go', root: path('cwd') }),
    );
  });
});
