import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CLI, type Ended, environment, run, scratch } from './cli.ts';
import { type Block, doc } from './markdown.ts';

const home = scratch();
const bin = join(home, 'bin');
const state = join(home, '.signalbox');
const env = {
  ...environment(home),
  PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
};

afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));

/** Does what a block asks of the reader, in a home of its own. */
async function follow(block: Block): Promise<[string, Ended][]> {
  if (block.lang === 'json' || block.lang === 'yaml') {
    const path = join(state, block.lang === 'json' ? 'state' : '', block.title ?? '');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, block.text);
    return [];
  }
  if (block.lang === 'sh')
    return [[block.text, await run('/bin/sh', ['-ec', block.text], { cwd: home, env })]];
  const done: [string, Ended][] = [];
  for (const line of block.text.split('\n').filter((each) => each !== '')) {
    const command = line.replace(/^\$ /, '');
    done.push([command, await run('/bin/sh', ['-c', command], { cwd: home, env })]);
  }
  return done;
}

it('getting started can be followed from the first command to the last', async () => {
  mkdirSync(bin);
  symlinkSync(CLI, join(bin, 'signalbox'));
  const blocks = doc('docs/getting-started.md').blocks.filter(({ section }) => section !== 'Install');
  const done: [string, Ended][] = [];
  for (const block of blocks) done.push(...(await follow(block)));

  // Whether claude is installed is not ours to say.
  const failed = done.filter(([command, { code }]) => code !== 0 && command !== 'signalbox doctor');
  expect(failed).toEqual([]);
  const ran = done.find(([command]) => command === 'signalbox run tea')?.[1].out;
  expect(ran).toContain('2/2 complete');
  const { out } = await run('git', ['log', '--format=%s'], { cwd: join(home, 'src/teatime'), env });
  expect(out).toContain('Merge ticket/tea/cli: Add the teatime command');
});
