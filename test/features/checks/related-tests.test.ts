import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reportChecks } from '../../../src/features/checks/find-and-run-checks.ts';
import { planRelated, relatedTests } from '../../../src/features/checks/related-tests.ts';
import { createWorkspaces } from '../../../src/workspaces/workspaces.ts';
import { GIT_ENV, git } from '../../support/repo.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'related-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(files: Record<string, unknown>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** `directory: command` of what would run. */
function plan(...changed: string[]): string[] {
  return planRelated(root, changed).checks.map(
    ({ cwd = '', command }) => `${cwd.slice(root.length + 1) || '.'}: ${command.replaceAll(`${root}/`, '')}`,
  );
}

const notes = (...changed: string[]) => planRelated(root, changed).notes;

describe('related tests', () => {
  const test = (script: string) => ({ scripts: { test: script } });
  const RUNNERS: [string, Record<string, unknown>, string[], string[]][] = [
    [
      'vitest by its script',
      { 'package.json': test('vitest run --coverage') },
      ['src/a.ts', 'README.md'],
      ['.: npx --no-install vitest related --run --passWithNoTests ./src/a.ts'],
    ],
    [
      'vitest by its package, before nothing else is called',
      { 'package.json': { devDependencies: { vitest: '4' } }, 'pnpm-lock.yaml': '' },
      ['src/-a.ts'],
      ['.: pnpm exec vitest related --run --passWithNoTests ./src/-a.ts'],
    ],
    [
      'jest by its script, though vitest is installed too',
      {
        'package.json': { ...test('cross-env CI=1 jest'), devDependencies: { vitest: '4' } },
        'yarn.lock': '',
      },
      ['a.js', 'b c.js'],
      ['.: yarn run jest --passWithNoTests --findRelatedTests ./a.js ./b c.js'],
    ],
    [
      'mocha, by the names of its tests',
      { 'package.json': { devDependencies: { mocha: '11' } } },
      ['src/a.js', 'test/a.js', 'src/b.spec.mjs', 'test/data.json'],
      ['.: npx --no-install mocha ./test/a.js ./src/b.spec.mjs'],
    ],
    [
      'node’s own, with its loader',
      { 'package.json': test('node --import tsx --test "test/**/*.test.ts"') },
      ['src/a.ts', 'src/a.test.ts'],
      ['.: node --import tsx --test ./src/a.test.ts'],
    ],
    ['bun', { 'package.json': test('bun test') }, ['a.test.ts'], ['.: bun test ./a.test.ts']],
    [
      'pytest',
      { 'pyproject.toml': '[tool.pytest.ini_options]\n' },
      ['src/a.py', 'tests/test_a.py', 'tests/util.py', 'pkg/b_test.py'],
      ['.: python3 -m pytest ./tests/test_a.py ./pkg/b_test.py'],
    ],
    [
      'pytest, by the names of the tests',
      {
        'pyproject.toml': '[project]\nname = "x"\n',
        'tests/test_app.py': 'def test_app(): pass\n',
        'test_near.py': '',
        'lib/tests/deep_test.py': '',
        'tests/lib/test_deep.py': '',
      },
      ['app.py', 'near.py', 'lib/deep.py', 'other.py'],
      [
        '.: python3 -m pytest ./tests/test_app.py ./test_near.py ./lib/tests/deep_test.py ./tests/lib/test_deep.py',
      ],
    ],
    [
      'pytest of uv',
      { 'requirements-dev.txt': 'pytest==9\n', 'uv.lock': '' },
      ['test_a.py'],
      ['.: uv run pytest ./test_a.py'],
    ],
    [
      'go, by packages',
      { 'go.mod': 'module x\n', 'cmd/a.go': '' },
      ['main.go', 'cmd/a.go', 'cmd/b.go', 'in/testdata/x/y.go', 'README.md'],
      ['.: go test . ./cmd ./in'],
    ],
  ];
  it.each(RUNNERS)('are found with %s', (_name, files, changed, wanted) => {
    write(files);
    expect(plan(...changed)).toEqual(wanted);
  });

  it('are those of the nearest package, each with its own runner', () => {
    write({
      'package.json': test('npm test --workspaces'),
      'packages/a/package.json': test('vitest'),
      'packages/b/package.json': test('jest'),
      'packages/c/package.json': {},
      'service/pytest.ini': '',
      'node_modules/.bin/vitest': '',
    });
    expect(plan('packages/a/src/x.ts', 'packages/b/y.ts', 'service/test_z.py', 'packages/c/z.ts')).toEqual([
      'packages/a: ../../node_modules/.bin/vitest related --run --passWithNoTests ./src/x.ts',
      'packages/b: npx --no-install jest --passWithNoTests --findRelatedTests ./y.ts',
      'service: python3 -m pytest ./test_z.py',
    ]);
  });

  it('are all of them when very much has changed', () => {
    write({ 'package.json': test('vitest') });
    const changed = Array.from({ length: 600 }, (_, index) => `src/${index}.ts`);
    expect(plan(...changed)).toEqual(['.: npx --no-install vitest run']);
  });

  it('are none where nothing can be told, and that is said', () => {
    write({ 'package.json': test('make check'), 'sub/package.json': 'broken {' });
    expect(notes('src/a.c', 'sub/b.js')).toEqual([
      'No test runner was recognised, so related tests cannot be found.',
    ]);
    expect(notes()).toEqual(['Nothing has changed, so there is nothing to test.']);
    write({ 'package.json': test('node --test') });
    expect(notes('src/a.js')).toEqual(['No changed file is a test that node can run.']);
    write({ 'py/pytest.ini': '' });
    expect(notes('py/app.py')).toEqual([
      'No test in py is named after a changed file; the checks that follow cover it.',
    ]);
    write({ 'package.json': test('vitest') });
    expect(notes('README.md')).toEqual(['No changed file is code that vitest knows.']);
  });
});

describe('running them', () => {
  const run = async (base: string | null = null, path?: string) => {
    const env = { PATH: path ?? process.env.PATH, ...GIT_ENV, HOME: root };
    const { checks, notes } = await relatedTests(createWorkspaces({ env }), root, base);
    return reportChecks(checks, { cwd: root, env, stdout: 'ignore', stderr: 'ignore', notes });
  };

  function repo(files: Record<string, unknown>): string {
    git(root, 'init', '--quiet', '--initial-branch=main');
    write({ '.gitignore': 'node_modules\n', ...files });
    git(root, 'add', '--all');
    git(root, 'commit', '--quiet', '--message=Begin');
    return git(root, 'rev-parse', 'HEAD');
  }

  it('vitest runs the tests that import what changed, and no others', { tags: 'full' }, async () => {
    const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url));
    const spec = (name: string, sum: number) =>
      `import { expect, it } from 'vitest';\nimport { ${name} } from './${name}.ts';\nit('${name}', () => expect(${name}).toBe(${sum}));\n`;
    const base = repo({
      'package.json': { type: 'module', scripts: { test: 'vitest run' } },
      'a.ts': 'export const a = 1;\n',
      'b.ts': 'export const b = 1;\n',
      'a.test.ts': spec('a', 1),
      'b.test.ts': spec('b', 2),
    });
    symlinkSync(modules, join(root, 'node_modules'));
    write({ 'a.ts': 'export const a = 0 + 1;\n' });
    const command = 'node_modules/.bin/vitest related --run --passWithNoTests ./a.ts';
    // The test of b would fail.
    expect(await run(base)).toEqual({ results: [{ command, code: 0 }], notes: [] });
    write({ 'a.ts': 'export const a = 7;\n' });
    expect(await run(base)).toMatchObject({ results: [{ command, code: 1 }] });
  });

  it('node runs the tests that changed', async () => {
    const base = repo({
      'package.json': { type: 'module', scripts: { test: 'node --test' } },
      'old.test.js': 'x(',
    });
    write({ 'new.test.js': "import test from 'node:test';\ntest('passes', () => undefined);\n" });
    expect(await run(base)).toMatchObject({ results: [{ command: 'node --test ./new.test.js', code: 0 }] });
    git(root, 'add', '--all');
    git(root, 'commit', '--quiet', '--message=Committed');
    expect(await run(base)).toMatchObject({ results: [{ code: 0 }] });
    expect(await run(git(root, 'rev-parse', 'HEAD'))).toMatchObject({
      results: [],
      notes: [expect.any(String)],
    });
  });

  it('stops at the first that fails, and says what is not installed', async () => {
    const base = repo({
      'a/package.json': { scripts: { test: 'jest' } },
      'b/package.json': { scripts: { test: 'jest' } },
      'c/package.json': { scripts: { test: 'bun test' } },
    });
    write({ 'c/x.test.js': '', 'a/x.js': '', 'b/x.js': '', 'node_modules/.bin/jest': '#!/bin/sh\nexit 3\n' });
    chmodSync(join(root, 'node_modules/.bin/jest'), 0o755);
    const { results } = await run(base);
    expect(results).toEqual([
      { command: '../node_modules/.bin/jest --passWithNoTests --findRelatedTests ./x.js', code: 3 },
    ]);
    rmSync(join(root, 'a/x.js'));
    rmSync(join(root, 'b/x.js'));
    const git = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    mkdirSync(join(root, 'node_modules/path'));
    symlinkSync(git, join(root, 'node_modules/path/git'));
    expect(await run(base, join(root, 'node_modules/path'))).toMatchObject({
      results: [],
      notes: [`bun is not installed, so the tests related to ${root}/c were not run.`],
    });
  });

  it('outside a repository nothing can be told', async () => {
    expect(await run()).toMatchObject({ results: [], notes: [expect.stringContaining('cannot be listed')] });
  });
});
