import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CLI } from '../../support/cli.ts';

/** A copy of the built program that says it is another version. Returns its entry file. */
export function otherVersion(dir: string, number: string): string {
  const root = dirname(dirname(CLI));
  const copy = join(dir, 'other-version');
  mkdirSync(copy);
  for (const name of readdirSync(root))
    if (name !== 'dist' && name !== 'package.json') symlinkSync(join(root, name), join(copy, name));
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  const renamed = (content: string) => content.replaceAll(`"${version}"`, `"${number}"`);
  writeFileSync(join(copy, 'package.json'), renamed(text));
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
  for (const name of readdirSync(join(copy, 'dist'), { recursive: true, encoding: 'utf8' })) {
    if (!/\.c?js$/.test(name)) continue;
    const file = join(copy, 'dist', name);
    writeFileSync(file, renamed(readFileSync(file, 'utf8')));
  }
  return join(copy, 'dist', basename(CLI));
}
