import { existsSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { shellQuote } from '../../model/text/shell-quote.ts';
import { findRunner } from './test-runners.ts';

export interface Check {
  /** What a person would type. */
  command: string;
  /** What a shell runs for it. */
  script: string;
  /** Default: where the job runs. */
  cwd?: string;
  /** Exit codes that mean success; default 0. */
  ok?: readonly number[];
  /** A shell command; where it fails, the check is left out and the note is printed. */
  needs?: { script: string; note: string };
}

/** Deeper than that nobody keeps a project of its own. */
const DEPTH = 3;
const OTHERS =
  /^(\..*|node_modules|vendor|third_party|testdata|fixtures|examples?|dist|build|target|venv|env|site-packages)$/;

/** Nothing of pytest's own is left in the worktree; what the user wants of it stays. */
export const NO_PYTEST_CACHES =
  'export PYTHONDONTWRITEBYTECODE=1 PYTEST_ADDOPTS="-p no:cacheprovider $PYTEST_ADDOPTS"';

/** Every test of a project, by the runners other than those of package.json scripts that it has. */
export async function wholeRuns(root: string): Promise<Check[]> {
  return [...(await pytestRuns(root, root)), ...(await goRuns(root)), ...(await cargoRuns(root, root))];
}

/** The target that Makefiles have for it; for projects of which nothing else is known. */
export function makeRun(root: string): Check[] {
  const file = ['GNUmakefile', 'makefile', 'Makefile'].find((name) => existsSync(join(root, name)));
  if (!file) return [];
  const text = readFileSync(join(root, file), 'utf8');
  const target = ['test', 'check'].find((name) => new RegExp(`^${name}[ \\t]*::?(?!=)`, 'm').test(text));
  return target ? [runOf({ root, dir: root, argv: ['make', target], probe: 'command -v make' })] : [];
}

/** A run covers the directories below it. */
async function pytestRuns(root: string, dir: string): Promise<Check[]> {
  const runner = findRunner(dir, 'python', root);
  if (!runner) return below(root, dir, pytestRuns);
  const argv = runner.command.map((word) => (word.startsWith(`${dir}/`) ? relative(dir, word) : word));
  const probe = argv[0] === 'python3' ? 'python3 -c "import pytest" 2>&1' : `command -v ${argv[0]}`;
  const missing = argv[0] === 'python3' ? 'pytest' : argv[0];
  // 5: there are no tests.
  return [runOf({ root, dir, argv, probe, missing, first: NO_PYTEST_CACHES, fine: 5 })];
}

/** One for each module: `./...` stops where another one begins. */
async function goRuns(root: string, dir = root): Promise<Check[]> {
  const here = findRunner(dir, 'go', root)
    ? [runOf({ root, dir, argv: ['go', 'test', './...'], probe: 'command -v go' })]
    : [];
  return [...here, ...(await below(root, dir, goRuns))];
}

async function cargoRuns(root: string, dir: string): Promise<Check[]> {
  const file = join(dir, 'Cargo.toml');
  if (!existsSync(file)) return below(root, dir, cargoRuns);
  const all = /^\s*\[workspace\]/m.test(readFileSync(file, 'utf8')) ? ['--workspace'] : [];
  return [runOf({ root, dir, argv: ['cargo', 'test', ...all], probe: 'command -v cargo' })];
}

interface Run {
  root: string;
  dir: string;
  argv: readonly string[];
  /** Fails where the runner is not installed. */
  probe: string;
  /** How it is called then. */
  missing?: string;
  /** A line that stands before it. */
  first?: string;
  /** An exit code that is no failure. */
  fine?: number;
}

function runOf({ root, dir, argv, probe, missing, first, fine }: Run): Check {
  const command = argv.join(' ');
  const at = relative(root, dir);
  const cd = at === '' ? '' : `cd ${shellQuote(`./${at}`)} && `;
  const why = `${missing ?? argv[0]} is not installed, so the tests${at ? ` of ${at}` : ''} cannot be run. Install it, or say in the setting checks what has to pass.`;
  const lines = [
    `${cd}{ ${probe} >/dev/null || { echo ${shellQuote(why)} >&2; exit 127; }; } || exit`,
    first ?? '',
    command,
    fine === undefined ? '' : `code=$?; [ $code -eq ${fine} ] || exit $code`,
  ];
  return {
    command: at === '' ? command : `cd ${at} && ${command}`,
    script: lines.filter(Boolean).join('\n'),
  };
}

/** What a function finds in the directories below one, in order. Others get their turn in between: trees may be large. */
async function below(
  root: string,
  dir: string,
  find: (root: string, dir: string) => Promise<Check[]>,
): Promise<Check[]> {
  const depth = relative(root, dir).split('/').filter(Boolean).length;
  if (depth >= DEPTH) return [];
  const entries = (await readdir(dir, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && !OTHERS.test(entry.name))
    .map(({ name }) => join(dir, name))
    .filter((path) => !existsSync(join(path, 'pyvenv.cfg')))
    .sort();
  const found: Check[] = [];
  for (const each of entries) found.push(...(await find(root, each)));
  return found;
}
