import { describe, expect, it } from 'vitest';
import { roomProblems } from '../../tools/room-problems.mjs';
import { directory } from '../workflows/helpers.ts';

/** Problems of a source tree, without the rules that found none. */
function problems(files: Record<string, string>): Record<string, string[]> {
  const found = roomProblems(directory(files));
  return Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0));
}

describe('the rules of the rooms', () => {
  it.each([
    ['api', 'export function f({ cwd = process.cwd(), env = process.env } = {}) {}', true],
    ['api', 'export function f({\n  cwd = process.cwd(),\n  env = process.env,\n} = {}) {}', true],
    ['api', 'const env = process.env;', false],
    ['api', 'export function f({ home = process.env.HOME } = {}) {}', false],
    ['api', 'export const f = () => process.cwd();', false],
    ['api', 'process.exit(1);', false],
    ['engine', 'export function f({ env = process.env } = {}) {}', false],
    ['cli', 'process.exit(1);', true],
    ['engine', 'process.exitCode = 1;', false],
    ['engine', 'const { env } = process;', false],
    ['engine', "import { env } from 'node:process';", false],
    ['engine', "  console.log('done');", false],
  ])('only the command line touches the process: in %s, %j is allowed: %s', (room, text, good) => {
    const touched = { touchesProcess: [`src/${room}/x.ts: only src/cli touches the process`] };
    expect(problems({ [`${room}/x.ts`]: text })).toEqual(good ? {} : touched);
  });

  it('refuses an import from a room above, also of a type', () => {
    const files = {
      'model/a.ts': "import type { B } from '../engine/b.ts';",
      'engine/b.ts': 'export type B = 1;',
    };
    expect(problems(files)).toEqual({ upward: ['src/model/a.ts must not import src/engine/b.ts'] });
  });

  it.each([
    "import { b } from '../engine/b.js';",
    "import { b } from /* above */ '../engine/b.ts';",
    "import {\n  b,\n} from '../engine/b';",
    "import { b } from 'signalbox';",
    'import { b } from "../engine/b.ts";',
    "export { b } from '../engine/b.mts';",
    "const { b } = await import('../engine/b.js');",
    'const b = await import(`../engine/b.ts`);',
    'export default function b() {}',
    'export const { b, c } = whole;',
    'export declare const b: 1;',
    'function b() {}\nexport { b };',
    "const { b } = await import(\n  // above\n  '../engine/b.ts'\n);",
    "const where = '../engine/b.ts';\nconst b = await import(where);",
    "const b = await import('../engine/' + name);",
    "const require = createRequire(import.meta.url);\nconst b = require('../engine/b.ts');",
    "const b = require('../engine/b.ts');",
    "import { b } from '/opt/engine/b.ts';",
    "import { b } from '#engine/b.ts';",
  ])('refuses a form that hides from the other rules: %j', (text) => {
    expect(problems({ 'model/a.ts': text }).oddForms).toHaveLength(1);
  });

  it('refuses an import of the page, of tests and of tools', () => {
    const files = {
      'model/a.ts': "import { b } from '../../page/b.tsx';\nimport type { C } from '../../tools/c.ts';",
    };
    expect(problems(files)).toEqual({
      outward: ['src/model/a.ts must not import page/b.tsx', 'src/model/a.ts must not import tools/c.ts'],
    });
  });

  it('lets a listed file load what is installed beside Signalbox', () => {
    const text = 'const loaded = await import(pathToFileURL(found).href);';
    expect(problems({ 'store/postgres/load-optional-packages.ts': text })).toEqual({});
  });

  it('refuses source files with other endings', () => {
    const files = {
      'model/a.mts': '',
      'model/b.js': '',
      'model/c.ts': "import d from './d.json' with { type: 'json' };",
    };
    expect(problems(files).oddForms).toEqual([
      'src/model/a.mts: source files end in .ts or .tsx',
      'src/model/b.js: source files end in .ts or .tsx',
    ]);
  });

  it('lets the rehearsal agent import from the model alone', () => {
    const files = {
      'rehearsal/a.ts': "import '../config/b.ts';\nimport '../model/c.ts';",
      'config/b.ts': '',
      'model/c.ts': '',
    };
    expect(problems(files)).toEqual({ upward: ['src/rehearsal/a.ts must not import src/config/b.ts'] });
  });

  it('refuses a feature that imports another one, except a shared one', () => {
    const files = {
      'features/plans/a.ts': "import '../cleanup/b.ts';\nimport '../checks/c.ts';",
      'features/cleanup/b.ts': '',
      'features/checks/c.ts': "import '../pull-requests/d.ts';",
      'features/pull-requests/d.ts': '',
    };
    expect(problems(files)).toEqual({
      betweenFeatures: [
        'src/features/checks/c.ts must not import src/features/pull-requests/d.ts',
        'src/features/plans/a.ts must not import src/features/cleanup/b.ts',
      ],
    });
  });

  it('lets no other room see how the store keeps its state', () => {
    const files = {
      'engine/a.ts':
        "import '../store/layout.ts';\nimport type { Store } from '../store/store-interface.ts';",
      'store/layout.ts': '',
      'store/store-interface.ts': "import './layout.ts';",
    };
    expect(problems(files)).toEqual({ insideStore: ['src/engine/a.ts must not import src/store/layout.ts'] });
  });

  it('lets one room start processes, and the command line hand over its terminal', () => {
    const text = "import { spawn } from 'node:child_process';";
    const lazy = "const { spawn } = await import('node:child_process');";
    const files = { 'git/a.ts': text, 'git/b.ts': lazy, 'machine/run-process.ts': text, 'cli/b.ts': text };
    const problem = 'processes are started by src/machine/run-process.ts or as jobs';
    expect(problems(files)).toEqual({
      startsProcesses: [`src/git/a.ts: ${problem}`, `src/git/b.ts: ${problem}`],
    });
  });

  it('refuses a cycle, also one of types and of a lazy import', () => {
    const files = {
      'model/a.ts': "import type { B } from './b.ts';\nexport type A = B;",
      'model/b.ts': "export type B = 1;\nexport const c = () => import('./a.ts');",
    };
    expect(problems(files).inCycles).toEqual(['import cycle: model/a.ts → model/b.ts → model/a.ts']);
  });

  it('refuses a folder with more than 30 files and a name that a room exports twice', () => {
    const many = Object.fromEntries(Array.from({ length: 31 }, (_, index) => [`git/f${index}.ts`, '']));
    expect(problems(many)).toEqual({ largeFolders: ['src/git has 31 files; at most 30 are allowed.'] });
    const twice = {
      'features/plans/a.ts': 'export const place = 1;',
      'features/checks/b.ts': 'export interface place {}',
    };
    expect(problems(twice)).toEqual({
      sameName: ['src/features exports place more than once: features/checks/b.ts, features/plans/a.ts'],
    });
  });
});
