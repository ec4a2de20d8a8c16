import { existsSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Action, EngineContext } from '../../engine/context.ts';
import { fullDisk } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { followJob } from '../../machine/jobs/follow-job.ts';
import { startJob } from '../../machine/jobs/start-and-read-job.ts';
import { runShown, type ShownOptions } from '../../machine/run-process.ts';
import { EXIT } from '../../model/actions.ts';
import { InputError, messageOf, WorkspaceError } from '../../model/errors.ts';
import { shellQuote } from '../../model/text/quote-values-for-shell.ts';
import {
  NO_CHECKS,
  NO_CHECKS_RAN,
  NO_RELATED_TESTS_RAN,
} from '../../model/verdict-criteria-and-missing-checks.ts';
import { scriptRunner } from '../../workspaces/setup/install-packages.ts';
import { findRunner } from './find-test-runner.ts';

/** Runs the project's checks as one job of its own commands. */
export const checksAction: Action = async ({ engine, place }) => {
  const checks = await checksOf(engine.settings.checks, place.worktree);
  return checks.length === 0 ? { exit: EXIT.done, out: NO_CHECKS } : { job: checkJob(checks) };
};

/**
 * What must pass: as configured, else the project's own scripts of these names and every test of the runners that it
 * has besides.
 */
export async function checksOf(configured: readonly string[] | null, worktree: string): Promise<Check[]> {
  if (configured) return configured.map(plainly);
  const found = [
    ...packageScripts(worktree).map(plainly),
    ...(await pytestRuns(worktree, worktree)),
    ...(await goRuns(worktree)),
    ...(await cargoRuns(worktree, worktree)),
  ];
  return found.length > 0 || existsSync(join(worktree, 'package.json')) ? found : makeRun(worktree);
}

function plainly(command: string): Check {
  return { command, script: command };
}

function packageScripts(worktree: string): string[] {
  const file = join(worktree, 'package.json');
  if (!existsSync(file)) return [];
  const { scripts = {} } = readPackage(file);
  const wanted = ['lint', 'typecheck', 'type-check', 'test', 'build'].filter((name) => scripts[name]);
  return wanted.map((name) => `${scriptRunner(worktree)} run ${name}`);
}

function readPackage(file: string): { scripts?: Record<string, string> } {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> };
  } catch (error) {
    throw new InputError('checks/package', `${file} cannot be read: ${messageOf(error)}`, {
      hint: 'Fix it, or name the checks in the setting checks.',
    });
  }
}

/**
 * Runs commands in order and stops at the first that fails. Its arguments: `report` or nothing, lines to print first, the last
 * line where nothing was run, and for each command what `wordsOf` gives. With `report` it prints no verdict, but the exit code
 * of each command to descriptor 3.
 */
const CHECK_SCRIPT = `
report=$1; [ -z "$2" ] || printf '%s\\n' "$2"; none=$3; shift 3
passed=0
while [ $# -gt 0 ]; do
  printf '$ %s\\n' "$1"
  if [ -n "$4" ] && ! (cd "$2" && exec /bin/sh -c "$4") >/dev/null 2>&1 3>&-; then
    code=skipped; printf '%s\\n' "$5"
  else
    (cd "$2" && exec /bin/sh -c "$6") 3>&-
    code=$?
    case " $3 " in *" $code "*) [ $code -ne 0 ] || passed=$((passed + 1)); code=0 ;; esac
  fi
  [ -z "$report" ] || printf '%s\\n' "$code" >&3
  case $code in
    0 | skipped) ;;
    *) [ -n "$report" ] || printf '✗ %s exited with code %s\\n' "$1" "$code" >&2; exit 1 ;;
  esac
  shift 6
done
[ -z "$report" ] || exit 0
if [ $passed -eq 0 ]; then printf '%s\\n' "$none"; else printf '✓ %s passed\\n' "$passed"; fi
`;

interface JobText extends Pick<CheckRun, 'notes' | 'isRelated'> {
  /** For a program. */
  report?: boolean;
}

/** The command of one job that runs checks. */
export function checkJob(
  checks: readonly Check[],
  { notes = [], isRelated, report }: JobText = {},
): string[] {
  const none = isRelated ? NO_RELATED_TESTS_RAN : NO_CHECKS_RAN;
  const first = [report ? 'report' : '', notes.join('\n'), none];
  return ['/bin/sh', '-c', CHECK_SCRIPT, 'checks', ...first, ...checks.flatMap(wordsOf)];
}

function wordsOf({ command, script, cwd = '.', ok = [0], needs }: Check): string[] {
  return [command, cwd, ok.join(' '), needs?.script ?? '', needs?.note ?? '', script];
}

/** The result of a check. */
export type Verdict =
  | { green: true }
  | {
      green: false;
      /** What happened, in words: `npm test exited with code 1`. */
      message: string;
      /** The end of what it printed. */
      tail: string;
      /** All that it printed. */
      logFile: string;
    };

/**
 * Runs one check as a job that can be stopped; null when it was stopped, here or from outside. A failure on a full disk says nothing
 * about the project, and is thrown.
 */
export async function runCheck(
  { env, settings }: EngineContext,
  { command, script, ok = [0] }: Check,
  { dir, cwd, signal }: { dir: string; cwd: string; signal: AbortSignal },
): Promise<Verdict | null> {
  // One stream keeps the order in which a terminal would have shown the output.
  const argv = ['/bin/sh', '-c', `exec 2>&1\n${script}`];
  const { exited } = startJob({ dir, argv, cwd, env, stdin: null, stopSignal: 'SIGTERM' });
  const seconds = settings.timeouts.scriptSeconds;
  const result = await followJob({ dir, exited, wallMs: seconds * 1000, idleMs: null, signal });
  if (signal.aborted || ['lost', 'lease', 'stopped'].includes(result.reason)) return null;
  if (result.reason === 'exited' && ok.includes(result.exit.code ?? -1)) return { green: true };
  const full = fullDisk(cwd);
  if (full)
    throw new WorkspaceError('workspace/shortage', `\`${command}\` cannot be judged, since ${full}.`, {
      hint: 'Make room, then try again.',
    });
  const message =
    result.reason === 'timeout'
      ? `\`${command}\` took longer than ${seconds} s`
      : `\`${command}\` exited with code ${result.exit.code}`;
  return { green: false, message, tail: result.stdoutTail.trimEnd(), logFile: join(dir, 'stdout') };
}

interface CheckRun extends Omit<ShownOptions, 'report'> {
  /** Printed first. */
  notes?: readonly string[];
  /** These are only the tests that changes affect. */
  isRelated?: boolean | undefined;
}

/** Runs the job for a person; resolves with its exit code. */
export async function runChecks(checks: readonly Check[], run: CheckRun): Promise<number> {
  const [file = '', ...args] = checkJob(checks, run);
  return (await runShown(file, args, run)).code ?? 1;
}

/** The same for a program: what became of each command, and notes about those that could not be run. */
export async function reportChecks(checks: readonly Check[], run: CheckRun) {
  const [file = '', ...args] = checkJob(checks, { report: true });
  const { report } = await runShown(file, args, { ...run, report: true });
  const results: { command: string; code: number }[] = [];
  const notes = [...(run.notes ?? [])];
  for (const [index, code] of report.split('\n').slice(0, -1).entries()) {
    const { command = '', needs } = checks[index] ?? {};
    if (code === 'skipped') notes.push(needs?.note ?? '');
    else results.push({ command, code: Number(code) });
  }
  return { results, notes };
}

export interface Check {
  /** What a person would type. */
  command: string;
  /** What a shell runs for it. */
  script: string;
  /** Default: where the job runs. */
  cwd?: string;
  /** Exit codes that are no failure; default 0. Another one than 0 means that there was nothing to run. */
  ok?: readonly number[];
  /** A shell command; where it fails, the check is left out and the note is printed. */
  needs?: { script: string; note: string };
}

/** Projects inside a repository are rarely deeper. */
const MAX_PROJECT_DEPTH = 3;
const OTHERS =
  /^(\..*|node_modules|vendor|third_party|testdata|fixtures|examples?|dist|build|target|venv|env|site-packages)$/;

/** Options that keep pytest from writing caches into the worktree; the user's own options are kept. */
export const NO_PYTEST_CACHES =
  'export PYTHONDONTWRITEBYTECODE=1 PYTEST_ADDOPTS="-p no:cacheprovider $PYTEST_ADDOPTS"';

/** The target `test` or `check` of a Makefile, for projects without another known runner. */
function makeRun(root: string): Check[] {
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
  /** A line before the command. */
  first?: string;
  /** The exit code for no tests. */
  fine?: number;
}

function runOf({ root, dir, argv, probe, missing, first, fine }: Run): Check {
  const command = argv.join(' ');
  const at = relative(root, dir);
  const cd = at === '' ? '' : `cd ${shellQuote(`./${at}`)} && `;
  const why = `${missing ?? argv[0]} is not installed, so the tests${at ? ` of ${at}` : ''} cannot be run. Install it, or name the checks in the setting checks.`;
  const lines = [
    `${cd}{ ${probe} >/dev/null || { echo ${shellQuote(why)} >&2; exit 127; }; } || exit`,
    first ?? '',
    command,
  ];
  return {
    command: at === '' ? command : `cd ${at} && ${command}`,
    script: lines.filter(Boolean).join('\n'),
    ...(fine === undefined ? {} : { ok: [0, fine] }),
  };
}

/** Collects results from all directories below one, in order. Yields in between, because trees may be large. */
async function below(
  root: string,
  dir: string,
  find: (root: string, dir: string) => Promise<Check[]>,
): Promise<Check[]> {
  const depth = relative(root, dir).split('/').filter(Boolean).length;
  if (depth >= MAX_PROJECT_DEPTH) return [];
  const entries = (await readdir(dir, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && !OTHERS.test(entry.name))
    .map(({ name }) => join(dir, name))
    .filter((path) => !existsSync(join(path, 'pyvenv.cfg')))
    .sort();
  const found: Check[] = [];
  for (const each of entries) found.push(...(await find(root, each)));
  return found;
}
