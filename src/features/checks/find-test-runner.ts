import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface Runner {
  name: 'vitest' | 'jest' | 'mocha' | 'ava' | 'bun' | 'node' | 'pytest' | 'go';
  /** Where it is configured and runs. */
  dir: string;
  command: string[];
}

type Language = 'node' | 'python' | 'go';

/** The test runner that a directory itself has for files of a language. `root` is the top of the checkout. */
export function findRunner(dir: string, language: Language, root: string): Runner | undefined {
  if (language === 'go')
    return existsSync(join(dir, 'go.mod')) ? { name: 'go', dir, command: ['go'] } : undefined;
  return language === 'python' ? pythonRunner(dir, root) : nodeRunner(dir, root);
}

interface Manifest {
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const PACKAGES = ['vitest', 'jest', 'mocha', 'ava'] as const;

/** The Node test runner: the one that the test script calls, else an installed one. */
function nodeRunner(dir: string, root: string): Runner | undefined {
  const manifest = readManifest(join(dir, 'package.json'));
  if (!manifest) return undefined;
  const script = manifest.scripts?.test ?? '';
  const has = { ...manifest.dependencies, ...manifest.devDependencies };
  const called = PACKAGES.find((name) => new RegExp(`(^|[\\s/])${name}(\\s|$)`).test(script));
  if (called) return { name: called, dir, command: packageCommand(called, dir, root) };
  if (/(^|\s)bun test(\s|$)/.test(script)) return { name: 'bun', dir, command: ['bun', 'test'] };
  const node = nodeTest(script);
  if (node) return { name: 'node', dir, command: node };
  const installed = PACKAGES.find((name) => name in has);
  return installed && { name: installed, dir, command: packageCommand(installed, dir, root) };
}

/** `node --test` with the options before it, such as a loader; undefined for scripts that do more. */
function nodeTest(script: string): string[] | undefined {
  const words = script.trim().split(/\s+/);
  const at = words.indexOf('--test');
  if (words[0] !== 'node' || at < 0 || /[;&|<>$`"'\\(){}]/.test(words.slice(0, at).join(' ')))
    return undefined;
  return words.slice(0, at + 1);
}

/** The installed program, else the way its package manager starts it. */
function packageCommand(name: string, dir: string, root: string): string[] {
  for (let at = dir; ; at = dirname(at)) {
    const program = join(at, 'node_modules', '.bin', name);
    if (existsSync(program)) return [program];
    if (at === root || at === dirname(at)) break;
  }
  const locked = (file: string) => existsSync(join(dir, file)) || existsSync(join(root, file));
  if (locked('pnpm-lock.yaml')) return ['pnpm', 'exec', name];
  if (locked('yarn.lock')) return ['yarn', 'run', name];
  if (locked('bun.lock') || locked('bun.lockb')) return ['bunx', name];
  return ['npx', '--no-install', name];
}

function readManifest(file: string): Manifest | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as Manifest | null;
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch (error) {
    // The file is broken for now; the full checks will report it.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const PYTEST: Record<string, RegExp> = {
  'pytest.ini': /(?:)/,
  'conftest.py': /(?:)/,
  'pyproject.toml': /\[tool\.pytest|["']pytest\b/,
  'setup.cfg': /\[tool:pytest\]|^\s*pytest\b/m,
  'tox.ini': /\[pytest\]|\bpytest\b/,
};

/** What only pytest runs: tests outside a class of unittest. */
const PYTEST_STYLE = /^(import pytest|from pytest|(async )?def test)/m;
const PYTHON_TEST = /^(test_.*|.*_test)\.py$/;

function pythonRunner(dir: string, root: string): Runner | undefined {
  // A directory of tests alone is run from where the code is that they import.
  const alone = dir !== root && /^tests?$/.test(basename(dir));
  const found = alone ? hasMarks(dir, ['conftest.py']) : hasMarks(dir) || hasTests(dir);
  return found ? { name: 'pytest', dir, command: pytestCommand(dir) } : undefined;
}

function hasMarks(dir: string, but: readonly string[] = []): boolean {
  const requirements = readdirSync(dir).filter((name) => /^requirements.*\.txt$/.test(name));
  const marks = { ...PYTEST, ...Object.fromEntries(requirements.map((name) => [name, /^pytest\b/m])) };
  return Object.entries(marks).some(([name, mark]) => {
    const file = join(dir, name);
    return !but.includes(name) && existsSync(file) && mark.test(readFileSync(file, 'utf8'));
  });
}

/** Whether a directory, or its directory of tests, has some that only pytest runs. */
function hasTests(dir: string): boolean {
  if (pytestFiles(dir)) return true;
  return readdirSync(dir, { withFileTypes: true }).some(
    (entry) =>
      entry.isDirectory() &&
      /^tests?$/.test(entry.name) &&
      (existsSync(join(dir, entry.name, 'conftest.py')) || pytestFiles(join(dir, entry.name))),
  );
}

function pytestFiles(dir: string): boolean {
  return readdirSync(dir, { withFileTypes: true }).some(
    (entry) =>
      entry.isFile() &&
      PYTHON_TEST.test(entry.name) &&
      PYTEST_STYLE.test(readFileSync(join(dir, entry.name), 'utf8')),
  );
}

function pytestCommand(dir: string): string[] {
  if (existsSync(join(dir, '.venv/bin/pytest'))) return [join(dir, '.venv/bin/pytest')];
  if (existsSync(join(dir, 'uv.lock'))) return ['uv', 'run', 'pytest'];
  if (existsSync(join(dir, 'poetry.lock'))) return ['poetry', 'run', 'pytest'];
  return ['python3', '-m', 'pytest'];
}
