import { sayItem, type WorkItem } from '../../issues/item.ts';
import { InputError } from '../../model/errors.ts';
import { slug } from '../../model/ids.ts';
import type { IssueRun } from '../../model/issue-run-schema.ts';
import { IssueRunPlan } from '../../model/plan-schema.ts';
import { orderByDependencies } from '../../model/plans/order.ts';
import { IssueTicket, type Ticket } from '../../model/ticket-schema.ts';
import { type Phase, phaseOf, positiveEdge, type Workflow } from '../../model/workflow.ts';

export type RunMode = 'parallel' | 'sequential' | 'chain';

/** What an earlier run has left of an issue that it completed. */
export interface DoneBefore {
  branch: string | null;
  pullRequest: string | null;
  /** The last commit of it, where it is known. */
  tip: string | null;
  /** The ticket that completed it. */
  by: string;
  /** Its work is in the base, or at least not on its branch any more. */
  merged: boolean;
}

/** The phase from which a partly finished issue continues. */
export interface Resumed {
  phase: string;
  /** Phases before, which count as entered. */
  visits: Record<string, number>;
  /** What they captured. */
  context: Ticket['context'];
  /** Their tickets, whose worktrees are taken over. */
  before: string[];
  /** The last commit of its work, where that is done and known. */
  tip: string | null;
}

interface IssuePlanInput {
  planId: string;
  items: readonly WorkItem[];
  /** Items that need no run: their keys with the branch that has their work. */
  done: ReadonlyMap<string, DoneBefore>;
  /** Items of which a part is done, by key. */
  resumed: ReadonlyMap<string, Resumed>;
  /** The branch that an item is worked on. */
  branchOf(item: WorkItem): string;
  /** Tickets of earlier runs that finished what items depend on and this run does not have, by the item's key. */
  finished: ReadonlyMap<string, string>;
  mode: RunMode;
  /** Keys by group, in order; null is one group of everything. */
  batches: readonly (readonly string[])[] | null;
  repo: string;
  /** Where an item of another repository is worked on; null for the plan's own. */
  repoOf(item: WorkItem): string | null;
  base: string | null;
  /** Installs the dependencies of worktrees; null: the lock files decide. */
  packageManager: string | null;
  concurrency: number;
  agent: string | null;
  workflow: string;
  workflowHash(item: WorkItem): string;
  /** Phases of the workflow that this item leaves out. */
  skipPhases(item: WorkItem): string[];
  /** Tickets of earlier runs that this run takes the place of, by item key. */
  supersedes(item: WorkItem): string[];
  now: string;
  createdBy: string;
  /** Kept with the plan, for `resume` and for logs. */
  run: Partial<IssueRun>;
}

/** Issues as a plan: modes are dependencies, groups and limits, nothing else. */
export function planIssues(input: IssuePlanInput): { plan: IssueRunPlan; tickets: Ticket[] } {
  const { items, mode } = input;
  const { order, cycles, missing } = orderByDependencies(items);
  if (cycles[0]) {
    const called = new Map(items.map((item) => [item.key, sayItem(item)]));
    const names = [...cycles[0], cycles[0][0] ?? ''].map((key) => called.get(key) ?? key).join(' → ');
    throw new InputError('run/cycle', `These issues wait for each other: ${names}.`, {
      hint: 'Remove one of the dependencies from the issues.',
    });
  }
  const ids = new Map(items.map((item) => [item.key, item.id]));
  const groupOf = groups(input);
  checkGroups(input, groupOf);
  const entries = order.map((item, index) => {
    const own = item.dependsOn.flatMap((key) => ids.get(key) ?? input.finished.get(key) ?? []);
    const before = mode === 'chain' ? linksBefore(order.slice(0, index), input.done) : [];
    const blockedBy = [...new Set([...own, ...before])];
    return { ticketId: item.id, order: index, blockedBy, group: groupOf.get(item.key) ?? 0 };
  });
  const plan = IssueRunPlan.parse({
    id: input.planId,
    name: order.map((item) => sayItem(item)).join(' '),
    createdAt: input.now,
    createdBy: input.createdBy,
    repo: input.repo,
    workflow: input.workflow,
    agent: input.agent,
    base: input.base,
    concurrency: mode === 'parallel' ? input.concurrency : 1,
    stopOnFailure: mode !== 'parallel',
    status: 'active',
    tickets: entries,
    kind: 'run',
    install: true,
    packageManager: input.packageManager,
    run: { ...input.run, mode, missing },
  });
  return { plan, tickets: order.map((item) => ticketOf(input, item)) };
}

/** What a link starts from: the one before, and where that is merged, the last that is not. */
function linksBefore(links: readonly WorkItem[], done: IssuePlanInput['done']): string[] {
  const last = links.at(-1);
  const open = done.get(last?.key ?? '')?.merged ? links.findLast(({ key }) => !done.get(key)?.merged) : last;
  return [last, open].flatMap((each) => (each ? [each.id] : []));
}

/** Phases that work goes through when all goes well. */
export function phasesAhead(workflow: Workflow, skipped: readonly string[]): string[] {
  const ahead = new Set<string>();
  for (
    let phase: Phase | undefined = workflow.phases[0];
    phase && phase.type !== 'terminal' && !ahead.has(phase.id);
    phase = phaseOf(workflow, positiveEdge(phase) ?? '')
  )
    ahead.add(phase.id);
  return [...ahead].filter((id) => !skipped.includes(id));
}

/** The branch of an item that no run has worked on yet. */
export function branchOfItem(item: Pick<WorkItem, 'id' | 'title'>): string {
  return `feature/${item.id}-${slug(item.title, 50)}`;
}

function ticketOf(input: IssuePlanInput, item: WorkItem): Ticket {
  const before = input.done.get(item.key);
  const part = input.resumed.get(item.key);
  return IssueTicket.parse({
    planId: input.planId,
    ticketId: item.id,
    title: item.title,
    description: item.body,
    acceptanceCriteria: item.acceptanceCriteria,
    linearUrl: item.url,
    repo: input.repoOf(item),
    branch: before?.branch ?? input.branchOf(item),
    status: before ? 'complete' : 'queued',
    context: part?.context ?? (before?.pullRequest ? { pr_url: before.pullRequest } : {}),
    ...(part ? { currentPhase: part.phase, visits: part.visits } : {}),
    ...(before?.tip ? { tip: before.tip } : {}),
    since: input.now,
    workflowHash: input.workflowHash(item),
    skipPhases: input.skipPhases(item),
    supersedes: [...input.supersedes(item), ...(part?.before ?? [])],
    source: {
      key: item.key,
      number: item.number,
      labels: item.labels,
      url: item.url,
      repository: item.repository,
      already: before !== undefined,
    },
  });
}

/** A group starts when the one before has ended: what an issue waits for must not come later. */
function checkGroups({ batches, items, done }: IssuePlanInput, groupOf: ReadonlyMap<string, number>): void {
  if (!batches) return;
  const byKey = new Map(items.map((item) => [item.key, item]));
  const say = (group: number) =>
    group < batches.length ? `in batch ${group + 1}` : 'in no batch and so runs after all of them';
  for (const item of items) {
    if (done.has(item.key)) continue;
    for (const key of item.dependsOn) {
      const before = done.has(key) ? undefined : byKey.get(key);
      const [own, other] = [groupOf.get(item.key) ?? 0, groupOf.get(key) ?? 0];
      if (!before || other <= own) continue;
      throw new InputError(
        'run/batch',
        `${sayItem(item)} is ${say(own)} and depends on ${sayItem(before)}, which is ${say(other)}.`,
        { hint: `Put ${sayItem(before)} into batch ${own + 1} or an earlier one.` },
      );
    }
  }
}

function groups({ batches, items }: IssuePlanInput): Map<string, number> {
  const of = new Map<string, number>();
  batches?.forEach((keys, group) => {
    for (const key of keys) if (!of.has(key)) of.set(key, group);
  });
  // What no batch names runs last.
  for (const item of items) if (!of.has(item.key)) of.set(item.key, batches?.length ?? 0);
  return of;
}
