import { pinWorkflow, resolveWorkflow } from '../content/index.ts';
import { sayHolder } from '../model/claim.ts';
import { InputError, messageOf } from '../model/errors.ts';
import { refKey } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import { isOver, type Ticket } from '../model/ticket.ts';
import { specialise, type Wishes } from '../model/variant.ts';
import { settle } from '../model/walk.ts';
import { fetchItems, referenceFromKey, type WorkItem } from '../sources/index.ts';
import { tellStatus } from './drive.ts';
import { workspaceSpec } from './facts.ts';
import { planIssues, type RunMode, sayItem } from './issue-plan.ts';
import { emit, type Parts } from './parts.ts';

export interface IssueRunRequest {
  cwd: string;
  references: readonly string[];
  /** References by group. */
  batches: readonly (readonly string[])[] | null;
  /** Items that are known already: nothing is fetched for these. */
  known?: readonly WorkItem[];
  mode: RunMode;
  concurrency: number;
  workflow: string;
  /** How this item's workflow differs from the file. */
  wishes(item: WorkItem): Wishes;
  agent: string | null;
  base: string | null;
  force: boolean;
  skipPhases(item: WorkItem): string[];
  options: Record<string, unknown>;
  signal?: AbortSignal;
}

/** Why an issue is not run, though it was asked for. */
export interface Refused {
  reference: string;
  item: WorkItem | null;
  reason: string;
  hint?: string | undefined;
  /** Who has it, when another engine does. */
  locked?: { pid: number; hostname: string; startedAt: string; command: string };
}

export interface PreparedRun {
  plan: Plan;
  tickets: Ticket[];
  items: WorkItem[];
  refused: Refused[];
  /** Every variant of the workflow that a ticket uses. */
  workflows: { hash: string; text: string }[];
}

/** Everything that can be found out before anything is changed. */
export async function prepareIssueRun(parts: Parts, request: IssueRunRequest): Promise<PreparedRun> {
  const { settings, store } = parts;
  const { items, refused } = await collect(parts, request);
  const { root } = await parts.workspaces.checkRepo(request.cwd);
  const view = store.view();
  const earlier = [...view.tickets.values()].filter((ticket) => ticket.planId && sourceKey(ticket));
  const done = new Map<string, { branch: string | null }>();
  const supersedes = new Map<string, string[]>();
  const wanted: WorkItem[] = [];
  for (const item of items) {
    const mine = earlier.filter(
      (ticket) => sourceKey(ticket) === item.key && sameRepo(ticket, view.plans, root),
    );
    const busy = mine.find((ticket) => ticket.claim && parts.holder.isLive(ticket.claim));
    if (busy?.claim) {
      const { pid, host, renewedAt, by } = busy.claim;
      const locked = { pid, hostname: host, startedAt: renewedAt, command: by };
      refused.push({
        reference: sayItem(item),
        item,
        locked,
        reason: `being run by ${sayHolder(busy.claim)}`,
      });
      continue;
    }
    const complete = mine.findLast((ticket) => ticket.status === 'complete');
    if (complete && !request.force) done.set(item.key, { branch: complete.branch });
    else if (item.state === 'closed' && !request.force) {
      refused.push({
        reference: sayItem(item),
        item,
        reason: 'the issue is closed',
        hint: 'Run it all the same with --force.',
      });
      continue;
    }
    supersedes.set(
      item.key,
      mine.filter((ticket) => !isOver(ticket) || ticket.status === 'failed').map(refKey),
    );
    wanted.push(item);
  }
  const runnable = request.force ? wanted : await withDependencies(parts, request, wanted, done, refused);
  const resolved = await resolveWorkflow(request.workflow, settings.searchPath);
  const { prompts, scripts } = resolved;
  const variants = new Map(
    runnable.map((item) => {
      const workflow = specialise(resolved.workflow, request.wishes(item));
      return [item.key, pinWorkflow({ workflow, prompts, scripts })];
    }),
  );
  const now = parts.now();
  const byReference = new Map(
    items.flatMap((item) => [item.key, item.id, sayItem(item)].map((name) => [name, item.key])),
  );
  const { plan, tickets } = planIssues({
    planId: runId(now, parts.holder.token),
    items: runnable,
    done,
    mode: request.mode,
    batches:
      request.batches?.map((group) =>
        group.flatMap((name) => byReference.get(name.replace(/^#/, '')) ?? byReference.get(name) ?? []),
      ) ?? null,
    repo: root,
    base: request.base,
    concurrency: request.concurrency,
    agent: request.agent,
    workflow: request.workflow,
    workflowHash: (item) => variants.get(item.key)?.hash ?? '',
    skipPhases: request.skipPhases,
    supersedes: (item) => supersedes.get(item.key) ?? [],
    now,
    createdBy: 'run',
    options: request.options,
  });
  return { plan, tickets, items: runnable, refused, workflows: [...variants.values()] };
}

async function collect(
  parts: Parts,
  request: IssueRunRequest,
): Promise<{ items: WorkItem[]; refused: Refused[] }> {
  const known = request.known ?? [];
  const open = request.references.filter((text) => !known.some((item) => item.id === text.replace(/^#/, '')));
  const options = {
    cwd: request.cwd,
    env: parts.env,
    gh: parts.settings.ghCommand,
    ...(request.signal ? { signal: request.signal } : {}),
  };
  const fetched = open.length > 0 ? await fetchItems(open, options) : { items: [], problems: [] };
  const refused = fetched.problems.map(({ reference, message, hint }) => ({
    reference,
    item: null,
    reason: message,
    hint,
  }));
  const bad = fetched.problems.find((problem) => problem.code === 'source/reference');
  const strict = request.mode !== 'parallel' || fetched.items.length + known.length === 0;
  if (bad || (strict && refused.length > 0)) {
    const [first] = bad ? [{ reason: bad.message, hint: bad.hint }] : refused;
    throw new InputError('run/reference', first?.reason ?? 'Nothing to run.', {
      hint: first?.hint,
      details: { refused },
    });
  }
  return { items: [...known, ...fetched.items], refused };
}

/** An issue that depends on one which is open and not part of this run cannot start from its work. */
async function withDependencies(
  parts: Parts,
  request: IssueRunRequest,
  items: readonly WorkItem[],
  done: ReadonlyMap<string, unknown>,
  refused: Refused[],
): Promise<WorkItem[]> {
  const here = new Set(items.map((item) => item.key));
  const outside = [
    ...new Set(items.filter((item) => !done.has(item.key)).flatMap((item) => item.dependsOn)),
  ].filter((key) => !here.has(key));
  const references = outside.flatMap((key) => referenceFromKey(key) ?? []);
  const options = { cwd: request.cwd, env: parts.env, gh: parts.settings.ghCommand };
  const found = references.length > 0 ? await fetchItems(references, options) : { items: [], problems: [] };
  const closed = new Set(found.items.filter((item) => item.state === 'closed').map((item) => item.key));
  const good: WorkItem[] = [];
  for (const item of items) {
    const open = done.has(item.key) ? [] : item.dependsOn.filter((key) => !here.has(key) && !closed.has(key));
    if (open.length === 0) good.push(item);
    else {
      const names = open.map((key) => key.replace(/^.*#/, '#')).join(', ');
      const hint = `Run ${names} too, or use --force.`;
      refused.push({
        reference: sayItem(item),
        item,
        reason: `depends on ${names}, which is not closed and not part of this run`,
        hint,
      });
    }
  }
  return good;
}

/** Writes the plan, takes over from earlier runs, and makes the workspaces of everything that can start. */
export async function startIssueRun(parts: Parts, prepared: PreparedRun): Promise<void> {
  const { store } = parts;
  for (const { hash, text } of prepared.workflows) store.pin(hash, text);
  await store.create(prepared.plan, prepared.tickets);
  emit(parts, { type: 'plan:status', planId: prepared.plan.id, status: 'active' });
  for (const ticket of prepared.tickets) await supersede(parts, ticket);
  const first = prepared.plan.tickets.filter((entry) => entry.blockedBy.length === 0 && entry.group === 0);
  const groups = prepared.plan.concurrency === 1 ? first.slice(0, 1) : first;
  await Promise.all(groups.map((entry) => makeWorkspace(parts, prepared.plan, entry.ticketId)));
}

async function supersede(parts: Parts, ticket: Ticket): Promise<void> {
  for (const key of (ticket.supersedes as string[] | undefined) ?? []) {
    const [planId = '', ticketId = ''] = key.split('/');
    const reason = `superseded by ${ticket.planId}`;
    await parts.store.updateTicket({ planId, ticketId }, (old) =>
      isOver(old)
        ? old
        : settle(old, parts.now(), { status: 'paused', hold: { kind: 'stopped', reason, until: null } }),
    );
  }
}

/** One that cannot be made fails its own issue, at its first phase, with the reason. */
async function makeWorkspace(parts: Parts, plan: Plan, ticketId: string): Promise<void> {
  const ticket = parts.store.ticket({ planId: plan.id, ticketId });
  if (ticket.status === 'complete') return;
  const spec = workspaceSpec(ticket, plan, parts.settings, parts.store.view());
  try {
    const made = await parts.workspaces.ensure(spec);
    const after = await parts.store.updateTicket(ticket, (latest) => ({
      ...latest,
      base: made.base,
      branch: spec.branch,
      worktree: spec.path,
    }));
    tellStatus(parts, ticket, after);
    emit(parts, {
      type: 'workspace:ready',
      planId: plan.id,
      ticketId,
      path: spec.path,
      branch: spec.branch,
      reused: made.reused,
    });
  } catch (error) {
    parts.listen({ type: 'problem', planId: plan.id, ticketId, message: messageOf(error), path: spec.path });
  }
}

function sourceKey(ticket: Ticket): string | undefined {
  return (ticket.source as { key?: string } | undefined)?.key;
}

function sameRepo(ticket: Ticket, plans: readonly Plan[], root: string): boolean {
  return plans.find((plan) => plan.id === ticket.planId)?.repo === root;
}

/** Sorts by time, and two runs of one second differ. */
function runId(now: string, token: string): string {
  return `run-${now.slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}-${token.slice(0, 4)}`;
}
