import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { parseTasks } from '../../kiro/parse-tasks.ts';
import { isWork, type SpecTask } from '../../kiro/task-and-problem-types.ts';
import { identityOf, withTicks } from '../../kiro/tick-and-merge-tasks.ts';
import { countUnpriced, totalUsage } from '../../model/limits/usage-cost-and-estimate.ts';
import type { Plan } from '../../model/plan.ts';
import { isOverload } from '../../model/state/attempt-end-types-and-waits.ts';
import { lastInTree } from '../../model/state/turns-in-shared-workspace-start-limit-and-pauses.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { isMarkedBlocked, openTasksOf, type Ticket } from '../../model/ticket.ts';
import { tickedUnchecked } from './checkpoints-without-checks.ts';
import {
  engineTicks,
  haltedTicket,
  haltReason,
  updateSpecPlan,
  WORK_PHASES,
} from './run-request-ticks-and-halt.ts';

export type SpecResult = Awaited<ReturnType<typeof specResult>>;

/** The result of a run of a spec. */
export async function specResult(
  engine: EngineContext,
  planId: string,
  { since, ms }: { since: string; ms: number },
) {
  const plan = engine.store.plan(planId);
  const tickets = engine.store.tickets(plan);
  const during = tickets.flatMap(({ phaseHistory }) =>
    phaseHistory.filter(({ startedAt }) => Date.parse(startedAt) >= Date.parse(since)),
  );
  const halted = haltedTicket(tickets);
  const of = (status: Ticket['status']) => tickets.filter((ticket) => ticket.status === status);
  const complete = of('complete');
  const before = complete.filter((ticket) => Date.parse(ticket.since ?? since) < Date.parse(since));
  const blocked = tickets.filter(isMarkedBlocked);
  const stuck = of('needs_attention').filter((ticket) => ticket.hold?.kind !== 'gate');
  const failed = [...of('failed'), ...stuck.filter((ticket) => !blocked.includes(ticket))];
  const open = tickets.map((ticket) => openTasksOf(ticket).length);
  const counts = {
    units: tickets.length,
    complete: complete.length,
    /** Complete before the run. */
    before: before.length,
    failed: failed.length,
    halted: halted ? 1 : 0,
    /** A person has to act first: `_Blocked: reason_`. */
    blocked: blocked.length,
    /** Neither complete nor failed nor halted nor blocked. */
    left: tickets.length - complete.length - failed.length - blocked.length - (halted ? 1 : 0),
    /** Of the complete ones, those with required boxes that are open. */
    partly: open.filter((count) => count > 0).length,
    /** The number of these boxes. */
    openBoxes: open.reduce((sum, count) => sum + count, 0),
    /** Open units that the run was not asked for. */
    unselected: plan.spec?.unselected ?? 0,
    attempts: during.filter(
      (entry) => WORK_PHASES.includes(entry.phase) && entry.status !== 'limit' && !isOverload(entry),
    ).length,
  };
  const paused = of('paused').length > 0;
  const limited = tickets.some((ticket) => ticket.hold?.kind === 'starts');
  const isComplete = counts.complete === counts.units;
  const stopped = halted !== undefined || failed.length > 0 || paused || !limited;
  return {
    plan,
    tickets,
    /** 0: all complete; 1: the limit of units was reached; 2: a person is needed. */
    exitCode: (isComplete ? 0 : stopped ? 2 : 1) as 0 | 1 | 2,
    counts,
    halted: halted ? { ticketId: halted.ticketId, reason: haltReason(halted) } : null,
    /** Checkpoints that were ticked although there was nothing to run for them. */
    unchecked: tickedUnchecked(tickets, since),
    ...(await workOf(engine, plan, tickets, isComplete)),
    /** Tasks that were added, changed or opened in the user's list since the run began: id and title. */
    added: addedTasks(plan, tickets),
    /** Why the user's list, as edited since the run began, could not be run; null if it could. */
    refused: editRefused(plan),
    usage: totalUsage(during.map(({ usage }) => usage)),
    /** How many attempts of this run have an unknown cost. */
    unpriced: countUnpriced(during),
    ms,
  };
}

interface Work {
  /** `git diff --stat` of the branch against where it began. */
  changes: string;
  /** The branch was deleted, for example after a merge. */
  branchGone: boolean;
  /** The worktree with the work, or the checkout; null when it was released. */
  path: string | null;
  /** The command that merges the branch; null while units are open, with nothing to merge, and in a checkout. */
  merge: string | null;
}

/** Where the work is, what it changes and how to merge it. */
async function workOf(
  engine: EngineContext,
  plan: Plan,
  tickets: readonly Ticket[],
  isComplete: boolean,
): Promise<Work> {
  const { settings, store, workspaces } = engine;
  const base = plan.spec?.base;
  const ticket = lastInTree(store.view(plan.id), plan) ?? tickets[0];
  const none = { changes: '', branchGone: false, path: null, merge: null };
  if (!ticket) return none;
  const spec = workspaceFor(ticket, plan, settings, store.glance());
  const { repo, branch } = spec;
  const git = `git -C ${shellWord(repo)}`;
  const handed = await engine.handOver?.ofOtherMachine(plan, { engine, ticket, workspace: spec });
  if (handed !== undefined) {
    const merge = `${git} fetch origin refs/signalbox/${plan.id}/@tree && ${git} merge FETCH_HEAD`;
    const changes = base ? (await workspaces.diff(spec, base, 'stat', handed)).trimEnd() : '';
    return { ...none, changes, merge: isComplete ? merge : null };
  }
  const { commit, branch: current } = await workspaces.head(repo);
  const found = await workspaces.branchAhead({ repo, branch, of: commit });
  if (!found) return { ...none, branchGone: base !== undefined };
  const isNew = !spec.inPlace && found.ahead !== 0;
  const onto = plan.base && plan.base !== current ? `${git} switch ${shellWord(plan.base)} && ` : '';
  return {
    changes: base ? (await workspaces.diff(spec, base, 'stat')).trimEnd() : '',
    branchGone: false,
    path: existsSync(spec.path) ? spec.path : null,
    merge: isComplete && isNew ? `${onto}${git} merge ${shellWord(branch)}` : null,
  };
}

/** The user's task list as it is now; undefined if it is gone. */
function listNow({ spec }: Plan): string | undefined {
  const file = spec && join(spec.dir, spec.files.tasks);
  if (!file || spec.text === '' || !statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined;
  return readFileSync(file, 'utf8');
}

function editRefused(plan: Plan): string | null {
  const text = listNow(plan);
  const found = text === undefined ? [] : parseTasks(text, plan.spec?.files.tasks).problems;
  const first = found.find(({ severity }) => severity === 'error');
  return first ? `${first.file}:${first.line}: ${first.message}` : null;
}

function addedTasks(plan: Plan, tickets: readonly Ticket[]): string[] {
  const kept = plan.spec;
  const now = listNow(plan);
  if (!kept || now === undefined) return [];
  const engine = engineTicks(plan, tickets);
  const openIn = (text: string) =>
    parseTasks(withTicks(text, { engine })).all.filter(
      (task) => isWork(task) && !task.done && !task.optional,
    );
  const keyOf = (task: SpecTask) => JSON.stringify(identityOf(task));
  const known = new Set(openIn(kept.pending ?? kept.text).map(keyOf));
  const added = openIn(now).filter((task) => !known.has(keyOf(task)));
  return added.map(({ id, title, numbered }) => (numbered ? `${id} ${title}` : title));
}

/** Keeps the summary in the plan, for `status` and the progress file. A run that did nothing keeps the last one. */
export async function keepSummary(engine: EngineContext, result: SpecResult, lines: string[]): Promise<void> {
  const planId = result.plan.id;
  const ended = { at: engine.now(), lines };
  await updateSpecPlan(engine, planId, (latest) =>
    result.counts.attempts === 0 && latest.ended ? latest : { ...latest, ended },
  );
  await engine.flush(planId);
}
