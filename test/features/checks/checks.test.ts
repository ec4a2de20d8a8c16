import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checksOf, reportChecks } from '../../../src/features/checks/find-and-run-checks.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'checks-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
}

/** Programs that write down how they were called and end with a code. */
function programs(codes: Record<string, number>): string {
  for (const [name, code] of Object.entries(codes)) {
    write({ [`bin/${name}`]: `#!/bin/sh\necho "$PWD: ${name} $*" >> ${root}/calls\nexit ${code}\n` });
    chmodSync(join(root, 'bin', name), 0o755);
  }
  return join(root, 'bin');
}

const calls = () =>
  existsSync(join(root, 'calls'))
    ? readFileSync(join(root, 'calls'), 'utf8').replaceAll(root, '').trim().split('\n')
    : [];

async function run(path = process.env.PATH) {
  const env = { PATH: path, HOME: root };
  const checks = await checksOf(null, root);
  return (await reportChecks(checks, { cwd: root, env, stdout: 2, stderr: 2 })).results;
}

const SCRIPTS = '{"scripts": {"test": "true"}}';

describe('the checks of a project that has none configured', () => {
  const ROWS: [string, Record<string, string>, string[]][] = [
    ['none', { 'README.md': '' }, []],
    ['scripts', { 'package.json': SCRIPTS, Makefile: 'test:\n' }, ['npm run test']],
    ['pytest by its settings', { 'pyproject.toml': '[tool.pytest.ini_options]\n' }, ['python3 -m pytest']],
    [
      'pytest by its tests',
      { 'app.py': '', 'tests/test_app.py': 'def test_a(): pass\n' },
      ['python3 -m pytest'],
    ],
    ['pytest by the settings of its tests', { 'tests/conftest.py': '' }, ['python3 -m pytest']],
    [
      'tests that are not of pytest',
      { 'tests/test_a.py': 'class A(TestCase):\n  def test_a(self): pass\n' },
      [],
    ],
    ['the pytest of the project', { 'pytest.ini': '', '.venv/bin/pytest': '' }, ['.venv/bin/pytest']],
    [
      'go, by modules',
      { 'go.mod': '', 'tools/go.mod': '', 'a/testdata/go.mod': '' },
      ['go test ./...', 'cd tools && go test ./...'],
    ],
    ['cargo', { 'Cargo.toml': '[package]\n' }, ['cargo test']],
    [
      'cargo with several packages',
      { 'Cargo.toml': '[workspace]\n', 'a/Cargo.toml': '' },
      ['cargo test --workspace'],
    ],
    ['make', { Makefile: 'all: x\ntest: all\ncheck:\n' }, ['make test']],
    ['make check', { Makefile: 'test-all:\ntest := 1\ncheck:\n' }, ['make check']],
    ['make without such a target', { Makefile: 'testing: x\n\ttest: y\n' }, []],
    ['make where there is something else', { Makefile: 'test:\n', 'go.mod': '' }, ['go test ./...']],
    [
      'several',
      {
        'package.json': SCRIPTS,
        'svc/pytest.ini': '',
        'svc/sub/pytest.ini': '',
        'go.mod': '',
        'node_modules/x/go.mod': '',
      },
      ['npm run test', 'cd svc && python3 -m pytest', 'go test ./...'],
    ],
  ];
  it.each(ROWS)('are found: %s', async (_name, files, wanted) => {
    write(files);
    expect((await checksOf(null, root)).map(({ command }) => command)).toEqual(wanted);
    expect(await checksOf(['x'], root)).toEqual([{ command: 'x', script: 'x' }]);
  });

  it('name a package.json that cannot be read', async () => {
    write({ 'package.json': '{"scripts": ' });
    await expect(checksOf(null, root)).rejects.toThrow(`${join(root, 'package.json')} cannot be read: `);
  });

  it('run everything, each in its directory', async () => {
    write({ 'go.mod': '', "it's here/go.mod": '' });
    const results = await run(`${programs({ go: 0 })}:${process.env.PATH}`);
    expect(results.map(({ code }) => code)).toEqual([0, 0]);
    expect(calls()).toEqual([': go test ./...', "/it's here: go test ./..."]);
  });

  it('fail with the code of the runner, and the rest is not run', async () => {
    write({ 'go.mod': '', 'Cargo.toml': '' });
    const results = await run(`${programs({ go: 3, cargo: 0 })}:${process.env.PATH}`);
    expect(results).toEqual([{ command: 'go test ./...', code: 3 }]);
    expect(calls()).toEqual([': go test ./...']);
  });

  it.each([
    [0, 0],
    [1, 1],
    [2, 2],
    [5, 0],
  ])('pytest that ends with %i is %i: no tests is no failure', async (code, wanted) => {
    write({ 'pytest.ini': '', 'uv.lock': '' });
    const results = await run(`${programs({ uv: code })}:${process.env.PATH}`);
    expect(results).toEqual([{ command: 'uv run pytest', code: wanted }]);
  });

  it('fail where the runner is not installed', async () => {
    write({ 'go.mod': '' });
    expect(await run(programs({ other: 0 }))).toEqual([{ command: 'go test ./...', code: 127 }]);
    rmSync(join(root, 'go.mod'));
    write({ 'pytest.ini': '' });
    // A python that has no such module.
    expect(await run(programs({ python3: 1 }))).toEqual([{ command: 'python3 -m pytest', code: 127 }]);
    expect(calls()).toEqual([': python3 -c import pytest']);
  });
});
