import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { removeTree } from '../../../src/machine/files/read-and-remove-files.ts';
import { nest } from '../../support/nest.ts';
import { scratch } from '../../workspaces/helpers.ts';

it('sweeps away whatever is there, and nothing that a link leads to', async () => {
  const dir = scratch();
  const at = (name: string) => join(dir, name);
  for (const name of ['deep', 'kept']) mkdirSync(at(name));
  nest(at('deep'));
  writeFileSync(at('kept/file'), '');
  writeFileSync(at('file'), '');
  symlinkSync(at('kept'), at('link'));
  symlinkSync(at('kept'), at('deep/link'));
  const names = ['deep', 'file', 'link', 'none', 'kept/file/x'];
  const swept = removeTree(...names.map(at));
  // What takes long is not waited for.
  expect(await Promise.race([swept, 'later'])).toBe('later');
  await swept;
  expect(names.map((name) => existsSync(at(name)))).toEqual(names.map(() => false));
  expect(existsSync(at('kept/file'))).toBe(true);
});
