import type { EngineContext } from '../../engine/context.ts';
import type { IssuePlace } from '../../issues/checkouts.ts';
import { sayItem, type WorkItem } from '../../issues/item.ts';
import { type Claim, sayHolder } from '../../model/claim.ts';
import { refKey } from '../../model/ids.ts';
import type { Plan } from '../../model/plan.ts';
import { isOver, isSuperseded, type Ticket } from '../../model/ticket.ts';
import type { Workflow } from '../../model/workflow.ts';
import type { DoneBefore, Resumed } from './plan.ts';
import { EarlierIssues, finishedWork, leftToDo, sourceKey } from './previous-runs.ts';
import type { IssueRunRequest, Refused } from './types.ts';

/** What is known before issues are compared with earlier runs. */
interface Facts {
  earlier: EarlierIssues;
  placeOf(item: WorkItem): IssuePlace;
  /** Phases that are wanted of an issue. */
  ahead(item: WorkItem): string[];
  workflow: Workflow;
}

interface Compared {
  wanted: WorkItem[];
  done: Map<string, DoneBefore>;
  /** Phases from which partly finished issues continue, by item key. */
  resumed: Map<string, Resumed>;
  /** Tickets of earlier runs that this one takes the place of, by item key. */
  supersedes: Map<string, string[]>;
  /** Branches that earlier runs made for issues and that are still there, by item key. */
  branches: Map<string, string>;
}

/** Compares the issues with earlier runs: done, under way elsewhere, or to be taken over. */
export async function compareIssues(
  parts: EngineContext,
  request: IssueRunRequest,
  facts: Facts & { items: readonly WorkItem[]; refused: Refused[] },
): Promise<Compared> {
  const { earlier, workflow, refused } = facts;
  const compared: Compared = {
    wanted: [],
    done: new Map(),
    resumed: new Map(),
    supersedes: new Map(),
    branches: new Map(),
  };
  for (const item of facts.items) {
    const mine = await earlier.of(item.key, facts.placeOf(item).repo);
    const [claim] = mine.flatMap((ticket) => liveClaim(parts, ticket, earlier.planOf(ticket)) ?? []);
    if (claim) {
      const { pid, host, renewedAt, by } = claim;
      const locked = { pid, hostname: host, startedAt: renewedAt, command: by };
      const who = by === 'run' ? 'another run' : by;
      const reason = `being run by ${sayHolder({ ...claim, by: who })}`;
      const hint = 'Watch it with: signalbox status';
      refused.push({ reference: sayItem(item), item, locked, reason, hint });
      continue;
    }
    const closed = item.state === 'closed';
    const asked =
      request.config.force || closed ? undefined : mine.findLast((each) => isAtGate(each, earlier));
    if (asked) {
      refused.push({ reference: sayItem(item), item, waiting: true, ...wayOnAt(asked) });
      continue;
    }
    const look = { tickets: mine, earlier, workflow, wanted: facts.ahead(item), closed };
    const left = request.config.force ? undefined : await leftToDo(parts, look);
    if (left && 'done' in left) compared.done.set(item.key, left.done);
    else if (closed && !request.config.force) {
      const hint = 'Run it all the same with --force.';
      refused.push({ reference: sayItem(item), item, reason: 'the issue is closed', hint });
      continue;
    } else if (left) compared.resumed.set(item.key, left.from);
    const over = mine.filter((ticket) => !isOver(ticket) || ticket.status === 'failed');
    compared.supersedes.set(item.key, over.map(refKey));
    const branch = await earlier.branchOf(mine);
    if (branch !== undefined) compared.branches.set(item.key, branch);
    compared.wanted.push(item);
  }
  return compared;
}

/** It waits for an answer in an earlier run, or has the answer and only needs to be resumed. */
function isAtGate(ticket: Ticket, earlier: EarlierIssues): boolean {
  const plan = earlier.planOf(ticket);
  if (plan?.kind !== 'run' || (plan.status !== 'active' && plan.status !== 'paused')) return false;
  if (ticket.status === 'needs_attention') return ticket.hold?.kind === 'gate';
  return ticket.status === 'ready' && ticket.phaseHistory.at(-1)?.outcome === 'approve';
}

function wayOnAt({ planId, ticketId, status }: Ticket): Pick<Refused, 'reason' | 'hint'> {
  const resume = `signalbox resume ${planId}`;
  return status === 'ready'
    ? { reason: `was approved in ${planId}, which has not gone on since`, hint: resume }
    : {
        reason: `waits for approval in ${planId}`,
        hint: `signalbox respond ${planId} ${ticketId} approve && ${resume}`,
      };
}

/** What items depend on, is not run now and was finished before: the keys with the tickets that finished it. */
export async function finishedOutside(
  parts: EngineContext,
  items: readonly WorkItem[],
  { earlier, placeOf, workflow, done }: Facts & { done: ReadonlyMap<string, DoneBefore> },
): Promise<Map<string, string>> {
  const here = new Set(items.map(({ key }) => key));
  const finished = new Map<string, string>();
  for (const item of items.filter(({ key }) => !done.has(key))) {
    for (const key of item.dependsOn.filter((each) => !here.has(each) && !finished.has(each))) {
      const tickets = await earlier.mentioned(key, placeOf(item).repo);
      const ticket = await finishedWork(parts, { tickets, earlier, workflow });
      if (ticket) finished.set(key, refKey(ticket));
    }
  }
  return finished;
}

/** Whether another engine has taken one of these issues since they were compared. */
export async function isTaken(
  parts: EngineContext,
  plan: Plan,
  tickets: readonly Ticket[],
): Promise<boolean> {
  const earlier = new EarlierIssues(parts);
  for (const ticket of tickets) {
    const mine = await earlier.of(sourceKey(ticket) ?? '', ticket.repo ?? plan.repo ?? '');
    if (mine.some((each) => liveClaim(parts, each, earlier.planOf(each)) !== undefined)) return true;
  }
  return false;
}

/** Who is at work on a ticket, or holds the run in which it is still to come. */
function liveClaim({ holder }: EngineContext, ticket: Ticket, plan: Plan | undefined): Claim | undefined {
  const claims = [ticket.claim, isOver(ticket) || isSuperseded(ticket) ? null : (plan?.claim ?? null)];
  return claims.find((claim): claim is Claim => claim !== null && holder.isLive(claim));
}
