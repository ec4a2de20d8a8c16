import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type DoctorFinding, finding } from '../../config/doctor/check-programs.ts';
import { loadSettings } from '../../config/load-settings.ts';
import type { Settings } from '../../config/settings-table.ts';
import type { EngineContext } from '../../engine/context.ts';
import type { TicketWorkspace } from '../../engine/work-out-workspace-and-repository.ts';
import { noteFact } from '../../machine/files/write-atomic-and-note-facts.ts';
import { stopJob } from '../../machine/jobs/stop-job.ts';
import { type BaseResult, baseResults } from '../../machine/results-of-base-checks.ts';
import { explained, HeldError, SignalboxError, shortageOf, WorkspaceError } from '../../model/errors.ts';
import { digest } from '../../model/ids-and-branch-names.ts';
import { checksOf, runCheck } from '../checks/find-and-run-checks.ts';

/** Maximum number of commits whose results are kept. */
const MAX_KEPT_RESULTS = 100;
/** How long work is refused by a kept result. After that the checks run again: a missing program may be installed by now. */
const REFUSES_FOR_MS = 600_000;

interface BaseRequest {
  planId: string;
  workspace: TicketWorkspace;
  isDetached: boolean;
  signal: AbortSignal;
}

/** Runs the project's checks on the commit that work starts from, once for each commit. Red checks are a warning, or an error. */
export async function baseFindings(engine: EngineContext, request: BaseRequest): Promise<DoctorFinding[]> {
  const { workspace } = request;
  const { settings } = engine;
  const { root } = await engine.workspaces.checkRepo(workspace.repo);
  const own = await settingsAt(engine, root);
  const mode = settings.origin.baseCheck === 'default' ? own.baseCheck : settings.baseCheck;
  if (mode === 'warn' && request.isDetached) return [];
  // A checkout without checks saves the worktree.
  if (mode === 'off' || (await checksOf(own.checks, root)).length === 0) return [];
  const start = await engine.workspaces.startingPoint(workspace);
  // The project's own commands are determined by the commit.
  const key = `${start.commit} ${digest(JSON.stringify(own.checks), 12)}`;
  const since = Date.parse(engine.now()) - REFUSES_FOR_MS;
  const kept = () => {
    const known = baseResults(engine.machine)[key];
    const isUsed = mode === 'warn' || known?.failed === null || Date.parse(known?.at ?? '') >= since;
    return isUsed ? known : undefined;
  };
  const result = kept() ?? (await checkBase(engine, request, { ...start, key, kept }));
  if (!result?.failed) return [];
  const { ref, commit } = start;
  const detail = `the checks of ${ref} (${commit.slice(0, 7)}) fail before any work: ${result.failed.message}`;
  const again = mode === 'require' ? ` They ran at ${result.at} and run again ten minutes later.` : '';
  const fix = `Fix that first, or start anyway with --no-base-check.${again}`;
  return [finding(mode === 'require' ? 'bad' : 'warn', 'base', detail, fix)];
}

/** Settings as the phase `checks` gets them: commands of the repository's own files count only where it is trusted. */
function settingsAt({ settings, env }: EngineContext, cwd: string): Promise<Settings> {
  const { packageDir, stateDir, configFile } = settings;
  const more = { SIGNALBOX_STATE_DIR: stateDir, ...(configFile ? { SIGNALBOX_CONFIG: configFile } : {}) };
  return loadSettings({ cwd, env: { ...env, ...more }, packageDir });
}

interface BaseToCheck {
  ref: string;
  commit: string;
  key: string;
  /** The result that another process has kept meanwhile. */
  kept(): BaseResult | undefined;
}

/** Null: nothing is known, because it was stopped or the worktree could not be prepared. */
async function checkBase(
  engine: EngineContext,
  { planId, workspace, signal }: BaseRequest,
  { ref, commit, key, kept }: BaseToCheck,
): Promise<BaseResult | null> {
  const { workspaces, machine, redact } = engine;
  const { repo, worktreeRoot, hooks, install, copy, caches } = workspace;
  const spec = { worktreeRoot, hooks, install, copy, caches, signal };
  const say = (message: string) => engine.listen({ type: 'preflight', planId, message });
  try {
    return await workspaces.withBaseScratch(repo, spec, async (scratch, id) => {
      const meanwhile = kept();
      if (meanwhile) return meanwhile;
      const dir = join(machine.baseJobs, id);
      // Left by a killed engine.
      await stopJob(dir, 'stopped', 0);
      rmSync(dir, { recursive: true, force: true });
      say(`preparing ${ref} (${commit.slice(0, 7)}) to run its checks once`);
      await scratch.show(commit);
      engine.rememberSecrets();
      const { checks: configured } = await settingsAt(engine, scratch.path);
      let failed: BaseResult['failed'] = null;
      for (const check of await checksOf(configured, scratch.path)) {
        say(`$ ${check.command}`);
        const verdict = signal.aborted
          ? null
          : await runCheck(engine, check, { dir, cwd: scratch.path, signal });
        rmSync(dir, { recursive: true, force: true });
        if (verdict === null) return null;
        if (verdict.green) continue;
        failed = { message: redact(verdict.message), tail: redact(verdict.tail) };
        break;
      }
      const result = { ref, commit, at: engine.now(), failed };
      noteFact(machine.baseChecks, key, result, MAX_KEPT_RESULTS);
      return result;
    });
  } catch (error) {
    const shortage = shortageOf(error);
    if (!(error instanceof WorkspaceError || error instanceof HeldError || shortage)) throw error;
    const why = error instanceof SignalboxError ? explained(error) : shortage;
    if (!signal.aborted) say(`the checks of ${ref} cannot be run: ${why}`);
    return null;
  }
}
