import type { IssuePlace } from '../../issues/find-issue-checkouts.ts';
import { sayItem, ticketFields, type WorkItem } from '../../issues/work-item.ts';
import { InputError } from '../../model/errors.ts';
import { slug } from '../../model/ids-and-branch-names.ts';
import { IssueRunPlan } from '../../model/plan-schema.ts';
import { orderByDependencies } from '../../model/plans/dependency-order.ts';
import { IssueTicket, type Ticket } from '../../model/ticket-schema.ts';
import type { IssueRunRequest, Refused } from './request-and-result-types.ts';

/** The workflow of every issue. */
export const WORKFLOW = 'issue';

export type RunMode = 'parallel' | 'sequential' | 'chain';

/** What an earlier run has left of an issue that it completed. */
export interface DoneBefore {
  branch: string | null;
  pullRequest: string | null;
  /** The last commit of it, where it is known. */
  tip: string | null;
  /** The ticket that completed it. */
  by: string;
  /** Its work is in the base, or at least no longer on its branch. */
  merged: boolean;
}

/** The phase from which a partly finished issue continues. */
interface Resumed {
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

/** An issue that a run can have, with what earlier runs did for it. */
export interface Candidate extends WorkItem {
  place: IssuePlace;
  branch: string;
  /** Phases that it goes through when all goes well, and those of the workflow that it leaves out. */
  wanted: string[];
  skipped: string[];
  /** Those of the wanted ones that no earlier run has done. */
  ahead: string[];
  /** The variant of the workflow that it uses. */
  pin: { hash: string; text: string };
  /** Set where it needs no run. */
  done?: DoneBefore;
  /** Set where a part of it is done. */
  resumed?: Resumed;
  /** Tickets of earlier runs that this run replaces. */
  supersedes: string[];
  /** Reported when the run begins. */
  note?: string;
}

export interface PreparedRun {
  plan: IssueRunPlan;
  tickets: Ticket[];
  items: Candidate[];
  refused: Refused[];
}

export interface IssuePlanInput {
  planId: string;
  now: string;
  request: IssueRunRequest;
  mode: RunMode;
  root: string;
  issues: readonly Candidate[];
  /** Tickets of earlier runs that finished what issues depend on and this run does not have, by that issue's key. */
  finished: ReadonlyMap<string, string>;
  /** Keys by group, in order; null is one group of everything. */
  groups: readonly (readonly string[])[] | null;
}

/** Issues as a plan: modes are dependencies, groups and limits, nothing else. */
export function planIssues(input: IssuePlanInput): { plan: IssueRunPlan; tickets: Ticket[] } {
  const { issues, mode, request, root, groups, finished } = input;
  const { order, cycles, missing } = orderByDependencies(issues);
  const byKey = new Map(issues.map((issue) => [issue.key, issue]));
  if (cycles[0]) {
    const names = [...cycles[0], cycles[0][0] ?? ''].map((key) => {
      const issue = byKey.get(key);
      return issue ? sayItem(issue) : key;
    });
    throw new InputError('run/cycle', `These issues wait for each other: ${names.join(' → ')}.`, {
      hint: 'Remove one of the dependencies from the issues.',
    });
  }
  checkGroups(groups, byKey);
  const entries = order.map(({ id, key, dependsOn }, index) => {
    const own = dependsOn.flatMap((each) => byKey.get(each)?.id ?? finished.get(each) ?? []);
    const before = mode === 'chain' ? linksBefore(order.slice(0, index)) : [];
    const blockedBy = [...new Set([...own, ...before])];
    return { ticketId: id, order: index, blockedBy, group: groupOf(groups, key) };
  });
  const { agent = null, base = null, concurrency } = request.config;
  const plan = IssueRunPlan.parse({
    id: input.planId,
    name: order.map(sayItem).join(' '),
    createdAt: input.now,
    createdBy: 'run',
    repo: root,
    workflow: WORKFLOW,
    agent,
    base,
    concurrency: mode === 'parallel' ? concurrency : 1,
    stopOnFailure: mode !== 'parallel',
    status: 'active',
    tickets: entries,
    kind: 'run',
    install: true,
    packageManager: request.packageManager,
    run: { ...request.run, mode, missing },
  });
  return { plan, tickets: order.map((issue) => ticketOf(input, issue)) };
}

/** The issue that a link of a chain starts from: the one before; if that is merged, the last one that is not. */
function linksBefore(links: readonly Candidate[]): string[] {
  const last = links.at(-1);
  const open = last?.done?.merged ? links.findLast(({ done }) => !done?.merged) : last;
  return [last, open].flatMap((each) => (each ? [each.id] : []));
}

/** The branch of an item that no run has worked on yet. */
export function branchOfItem({ key, id, title }: Pick<WorkItem, 'key' | 'id' | 'title'>): string {
  // The id of a task is its title.
  return key === `task:${id}` ? `feature/${id}` : `feature/${id}-${slug(title, 50)}`;
}

function ticketOf({ planId, now, root }: IssuePlanInput, issue: Candidate): Ticket {
  const { done, resumed, place } = issue;
  const { source, ...fields } = ticketFields(issue);
  return IssueTicket.parse({
    planId,
    ...fields,
    repo: place.repo === root ? null : place.repo,
    branch: done?.branch ?? issue.branch,
    status: done ? 'complete' : 'queued',
    context: resumed?.context ?? (done?.pullRequest ? { pr_url: done.pullRequest } : {}),
    ...(resumed ? { currentPhase: resumed.phase, visits: resumed.visits } : {}),
    ...(done?.tip ? { tip: done.tip } : {}),
    since: now,
    workflowHash: issue.pin.hash,
    skipPhases: issue.skipped,
    supersedes: [...issue.supersedes, ...(resumed?.before ?? [])],
    source: { ...source, already: done !== undefined },
  });
}

/** The group of an issue, from 0. Issues that no batch names run last. */
export function groupOf(groups: IssuePlanInput['groups'], key: string): number {
  const index = groups?.findIndex((keys) => keys.includes(key)) ?? 0;
  return index < 0 ? (groups?.length ?? 0) : index;
}

/** A group starts when the one before has ended: no issue may depend on one of a later group. */
function checkGroups(groups: IssuePlanInput['groups'], byKey: ReadonlyMap<string, Candidate>): void {
  if (!groups) return;
  const say = (group: number) =>
    group < groups.length ? `in batch ${group + 1}` : 'in no batch and so runs after all of them';
  for (const item of byKey.values()) {
    for (const key of item.done ? [] : item.dependsOn) {
      const before = byKey.get(key);
      const [own, other] = [groupOf(groups, item.key), groupOf(groups, key)];
      if (!before || before.done || other <= own) continue;
      throw new InputError(
        'run/batch',
        `${sayItem(item)} is ${say(own)} and depends on ${sayItem(before)}, which is ${say(other)}.`,
        { hint: `Put ${sayItem(before)} into batch ${own + 1} or an earlier one.` },
      );
    }
  }
}
