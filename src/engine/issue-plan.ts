import { InputError } from '../model/errors.ts';
import { slug } from '../model/ids.ts';
import { Plan } from '../model/plan-schema.ts';
import { Ticket } from '../model/ticket-schema.ts';
import type { WorkItem } from '../sources/index.ts';
import { orderByDependencies } from '../sources/index.ts';

export type RunMode = 'parallel' | 'sequential' | 'chain';

export interface IssuePlanInput {
  planId: string;
  items: readonly WorkItem[];
  /** Items that need no run: their keys with the branch that has their work. */
  done: ReadonlyMap<string, { branch: string | null }>;
  mode: RunMode;
  /** Keys by group, in order; null is one group of everything. */
  batches: readonly (readonly string[])[] | null;
  repo: string;
  base: string | null;
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
  options: Record<string, unknown>;
}

/** Issues as a plan: modes are dependencies, groups and limits, nothing else. */
export function planIssues(input: IssuePlanInput): { plan: Plan; tickets: Ticket[] } {
  const { items, mode } = input;
  const { order, cycles, missing } = orderByDependencies(items);
  if (cycles[0]) {
    const names = [...cycles[0], cycles[0][0]].join(' → ');
    throw new InputError('run/cycle', `These issues wait for each other: ${names}.`, {
      hint: 'Remove one of the dependencies from the issues.',
    });
  }
  const ids = new Map(items.map((item) => [item.key, item.id]));
  const groupOf = groups(input);
  const entries = order.map((item, index) => {
    const own = item.dependsOn.flatMap((key) => ids.get(key) ?? []);
    const before = mode === 'chain' ? order[index - 1] : undefined;
    const blockedBy = [...new Set([...own, ...(before ? [before.id] : [])])];
    return { ticketId: item.id, order: index, blockedBy, group: groupOf.get(item.key) ?? 0 };
  });
  const plan = Plan.parse({
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
    run: { mode, options: input.options, missing },
  });
  return { plan, tickets: order.map((item) => ticketOf(input, item)) };
}

/** `#12` for numbered issues, the id otherwise. */
export function sayItem(item: Pick<WorkItem, 'id' | 'number'>): string {
  return item.number !== null && String(item.number) === item.id ? `#${item.number}` : item.id;
}

export function branchOfItem(item: Pick<WorkItem, 'id' | 'title'>): string {
  return `feature/${item.id}-${slug(item.title, 50)}`;
}

function ticketOf(input: IssuePlanInput, item: WorkItem): Ticket {
  const before = input.done.get(item.key);
  return Ticket.parse({
    planId: input.planId,
    ticketId: item.id,
    title: item.title,
    description: item.body,
    acceptanceCriteria: item.acceptanceCriteria,
    linearUrl: item.url,
    branch: before?.branch ?? branchOfItem(item),
    status: before ? 'complete' : 'queued',
    since: input.now,
    workflowHash: input.workflowHash(item),
    skipPhases: input.skipPhases(item),
    supersedes: input.supersedes(item),
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

function groups({ batches, items }: IssuePlanInput): Map<string, number> {
  const of = new Map<string, number>();
  batches?.forEach((keys, group) => {
    for (const key of keys) if (!of.has(key)) of.set(key, group);
  });
  // What no batch names runs last.
  for (const item of items) if (!of.has(item.key)) of.set(item.key, batches?.length ?? 0);
  return of;
}
