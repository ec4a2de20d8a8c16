import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { repositoryOf } from '../config/find-config-and-state.ts';
import type { Settings } from '../config/settings-table.ts';
import type { EngineContext } from '../engine/context.ts';
import { requireReady, startableTickets } from '../engine/require-preflight-or-hold-plan.ts';
import { workspaceFor } from '../engine/work-out-workspace-and-repository.ts';
import { type Rotation, rotateLogs } from '../features/issue-runs/logs/read-and-rotate-logs.ts';
import { checkLogPlace, openRunLog, type RunLogWriter } from '../features/issue-runs/logs/rewrite-run-log.ts';
import { modeOf } from '../features/issue-runs/options/execution-config-and-workflow-changes.ts';
import { addedByLabels } from '../features/issue-runs/options/phases-models-and-label-rules.ts';
import type { PreparedRun } from '../features/issue-runs/plan-issues.ts';
import { prepareIssueRun } from '../features/issue-runs/prepare-issue-run.ts';
import { reportPhases } from '../features/issue-runs/progress-callbacks.ts';
import type {
  ManifestOfRun,
  MergedRunOptions,
  PlannedIssue,
  WorktreeInfo,
} from '../features/issue-runs/request-and-result-types.ts';
import { refusedResult } from '../features/issue-runs/results/issue-result.ts';
import {
  issueName,
  numberOf,
  storedRun,
} from '../features/issue-runs/results/stored-run-time-and-issue-names.ts';
import {
  isTaken,
  startIssueRun,
} from '../features/issue-runs/write-plan-supersede-earlier-and-create-workspaces.ts';
import { forecast } from '../features/preflight/find-start-problems-and-forecast.ts';
import { parseReference } from '../issues/issue-references.ts';
import { issueInFile } from '../issues/markdown-issues.ts';
import type { WorkItem } from '../issues/work-item.ts';
import type { Env } from '../machine/paths-and-user-home.ts';
import { explained, InputError } from '../model/errors.ts';
import { parseRef, refKey } from '../model/ids-and-branch-names.ts';
import { stopperOf } from '../model/plan.ts';
import type { ExecutionConfig } from '../model/plan-schema.ts';
import { entryOf, planOf, ticketOf } from '../model/plans/plans-view.ts';
import type { Ticket } from '../model/ticket.ts';
import { type Course, driveRun, type Opened } from './drive-run-and-send-events.ts';
import { openEngine } from './open-engine-with-features.ts';
import type { OrchestratorConfig } from './orchestrator-arguments.ts';

export interface RunInput {
  settings: Settings;
  cwd: string;
  env: Env;
  references: readonly string[];
  tasks?: readonly string[];
  batches: readonly (readonly string[])[] | null;
  known?: readonly WorkItem[];
  options?: MergedRunOptions;
  manifest: ManifestOfRun;
  log?: { path: string; rotation: Rotation } | null;
  /** What the caller brings along: worktrees by number, and its own log. */
  worktrees?: ReadonlyMap<number | string, WorktreeInfo>;
  writer?: RunLogWriter | null;
}

interface Given extends Pick<OrchestratorConfig, 'config' | 'signal' | 'onPhasePlan'> {
  open(input: Pick<RunInput, 'settings' | 'env'>): Opened;
}

/** From references to results: issues are read, workspaces and the plan made, and the plan is run. */
export async function runIssues(given: Given, input: RunInput): Promise<Course> {
  const { cwd } = input;
  const { config, signal } = given;
  for (const text of input.known ? [] : input.references) parseReference(text, { cwd });
  const open = given.open(input);
  open.log = input.writer ?? null;
  const { engine } = open;
  const prepared = await prepare(engine, given, input);
  if (prepared === null) {
    const reason = `stopped by ${stopperOf(signal?.reason)}`;
    const refuse = (reference: string, item: WorkItem | null = null) =>
      refusedResult({ reference, item, reason, notStarted: true });
    const issues = await Promise.all(
      input.references.map(async (text) => {
        const item = input.known?.find(({ id }) => id === text) ?? (await issueInFile(text, { cwd }));
        return refuse(text, item ?? null);
      }),
    );
    const results = [...issues, ...(input.tasks ?? []).map((text) => refuse(text))];
    return { results, logPath: null, worktreeMap: new Map(), issueInfoMap: new Map(), planId: null };
  }
  for (const item of prepared.items) open.numbers.set(item.id, item.number);
  const refused = prepared.refused.map(refusedResult);
  const issueInfoMap = new Map(
    prepared.items.map((item) => [item.number ?? item.id, { title: item.title, labels: item.labels }]),
  );
  const pinned = prepared.items.map(({ pin }) => pin);
  const nothing = { logPath: null, worktreeMap: new Map(), issueInfoMap, planId: null };
  if (config.dryRun) {
    const dryRun = preview(engine, prepared, config, input.batches !== null);
    return {
      ...nothing,
      results: refused,
      dryRun,
      forecast: await forecast(engine, {
        plan: prepared.plan,
        tickets: startableTickets(prepared.tickets),
        pinned,
        mode: modeOf(prepared.plan, config),
      }),
    };
  }
  if (prepared.tickets.length === 0) return { ...nothing, results: refused };
  const { plan } = prepared;
  const tickets = prepared.tickets.map((ticket) => inWorktree(ticket, input.worktrees));
  try {
    await requireReady(engine, {
      plan,
      tickets: startableTickets(tickets),
      pinned,
      isDetached: config.detach,
      signal,
    });
  } catch (error) {
    // The worktree of a task belongs to a run that has taken the same id meanwhile.
    if (await isTaken(engine, plan, tickets)) return runIssues(given, input);
    throw error;
  }
  // Logs belong to the main worktree: a linked one may be removed.
  const top = repositoryOf(plan.repo ?? cwd) ?? cwd;
  const file = input.log ? resolve(top, input.log.path, `${plan.id}.json`) : null;
  const spentSeconds = open.seconds();
  const run = { ...plan.run, log: file, detached: config.detach, spentSeconds };
  // Also for the daemon that continues it.
  const skipped = engine.settings.baseCheck === 'off' ? { baseCheck: false } : {};
  if (file && input.log) {
    checkLogPlace(file, top);
    open.log = openRunLog(engine, { path: file, planId: plan.id, config, refused, spentSeconds });
    for (const message of rotateLogs(file, input.log.rotation, (runId) => isUnderWay(engine, runId)))
      engine.listen({ type: 'problem', planId: plan.id, ticketId: null, path: null, message });
  }
  // Another run has claimed some of the issues meanwhile: prepare again, which refuses those.
  if (!(await startIssueRun(engine, { ...prepared, tickets, plan: { ...plan, run, ...skipped } }, signal)))
    return runIssues(given, input);
  if (given.onPhasePlan) reportPhases(prepared, given.onPhasePlan);
  return { ...(await driveRun(open, { planId: plan.id, config, signal, refused })), issueInfoMap };
}

/** Null when the signal stopped it before there was anything to stop. */
async function prepare(engine: EngineContext, given: Given, input: RunInput): Promise<PreparedRun | null> {
  const { cwd, references, tasks, batches, known, manifest } = input;
  const { config, signal } = given;
  const isStopped = () => signal?.aborted === true;
  if (isStopped()) return null;
  const packageManager = manifest.packageManager ?? null;
  const run = { config, options: input.options ?? null, batched: batches !== null, manifest };
  try {
    const prepared = await prepareIssueRun(engine, {
      cwd,
      config,
      references,
      tasks,
      batches,
      known,
      run,
      packageManager,
      signal,
    });
    return isStopped() ? null : prepared;
  } catch (error) {
    if (isStopped() && !(error instanceof InputError)) return null;
    throw error;
  }
}

/** Whether an engine runs it, or a daemon is going to. */
function isUnderWay({ store, holder }: EngineContext, runId: string): boolean {
  const [plan] = store.view(runId).plans;
  if (plan?.status !== 'active') return false;
  return storedRun(plan)?.detached === true || (plan.claim !== null && holder.isLive(plan.claim));
}

/** Deletes temporary state. Worktrees with work in them stay, and the next run of their issue uses them. */
export async function forgetRun(
  { settings, env }: Pick<RunInput, 'settings' | 'env'>,
  report: (planId: string, message: string) => void,
): Promise<void> {
  const { store, workspaces } = openEngine({ settings, env, by: 'run' });
  try {
    const view = store.view();
    for (const ticket of view.tickets.values()) {
      const plan = planOf(view, ticket.planId);
      if (!plan) continue;
      try {
        await workspaces.giveUp(workspaceFor(ticket, plan, settings, view));
      } catch (error) {
        report(plan.id, explained(error));
      }
    }
  } finally {
    rmSync(settings.stateDir, { recursive: true, force: true });
  }
}

/** A ticket in the worktree that the caller made for it, if there is one. */
function inWorktree(
  ticket: Ticket,
  worktrees: ReadonlyMap<number | string, WorktreeInfo> = new Map(),
): Ticket {
  const given = worktrees.get(numberOf(ticket) ?? 0);
  return given ? { ...ticket, worktree: given.path, branch: given.branch } : ticket;
}

/** What would be done, out of what was found out. */
function preview(
  engine: EngineContext,
  prepared: PreparedRun,
  config: ExecutionConfig,
  batched: boolean,
): PlannedIssue[] {
  const { plan } = prepared;
  const tickets = new Map(prepared.tickets.map((ticket) => [refKey(ticket), ticket]));
  const earlier = engine.store.glance();
  return prepared.tickets.map((ticket) => {
    const entry = entryOf(plan, ticket);
    const done = ticket.status === 'complete';
    const after = done ? [] : (entry?.blockedBy ?? []).map((text) => parseRef(text, plan.id));
    const spec = workspaceFor(ticket, plan, engine.settings, { plans: [plan], tickets });
    const item = prepared.items.find(({ id }) => id === ticket.ticketId);
    const note = item?.note;
    const added = done ? undefined : addedByLabels(config, item?.labels ?? []);
    return {
      issue: ticket.ticketId,
      issueNumber: item?.number ?? 0,
      title: ticket.title,
      done,
      phases: done ? [] : (item?.ahead ?? []),
      after: after.map(({ ticketId }) => ticketId),
      afterNames: after.map((ref) => {
        const before = ticketOf({ tickets }, ref) ?? ticketOf(earlier, ref);
        return before ? issueName(before) : ref.ticketId;
      }),
      batch: batched ? (entry?.group ?? 0) + 1 : null,
      branch: spec.branch,
      worktree: spec.path,
      ...(note ? { note } : {}),
      ...(added ? { added } : {}),
    };
  });
}
