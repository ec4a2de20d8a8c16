import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { it, layOut, ROOT, type World } from './support.ts';

const CONSUMER = join(ROOT, 'test', 'fixtures', 'v0.1', 'consumer');
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const COMPILE = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext'];

type Exports = Record<string, { values: string[]; types: string[] }>;

const known = JSON.parse(readFileSync(join(CONSUMER, 'exports.json'), 'utf8')) as Exports;

/** A project that has this build as a dependency, and the programs that were written against 0.1. */
function project(world: World): string {
  const dir = join(world.dir, 'project');
  mkdirSync(join(dir, 'node_modules'), { recursive: true });
  symlinkSync(ROOT, join(dir, 'node_modules', 'signalbox'));
  cpSync(CONSUMER, dir, { recursive: true });
  return dir;
}

function compile(dir: string, ...files: string[]): string {
  // A quick build leaves the declarations out.
  if (!existsSync(join(ROOT, 'dist', 'types', 'api', 'index.d.ts')))
    execFileSync(process.execPath, [join(ROOT, 'tools', 'build.mjs')], { cwd: ROOT });
  const types = ['--typeRoots', join(ROOT, 'node_modules', '@types'), '--types', 'node'];
  try {
    return execFileSync(process.execPath, [TSC, ...COMPILE, ...types, ...files], {
      cwd: dir,
      encoding: 'utf8',
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

it('what version 0.1 left is kept as it was', () => {
  const dir = join(ROOT, 'test', 'fixtures', 'v0.1');
  const files = [
    'consumer/exports.json',
    'consumer/program.mjs',
    'consumer/required.cts',
    'consumer/typed.mts',
  ];
  const hash = createHash('sha256');
  for (const file of [...files, 'home.tar.gz', 'program.tar.gz']) hash.update(readFileSync(join(dir, file)));
  expect(hash.digest('hex')).toBe('6042db8500805635fdf6df5626b92367001bdde86febb61377e48225d9ad6732');
});

describe('a consumer of the library of version 0.1', () => {
  it('finds every name that 0.1 exported', ({ world }) => {
    const dir = project(world);
    const script = `const both = async (name) => [Object.keys(await import(name)), Object.keys(require(name))];
      Promise.all(process.argv.slice(1).map(both)).then((all) => console.log(JSON.stringify(all)));`;
    const args = ['--input-type=commonjs', '--eval', script, ...Object.keys(known)];
    const found = JSON.parse(execFileSync(process.execPath, args, { cwd: dir, encoding: 'utf8' }));
    const expected = Object.values(known).map(({ values }) => expect.arrayContaining(values));
    expect(found).toEqual(expected.map((names) => [names, names]));
  });

  it('compiles', ({ world }) => {
    const dir = project(world);
    const lines = Object.entries(known).map(([name, { types }], index) => {
      const list = types.map((type) => `${type} as ${type}${index}`);
      return `export type { ${list.join(', ')} } from '${name}';\n`;
    });
    writeFileSync(join(dir, 'types.mts'), lines.join(''));
    expect(compile(dir, 'types.mts', 'typed.mts', 'required.cts')).toBe('');
  });

  it('goes on with a run of 0.1, and runs issues and plans', ({ world }) => {
    const { stopped } = layOut(world);
    const dir = project(world);
    world.go();
    for (const name of ['fixed', 'ready']) world.append(name, '');
    world.plan('mine', { workflow: 'minimal', tickets: { a: {} } });
    const out = execFileSync(process.execPath, ['program.mjs', world.repo, stopped, 'mine'], {
      cwd: dir,
      env: world.env,
      encoding: 'utf8',
    });
    expect(JSON.parse(out)).toEqual({
      settings: ['rehearsal', ['test -f README.md'], 600],
      manifest: [null, null, world.repo],
      config: [['exec'], true],
      run: [
        0,
        stopped,
        [
          ['first', true, 'feature/first-title-of-first'],
          ['slow-issue', true, 'feature/slow-issue-title-of-slow-issue'],
          ['last', true, 'feature/last-title-of-last'],
        ],
      ],
      progress: ['slow-issue', 'last'].flatMap((issue) =>
        ['exec', 'checks'].flatMap((phase) =>
          ['start', 'complete'].map((event) => `${issue} ${phase} ${event}`),
        ),
      ),
      again: [true, true, 'plan/illegal'],
      preview: [['last', false, ['qa']]],
      own: [7, true, 'feature/7-add-a-greeting'],
      seen: ['attempt:end', 'attempt:start'],
      plan: [true, 1, [['a', 'complete']]],
      batches: [['1', '2'], ['3']],
      refused: [true, 'run/batch'],
      resolved: { timeout: 5 },
    });
    expect(readdirSync(join(world.repo, '.signalbox', 'logs'))).toContain(`${stopped}.json`);
  });
});
