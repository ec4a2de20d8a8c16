import { type EngineContext, emit } from '../../engine/context.ts';
import { letGo } from '../../engine/plan-transitions.ts';
import { reportStatus } from '../../engine/status-events.ts';
import { workspaceFor } from '../../engine/ticket-defaults.ts';
import { sayItem, sayReference, type WorkItem } from '../../issues/item.ts';
import { explained, InputError, WorkspaceError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { settle } from '../../model/state/walk.ts';
import { isOver, supersededHold, type Ticket } from '../../model/ticket.ts';
import { specialise } from '../../model/variant.ts';
import { pinWorkflow } from '../../workflows/pin.ts';
import { resolveWorkflow } from '../../workflows/resolve.ts';
import { checkBases } from './bases.ts';
import { openLooseLinks, stopAtRefused } from './chain.ts';
import { compareIssues, finishedOutside, isTaken } from './compare.ts';
import { batchKeys, collectItems, withDependencies } from './items.ts';
import { runMode, skippedPhases, wishesOf } from './options/execution-config.ts';
import { branchOfItem, phasesAhead, planIssues } from './plan.ts';
import { EarlierIssues } from './previous-runs.ts';
import { restSuperseded } from './resume.ts';
import type { IssueRunRequest, PreparedRun } from './types.ts';

/** The workflow of every issue. */
const WORKFLOW = 'issue';

/** Finds out everything that can be known before anything is changed. */
export async function prepareIssueRun(parts: EngineContext, request: IssueRunRequest): Promise<PreparedRun> {
  const { config } = request;
  const asked = await readIssues(parts, request);
  const { root, placeOf, ahead } = asked;
  const chosen = await chooseIssues(parts, request, asked);
  const { items, resumed, supersedes } = chosen;
  const variants = new Map(items.map((item) => [item.key, asked.pinFor(item)]));
  const now = parts.now();
  const { plan, tickets } = planIssues({
    planId: runId(now, parts.holder.token),
    items,
    done: chosen.done,
    resumed,
    branchOf: chosen.branchOf,
    finished: chosen.finished,
    mode: runMode(config),
    batches: chosen.batches,
    repo: root,
    repoOf: (item) => (placeOf(item).repo === root ? null : placeOf(item).repo),
    base: config.base ?? null,
    packageManager: request.packageManager,
    concurrency: config.concurrency,
    agent: config.agent ?? null,
    workflow: WORKFLOW,
    workflowHash: (item) => variants.get(item.key)?.hash ?? '',
    skipPhases: (item) => skippedPhases(config, item, placeOf(item)),
    supersedes: (item) => supersedes.get(item.key) ?? [],
    now,
    createdBy: 'run',
    run: request.run,
  });
  const phases = new Map(
    items.map((item) => {
      const all = ahead(item);
      const from = resumed.get(item.key)?.phase;
      return [item.id, from === undefined ? all : all.slice(all.indexOf(from))] as const;
    }),
  );
  const { refused, notes } = chosen;
  return { plan, tickets, items, refused, workflows: [...variants.values()], phases, notes };
}

type Asked = Awaited<ReturnType<typeof readIssues>>;

/** The issues that were asked for, with their repositories and workflows. */
async function readIssues(parts: EngineContext, request: IssueRunRequest) {
  const { config } = request;
  const root = await repositoryAt(parts, request.cwd);
  const { items, places, keys, refused } = await collectItems(parts, request);
  const placeOf = (item: WorkItem) => places.get(item.key) ?? { repo: root, hasRemote: false };
  const { workflow, prompts, scripts } = await resolveWorkflow(WORKFLOW, parts.settings.searchPath);
  const variants = new Map(
    items.map((item) => [item.key, specialise(workflow, wishesOf(config, item, placeOf(item)))]),
  );
  const variantOf = (item: WorkItem) => variants.get(item.key) ?? workflow;
  const ahead = (item: WorkItem) => phasesAhead(variantOf(item), skippedPhases(config, item, placeOf(item)));
  const pinFor = (item: WorkItem) => pinWorkflow({ workflow: variantOf(item), prompts, scripts });
  return { root, items, keys, refused, workflow, placeOf, ahead, pinFor };
}

/** Of these, the issues that this run has: not run elsewhere, on the right base, with their dependencies and in their order. */
async function chooseIssues(parts: EngineContext, request: IssueRunRequest, asked: Asked) {
  const { items, keys, placeOf, ahead, workflow } = asked;
  const { base = null, force } = request.config;
  const mode = runMode(request.config);
  const refused = [...asked.refused];
  const facts = { earlier: new EarlierIssues(parts), placeOf, ahead, workflow };
  const compared = await compareIssues(parts, request, { ...facts, items, refused });
  const { wanted: open, done, resumed, supersedes, branches } = compared;
  const loose =
    mode === 'chain'
      ? await openLooseLinks(parts, { items: open, done, resumed, supersedes, placeOf, ahead })
      : new Map<string, string>();
  const branchOf = (item: WorkItem) => branches.get(item.key) ?? branchOfItem(item);
  const undone = open.filter((item) => !done.has(item.key));
  const repos = [...new Set(open.map((item) => placeOf(item).repo))];
  const based = await checkBases(parts, { items: undone, repos, base, force, placeOf, branchOf });
  refused.push(...based.refused);
  const wanted = open.filter((item) => done.has(item.key) || based.items.includes(item));
  const finished = await finishedOutside(parts, wanted, { ...facts, done });
  const kept = force
    ? null
    : await withDependencies(parts, request, { items: wanted, done, finished, refused });
  refused.push(...(kept?.refused ?? []));
  const batches = request.batches && batchKeys(request.batches, keys);
  const line = stopAtRefused({ mode, items, runnable: kept?.items ?? wanted, refused, done, batches });
  refused.push(...line.refused);
  const notes = new Map([...loose, ...based.notes]);
  return { items: line.items, done, resumed, supersedes, finished, branchOf, batches, refused, notes };
}

/** Outside a repository the call is wrong, not a workspace. */
async function repositoryAt(parts: EngineContext, cwd: string): Promise<string> {
  try {
    return (await parts.workspaces.checkRepo(cwd)).root;
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const { code, message, details } = error;
    const elsewhere = code === 'workspace/not-a-repo' || code === 'workspace/repo-missing';
    const owned = error.hint?.startsWith('Git refuses');
    const hint =
      elsewhere && !owned ? 'Issues are run inside the repository that the work is for.' : error.hint;
    throw new InputError(code, message, { ...(hint ? { hint } : {}), ...(details ? { details } : {}) });
  }
}

/**
 * Writes the plan, takes over from earlier runs, and makes the workspaces of everything that can start. The plan is ours
 * from the beginning, so that a daemon leaves it alone. False, and nothing is written, when another run that began at the
 * same time has one of the issues: prepare again.
 */
export async function startIssueRun(
  parts: EngineContext,
  { plan, tickets, workflows, notes, refused }: PreparedRun,
  signal?: AbortSignal,
): Promise<boolean> {
  const { store, holder } = parts;
  for (const { hash, text } of workflows) await store.pin(hash, text);
  // Finding out who has an issue and taking it are one step among all runs of this state.
  const created = await store.alone('runs', async () => {
    if (await isTaken(parts, plan, tickets)) return false;
    await store.create({ ...plan, claim: holder.claim(parts.now()) }, tickets);
    return true;
  });
  if (!created) return false;
  try {
    emit(parts, { type: 'plan:status', planId: plan.id, status: 'active' });
    for (const [ticketId, message] of notes)
      parts.listen({ type: 'problem', planId: plan.id, ticketId, message, path: null });
    for (const { reference, item, reason } of refused) {
      const message = `${item ? sayItem(item) : sayReference(reference)} is not run: ${reason}`;
      parts.listen({ type: 'problem', planId: plan.id, ticketId: null, message, path: null });
    }
    for (const ticket of tickets) await supersede(parts, ticket);
    const first = plan.tickets.filter((entry) => entry.blockedBy.length === 0 && entry.group === 0);
    const groups = plan.concurrency === 1 ? first.slice(0, 1) : first;
    await Promise.all(groups.map((entry) => makeWorkspace(parts, plan, entry.ticketId, signal)));
  } catch (error) {
    await letGo(parts, plan.id);
    throw error;
  }
  return true;
}

async function supersede(parts: EngineContext, ticket: Ticket): Promise<void> {
  for (const key of ticket.supersedes ?? []) {
    const [planId = '', ticketId = ''] = key.split('/');
    await parts.store.updateTicket({ planId, ticketId }, (old) => {
      if (old.status === 'failed' && old.source) return { ...old, supersededBy: ticket.planId };
      if (isOver(old)) return old;
      return settle(old, parts.now(), { status: 'paused', hold: supersededHold(ticket.planId) });
    });
    await restSuperseded(parts, planId);
  }
}

/** One that cannot be made fails its own issue, at its first phase, with the reason. */
async function makeWorkspace(
  parts: EngineContext,
  plan: Plan,
  ticketId: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ticket = parts.store.ticket({ planId: plan.id, ticketId });
  if (ticket.status === 'complete') return;
  const spec = workspaceFor(ticket, plan, parts.settings, parts.store.view());
  try {
    const made = await parts.workspaces.ensure({ ...spec, ...(signal ? { signal } : {}) });
    const after = await parts.store.updateTicket(ticket, (latest) => ({
      ...latest,
      base: made.base,
      branch: spec.branch,
      worktree: spec.path,
    }));
    reportStatus(parts, ticket, after);
    emit(parts, {
      type: 'workspace:ready',
      planId: plan.id,
      ticketId,
      path: spec.path,
      branch: spec.branch,
      reused: made.reused,
    });
    for (const message of made.notes)
      emit(parts, { type: 'problem', message, path: null, planId: plan.id, ticketId });
  } catch (error) {
    if (signal?.aborted) return;
    parts.listen({ type: 'problem', planId: plan.id, ticketId, message: explained(error), path: spec.path });
  }
}

/** Sorts by time, and two runs of one second differ. */
function runId(now: string, token: string): string {
  return `run-${now.slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}-${token.slice(0, 4)}`;
}
