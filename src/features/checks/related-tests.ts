import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import type { Action } from '../../engine/context.ts';
import { EXIT } from '../../model/actions.ts';
import { messageOf, orError, WorkspaceError } from '../../model/errors.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { NO_RELATED_TESTS_RAN } from '../../model/verdict-criteria-and-missing-checks.ts';
import type { Workspaces } from '../../workspaces/workspaces.ts';
import { type Check, checkJob, NO_PYTEST_CACHES } from './find-and-run-checks.ts';
import { findRunner, type Runner } from './find-test-runner.ts';

export interface RelatedPlan {
  checks: Check[];
  /** What could not be found out. */
  notes: string[];
}

/** Runs the tests that the ticket's changes affect as one job. Tests that cannot be determined are no failure: full checks follow. */
export const relatedAction: Action = async ({ engine, place }) => {
  const { checks, notes } = await relatedTests(engine.workspaces, place.worktree, place.base.commit || null);
  return checks.length === 0
    ? { exit: EXIT.done, out: [...notes, NO_RELATED_TESTS_RAN].join('\n') }
    : { job: checkJob(checks, { notes, isRelated: true }) };
};

/** With more changed files than this, all tests are run. */
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
  const runnerFor = runnerFinder(root);
  let problemsWithoutPlan = 0;
  for (const file of changed) {
    const runner = runnerFor(file);
    if (!runner) {
      problemsWithoutPlan += 1;
      continue;
    }
    const key = `${runner.dir}\n${runner.name}`;
    const group = groups.get(key) ?? { runner, files: [] };
    groups.set(key, group);
    group.files.push(relative(runner.dir, join(root, file)));
  }
  const plan: RelatedPlan = { checks: [], notes: [] };
  for (const { runner, files } of groups.values()) {
    const argv = argvFor(runner, files, relative(root, runner.dir));
    if (typeof argv === 'string') plan.notes.push(argv);
    else plan.checks.push(checkOf(runner, argv));
  }
  if (changed.length > 0 && problemsWithoutPlan === changed.length)
    plan.notes.push('No test runner was recognised, so related tests cannot be found.');
  if (changed.length === 0) plan.notes.push('Nothing has changed, so there is nothing to test.');
  return plan;
}

function checkOf({ name, dir: cwd }: Runner, argv: readonly string[]): Check {
  const [file = '', ...args] = argv;
  const isModule = args[1] === 'pytest';
  const missing = isModule ? 'pytest' : file;
  return {
    command: [file.includes('/node_modules/') ? relative(cwd, file) : file, ...args].join(' '),
    cwd,
    // 5: pytest found no tests.
    ok: name === 'pytest' ? [0, 5] : [0],
    needs: {
      script: isModule ? `${shellWord(file)} -c 'import pytest'` : `command -v ${shellWord(file)}`,
      note: `${missing} is not installed, so the tests related to ${cwd} were not run.`,
    },
    script: `${name === 'pytest' ? `${NO_PYTEST_CACHES}\n` : ''}exec ${argv.map(shellWord).join(' ')}`,
  };
}

/** Finds the runner of the nearest directory above a file. Each directory is read once. */
function runnerFinder(root: string): (file: string) => Runner | undefined {
  const known = new Map<string, Runner | undefined>();
  const at = (dir: string, kind: 'python' | 'go' | 'node'): Runner | undefined => {
    const key = `${kind}\n${dir}`;
    if (known.has(key)) return known.get(key);
    const own = existsSync(dir) ? findRunner(dir, kind, root) : undefined;
    const isTop = dir === root || dir === dirname(dir);
    const runner = own ?? (isTop ? undefined : at(dirname(dir), kind));
    known.set(key, runner);
    return runner;
  };
  return (file) => {
    const kind = extname(file) === '.py' ? 'python' : extname(file) === '.go' ? 'go' : 'node';
    return at(dirname(join(root, file)), kind);
  };
}

/** The arguments, or the reason why there is nothing to run. `dir` is the runner’s, from the worktree. */
function argvFor(runner: Runner, files: readonly string[], dir: string): string[] | string {
  const { name, command } = runner;
  const inDir = dir === '' ? '' : ` in ${dir}`;
  const none = `No changed file${inDir} is a test that ${name} can run.`;
  if (name === 'go') {
    return [...command, 'test', ...new Set(files.map(goPackage))];
  }
  if (name === 'pytest') {
    const tests = new Set(files.flatMap((file) => pythonTests(runner.dir, file)));
    return (
      named(command, [...tests]) ??
      `No test${inDir} is named after a changed file; the checks that follow cover it.`
    );
  }
  if (name === 'vitest' || name === 'jest') {
    const code = files.filter((file) => CODE.test(file));
    if (code.length === 0) return `No changed file${inDir} is code that ${name} knows.`;
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

/** The command with files whose names cannot be read as options. */
function named(command: readonly string[], files: readonly string[]): string[] | undefined {
  return files.length > 0 ? [...command, ...files.map((file) => `./${file}`)] : undefined;
}

/** Test data belongs to the package above it. */
function goPackage(file: string): string {
  const dir = dirname(file).replace(/(^|\/)testdata(\/.*)?$/, '');
  return dir === '' || dir === '.' ? '.' : `./${dir}`;
}

/** The tests that are related to what changed since the base; null: since the branch left the base. */
export async function relatedTests(
  workspaces: Workspaces,
  cwd: string,
  base: string | null,
): Promise<RelatedPlan> {
  const changed = await orError(WorkspaceError, () => workspaces.changedFiles(cwd, base));
  return changed instanceof WorkspaceError
    ? { checks: [], notes: [`Changed files cannot be listed: ${messageOf(changed)}`] }
    : planRelated(changed.root, changed.files);
}
