import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findPrompt,
  findScript,
  namesIn,
  readPrompt,
} from '../../src/workflows/find-workflows-prompts-scripts.ts';
import { directory } from './helpers.ts';

describe('finding a file', () => {
  it('takes the first directory that has it, file by file', async () => {
    const user = directory({ 'a.md': 'user' });
    const bundled = directory({ 'a.md': 'bundled', 'b.md': 'bundled', 'sub/c.md': 'c' });
    const dirs = [join(user, 'not-there'), user, bundled];
    expect(await findPrompt('a.md', dirs)).toBe(join(user, 'a.md'));
    expect(await findPrompt('b.md', dirs)).toBe(join(bundled, 'b.md'));
    expect(await findScript('sub/c.md', dirs)).toBe(join(bundled, 'sub/c.md'));
    expect(await findPrompt('d.md', dirs)).toBeUndefined();
    expect(await findPrompt('sub', dirs)).toBeUndefined();
    expect(await findPrompt('a.md/x', dirs)).toBeUndefined();
    expect(await namesIn(dirs)).toEqual(['a.md', 'b.md', 'sub/c.md']);
  });

  it.each([
    '',
    ' ',
    '..',
    '../a.md',
    'sub/../../a.md',
    './a.md',
    'sub//a.md',
    '/etc/passwd',
    '~/a.md',
    'a\\b',
    'a\0b',
  ])('refuses the name %j', async (name) => {
    await expect(findPrompt(name, [directory({ 'a.md': '' })])).rejects.toMatchObject({
      code: 'prompt/name',
    });
  });

  it('refuses a link that leads out of the directory, and follows one that stays inside', async () => {
    const outside = directory({ 'secret.md': 'x' });
    const dir = directory({ 'sub/a.md': 'a' });
    symlinkSync(join(outside, 'secret.md'), join(dir, 'out.md'));
    symlinkSync(outside, join(dir, 'way'));
    symlinkSync('sub/a.md', join(dir, 'in.md'));
    symlinkSync('nowhere', join(dir, 'broken.md'));
    await expect(findPrompt('out.md', [dir])).rejects.toThrow(/is a link to .*secret\.md, outside/);
    await expect(findScript('way/secret.md', [dir])).rejects.toMatchObject({ code: 'script/name' });
    expect(await findPrompt('in.md', [dir])).toBe(join(dir, 'in.md'));
    expect(await findPrompt('broken.md', [dir])).toBeUndefined();
  });

  it('finds files in a directory that is itself a link', async () => {
    const real = directory({ 'a.md': 'a' });
    const link = join(directory({}), 'link');
    symlinkSync(real, link);
    expect(await readPrompt('a.md', [link])).toEqual({ path: join(link, 'a.md'), text: 'a' });
  });

  it('refuses a prompt file of more than a megabyte', async () => {
    const dir = directory({ 'big.md': 'x'.repeat(1_048_577) });
    await expect(readPrompt('big.md', [dir])).rejects.toMatchObject({
      code: 'prompt/too-large',
      message: `Prompt ${join(dir, 'big.md')} has 1048577 bytes; at most 1048576 are allowed.`,
    });
  });
});
