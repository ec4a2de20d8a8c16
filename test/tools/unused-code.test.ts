import { describe, expect, it } from 'vitest';
import { unusedCode } from '../../tools/unused-code.mjs';
import { directory } from '../workflows/helpers.ts';

const ENTRY = 'cli/main.ts';

/** What is unused in a tree whose entry point is `main`, beside tests with the text of `test`. */
function unused(files: Record<string, string>, { main, test = '' }: { main: string; test?: string }) {
  const root = directory({
    [`src/${ENTRY}`]: main,
    ...Object.fromEntries(Object.entries(files).map(([file, text]) => [`src/${file}`, text])),
    'test/a.test.ts': test,
  });
  return unusedCode(`${root}/src`, { entries: [ENTRY], tests: [`${root}/test`] });
}

const NOTHING = { unusedExports: [], unusedFiles: [] };
const A = 'export const one = 1;\nexport interface Two {}';
const exported = (file: string, name: string) =>
  `src/${file} exports ${name}: no other file uses it, and no test of its own`;

describe('unused code', () => {
  it.each([
    "import { one, type Two } from '../model/a.ts';",
    "import {\n  one as first,\n} from '../model/a.ts';\nimport type { Two } from '../model/a.ts';",
    "import * as a from '../model/a.ts';",
    "export { one as first, type Two } from '../model/a.ts';",
    "export * from '../model/a.ts';",
    "const { one: first } = await import('../model/a.ts');\ntype T = import('../model/a.ts').Two;",
    "(await import('../model/a.ts')).one;\nimport type { Two } from '../model/a.ts';",
    "const [{ one }] = await Promise.all([import('../model/a.ts')]);",
    "type A = typeof import('../model/a.ts');",
    "import('../model/a.ts').then((a) => a);",
  ])('%j uses both names', (main) => {
    expect(unused({ 'model/a.ts': A }, { main })).toEqual(NOTHING);
  });

  it('reads the names that are used of a module which is loaded by a function', () => {
    const main = "const a = () => import('../model/a.ts');\nexport const load = async () => (await a()).one;";
    expect(unused({ 'model/a.ts': A }, { main }).unusedExports).toEqual([exported('model/a.ts', 'Two')]);
  });

  it('takes no name in a comment for a use', () => {
    const main = "// import('../model/a.ts').one\n/** {@link import('../model/a.ts')} */";
    expect(unused({ 'model/a.ts': A }, { main }).unusedFiles).toHaveLength(1);
  });

  it('refuses an export that no other file imports, also a type and a re-export', () => {
    const main =
      "import { one } from '../model/a.ts';\nimport '../model/b.ts';\nimport { c } from '../model/c.ts';";
    const files = {
      'model/a.ts': A,
      'model/b.ts': '',
      'model/c.ts': "export { one as again } from './a.ts';\nexport const c = 1;",
    };
    expect(unused(files, { main }).unusedExports).toEqual([
      exported('model/a.ts', 'Two'),
      exported('model/c.ts', 'again'),
    ]);
  });

  it('lets a file export the types of its exported functions, which declarations have to name', () => {
    const main = "import { load } from '../model/a.ts';";
    const files = {
      'model/a.ts':
        'export interface Wish {}\nexport interface Inner {}\nexport function load(\n  {\n    a = 1,\n  }: Wish,\n) {\n  const b: Inner = {};\n}',
    };
    expect(unused(files, { main }).unusedExports).toEqual([exported('model/a.ts', 'Inner')]);
  });

  it('lets a test import what the file itself uses, and nothing that the program never calls', () => {
    const main = "import { call } from '../model/a.ts';";
    const test = "import { step, dead } from '../src/model/a.ts';";
    const files = {
      'model/a.ts':
        'export function step() {}\nexport function call() {\n  step();\n}\n/** Dead. */\nexport function dead() {}',
    };
    expect(unused(files, { main, test }).unusedExports).toEqual([exported('model/a.ts', 'dead')]);
    expect(unused(files, { main }).unusedExports).toEqual([
      exported('model/a.ts', 'step'),
      exported('model/a.ts', 'dead'),
    ]);
  });

  it('refuses a file that no entry point reaches', () => {
    const files = {
      'model/a.ts': "import { b } from './b.ts';",
      'model/b.ts': 'export const b = 1;',
      'model/c.ts': '',
    };
    expect(unused(files, { main: "import '../model/c.ts';" }).unusedFiles).toEqual([
      'src/model/a.ts is not reached from an entry point (tools/unused-code.mjs lists them)',
      'src/model/b.ts is not reached from an entry point (tools/unused-code.mjs lists them)',
    ]);
  });
});
