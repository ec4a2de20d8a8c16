import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Action } from '../../engine/context.ts';
import { runShown } from '../../machine/run.ts';
import { EXIT } from '../../model/actions.ts';
import { InputError, messageOf } from '../../model/errors.ts';
import { scriptRunner } from '../../workspaces/setup/install.ts';
import { type Check, makeRun, wholeRuns } from './whole-runs.ts';

/** Printed where there is nothing to run. */
export const NO_CHECKS = 'No checks are configured and the project has none of its own.';

/** Runs the project's checks as one job of its own commands. */
export const checksAction: Action = async ({ parts, place }) => {
  const checks = await checksOf(parts.settings.checks, place.worktree);
  return checks.length === 0 ? { exit: EXIT.done, out: NO_CHECKS } : { job: checkJob(checks) };
};

/**
 * What must pass: as configured, else the project's own scripts of these names and every test of the runners that it
 * has besides.
 */
export async function checksOf(configured: readonly string[] | null, worktree: string): Promise<Check[]> {
  if (configured) return configured.map(plainly);
  const found = [...packageScripts(worktree).map(plainly), ...(await wholeRuns(worktree))];
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
      hint: 'Put it right, or say in the setting checks what has to pass.',
    });
  }
}

/**
 * Runs commands in order and stops at the first that fails. Its arguments: `report` or nothing, lines to print first, and for
 * each command what `wordsOf` gives. With `report` it prints no verdict, but the exit code of each command to descriptor 3.
 */
const LOOP = `
report=$1; [ -z "$2" ] || printf '%s\\n' "$2"; shift 2
passed=0
while [ $# -gt 0 ]; do
  printf '$ %s\\n' "$1"
  if [ -n "$4" ] && ! (cd "$2" && exec /bin/sh -c "$4") >/dev/null 2>&1 3>&-; then
    code=skipped; printf '%s\\n' "$5"
  else
    (cd "$2" && exec /bin/sh -c "$6") 3>&-
    code=$?
    case " $3 " in *" $code "*) code=0; passed=$((passed + 1)) ;; esac
  fi
  [ -z "$report" ] || printf '%s\\n' "$code" >&3
  case $code in
    0 | skipped) ;;
    *) [ -n "$report" ] || printf '✗ %s exited with code %s\\n' "$1" "$code" >&2; exit 1 ;;
  esac
  shift 6
done
[ -n "$report" ] || [ $passed -eq 0 ] || printf '✓ %s passed\\n' "$passed"
`;

/** The command of one job that runs checks, after these notes. */
export function checkJob(checks: readonly Check[], notes: readonly string[] = [], report = ''): string[] {
  return ['/bin/sh', '-c', LOOP, 'checks', report, notes.join('\n'), ...checks.flatMap(wordsOf)];
}

function wordsOf({ command, script, cwd = '.', ok = [0], needs }: Check): string[] {
  return [command, cwd, ok.join(' '), needs?.script ?? '', needs?.note ?? '', script];
}

interface CheckResult {
  command: string;
  code: number | null;
}

interface CheckRun {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Descriptors that the output goes to. */
  stdout: number | 'ignore';
  stderr: number | 'ignore';
  notes?: readonly string[];
}

/** Runs the job for a person; resolves with its exit code. */
export async function runChecks(checks: readonly Check[], run: CheckRun): Promise<number> {
  const [file = '', ...args] = checkJob(checks, run.notes);
  return (await runShown(file, args, run)).code ?? 1;
}

/** The same for a program: what became of each command, and notes about those that could not be run. */
export async function reportChecks(
  checks: readonly Check[],
  run: CheckRun,
): Promise<{ results: CheckResult[]; notes: string[] }> {
  const [file = '', ...args] = checkJob(checks, [], 'report');
  const { report } = await runShown(file, args, { ...run, report: true });
  const results: CheckResult[] = [];
  const notes = [...(run.notes ?? [])];
  for (const [index, code] of report.split('\n').slice(0, -1).entries()) {
    const { command = '', needs } = checks[index] ?? {};
    if (code === 'skipped') notes.push(needs?.note ?? '');
    else results.push({ command, code: Number(code) });
  }
  return { results, notes };
}
