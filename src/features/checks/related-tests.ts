import { type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { messageOf, WorkspaceError } from '../../model/errors.ts';
import { createWorkspaces } from '../../workspaces/index.ts';
import type { CheckResult } from './checks.ts';
import { findRunner, pytestEnvironment, type Runner } from './test-runners.ts';

/** One call of a test runner. */
export interface RelatedRun {
  cwd: string;
  argv: string[];
  /** Exit codes that mean success. */
  ok: readonly number[];
}

export interface RelatedPlan {
  runs: RelatedRun[];
  /** What could not be told. */
  notes: string[];
}

/** More files than this are as good as everything. */
const MAX_FILES = 500;
const CODE = /\.([cm]?[jt]sx?|vue|svelte|astro|json|css|scss|less|graphql|html|snap)$/;
const NAMED_TEST = /\.(test|spec)\.[cm]?[jt]sx?$/;
const IN_TESTS = /(^|\/)(tests?|__tests__)\/(.*\/)?[^/]+\.[cm]?[jt]sx?$/;
const PYTHON_TEST = /(^|\/)(test_[^/]*|[^/]*_test)\.py$/;

/**
 * Which tests the changed files touch, by the runner's own knowledge of imports where it has some, else by name. Files
 * belong to the nearest directory above them that has a test runner.
 */
export function planRelated(root: string, changed: readonly string[]): RelatedPlan {
  const groups = new Map<string, { runner: Runner; files: string[] }>();
  let homeless = 0;
  for (const file of changed) {
    const runner = runnerFor(root, file);
    if (!runner) {
      homeless += 1;
      continue;
    }
    const key = `${runner.dir}\n${runner.name}`;
    const group = groups.get(key) ?? { runner, files: [] };
    groups.set(key, group);
    group.files.push(relative(runner.dir, join(root, file)));
  }
  const plan: RelatedPlan = { runs: [], notes: [] };
  for (const { runner, files } of groups.values()) {
    const argv = argvFor(runner, files);
    if (typeof argv === 'string') plan.notes.push(argv);
    else plan.runs.push({ cwd: runner.dir, argv, ok: runner.name === 'pytest' ? [0, 5] : [0] });
  }
  if (changed.length > 0 && homeless === changed.length)
    plan.notes.push('No test runner was recognised, so it cannot be told which tests are related.');
  if (changed.length === 0) plan.notes.push('Nothing has changed, so there is nothing to test.');
  return plan;
}

function runnerFor(root: string, file: string): Runner | undefined {
  const kind = extname(file) === '.py' ? 'python' : extname(file) === '.go' ? 'go' : 'node';
  for (let dir = dirname(join(root, file)); ; dir = dirname(dir)) {
    const runner = existsSync(dir) ? findRunner(dir, kind, root) : undefined;
    if (runner) return runner;
    if (dir === root || dir === dirname(dir)) return undefined;
  }
}

/** The arguments, or the reason why there is nothing to run. */
function argvFor(runner: Runner, files: readonly string[]): string[] | string {
  const { name, command } = runner;
  const none = `None of the files changed in ${runner.dir} is a test that ${name} could run.`;
  if (name === 'go') {
    return [...command, 'test', ...new Set(files.map(goPackage))];
  }
  if (name === 'pytest') {
    const tests = new Set(files.flatMap((file) => pythonTests(runner.dir, file)));
    return (
      named(command, [...tests]) ??
      `No test in ${runner.dir} is named after what has changed there; the whole run before the verdict covers it.`
    );
  }
  if (name === 'vitest' || name === 'jest') {
    const code = files.filter((file) => CODE.test(file));
    if (code.length === 0) return `No code that ${name} knows has changed in ${runner.dir}.`;
    if (code.length > MAX_FILES) return [...command, ...(name === 'vitest' ? ['run'] : [])];
    const options =
      name === 'vitest'
        ? ['related', '--run', '--passWithNoTests']
        : ['--passWithNoTests', '--findRelatedTests'];
    return named([...command, ...options], code) ?? none;
  }
  const tests = files.filter((file) => NAMED_TEST.test(file) || IN_TESTS.test(file));
  return named(command, tests) ?? none;
}

/** A test itself, or those that are named after a file: beside it, or in a directory of tests beside it or at the top. */
function pythonTests(dir: string, file: string): string[] {
  if (PYTHON_TEST.test(file)) return [file];
  const name = basename(file, '.py');
  const at = dirname(file);
  // The top of a package need not be the top of the project.
  const inner = at.split('/').slice(1).join('/');
  const places = [
    at,
    ...['tests', 'test'].flatMap((tests) => [join(at, tests), tests, join(tests, at), join(tests, inner)]),
  ];
  const wanted = places.flatMap((place) => [join(place, `test_${name}.py`), join(place, `${name}_test.py`)]);
  return [...new Set(wanted)].filter((each) => existsSync(join(dir, each)));
}

/** Files that cannot be taken for options. */
function named(command: readonly string[], files: readonly string[]): string[] | undefined {
  return files.length > 0 ? [...command, ...files.map((file) => `./${file}`)] : undefined;
}

/** Test data belongs to the package above it. */
function goPackage(file: string): string {
  const dir = dirname(file).replace(/(^|\/)testdata(\/.*)?$/, '');
  return dir === '' || dir === '.' ? '.' : `./${dir}`;
}

export interface RelatedOptions {
  cwd: string;
  /** The commit that the work started from; null: where the branch left the base. */
  base: string | null;
  env: NodeJS.ProcessEnv;
  say(line: string): void;
  /** File descriptors for what the runners print. */
  stdout: number | 'ignore';
  stderr: number | 'ignore';
}

export interface RelatedResult {
  results: CheckResult[];
  notes: string[];
}

/** Runs them, up to the first failure. What cannot be told is no failure: the full checks come later. */
export async function runRelated(options: RelatedOptions): Promise<RelatedResult> {
  const { cwd, base, env, say, stdout, stderr } = options;
  const plan = await planAt(cwd, base, env);
  const results: CheckResult[] = [];
  for (const { cwd: at, argv, ok } of plan.runs) {
    const [file = '', ...args] = argv;
    const command = [file.includes('/node_modules/') ? relative(at, file) : file, ...args].join(' ');
    say(`$ ${command}`);
    const options = { cwd: at, env: pytestEnvironment(env) };
    // Python says by an ordinary failure that it has no such module.
    const lacks = args[1] === 'pytest' && (await exitOf(file, ['-c', 'import pytest'], options)) === 1;
    const code = lacks
      ? undefined
      : await exitOf(file, args, { ...options, stdio: ['ignore', stdout, stderr] });
    if (code === undefined) {
      const missing = lacks ? 'pytest' : file;
      plan.notes.push(`${missing} is not installed, so the tests related to ${at} were not run.`);
      continue;
    }
    const passed = code !== null && ok.includes(code);
    results.push({ command, code: passed ? 0 : code });
    if (!passed) break;
  }
  return { results, notes: plan.notes };
}

/** Undefined where there is no such program. */
function exitOf(
  file: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<number | null | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'ignore', ...options });
    child.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? resolve(undefined) : reject(error),
    );
    child.once('exit', (status) => resolve(status));
  });
}

async function planAt(cwd: string, base: string | null, env: NodeJS.ProcessEnv): Promise<RelatedPlan> {
  try {
    const { root, files } = await createWorkspaces({ env }).changedFiles(cwd, base);
    return planRelated(root, files);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return { runs: [], notes: [`It cannot be told what has changed: ${messageOf(error)}`] };
  }
}
