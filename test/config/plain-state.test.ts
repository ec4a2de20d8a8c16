import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { plainStateDir } from '../../src/config/find-config-and-state.ts';
import { scratch } from './scratch.ts';

const EMPTY = '# nothing is set\nversion: 1\n';

describe('the state directory without loading the settings', () => {
  it.each([
    { name: 'no file at all', files: {}, env: {}, plain: true },
    {
      name: 'a config that init left',
      files: { 'user/.signalbox/config.yaml': EMPTY },
      env: {},
      plain: true,
    },
    { name: 'a home of its own', files: {}, env: { SIGNALBOX_HOME: 'h' }, plain: true },
    {
      name: 'project settings that init left',
      files: { 'cwd/.signalbox/settings.json': '{ "version": 1 }' },
      env: {},
      plain: true,
    },
    { name: 'a config that sets something', files: { 'user/.signalbox/config.yaml': 'slots: 3\n' }, env: {} },
    { name: 'a config that moves it', files: { 'user/.signalbox/config.yaml': 'stateDir: x\n' }, env: {} },
    { name: 'a signalbox.yaml, even an empty one', files: { 'cwd/signalbox.yaml': EMPTY }, env: {} },
    {
      name: 'project settings that set something',
      files: { 'cwd/.signalbox/settings.json': '{ "run": {} }' },
      env: {},
    },
    { name: 'a variable', files: {}, env: { SIGNALBOX_SLOTS: '3' } },
  ])('with $name', async ({ files, env, plain = false }) => {
    const { write, path, load } = scratch();
    mkdirSync(path('cwd/.git'), { recursive: true });
    for (const [file, text] of Object.entries(files)) write(file, text);
    const where = { cwd: path('cwd'), env: { HOME: path('user'), ...env } };
    const settings = await load({ env: where.env });
    expect(plainStateDir(where)).toBe(plain ? settings.stateDir : undefined);
  });

  it('is left to the settings when a file was named', () => {
    const { write, path } = scratch();
    const configPath = write('given.yaml', EMPTY);
    expect(plainStateDir({ cwd: path('cwd'), env: { HOME: path('user') }, configPath })).toBe(undefined);
  });
});
