import { relative } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { ignoring, WorkspaceError } from '../../model/errors.ts';
import { branchProblem, refKey } from '../../model/ids-and-branch-names.ts';
import { WORK_PHASE } from '../../model/issue-phases.ts';
import type { Plan } from '../../model/plan.ts';
import { notMerged } from '../../model/review-verdict-and-criteria.ts';
import { type Ticket, tipOf } from '../../model/ticket.ts';
import type { Workflow } from '../../model/workflow.ts';
import type { StoreView } from '../../store/store-interface.ts';
import { whereIsWork } from '../landed/find-landed-work.ts';
import type { Candidate, DoneBefore } from './plan-issues.ts';

/** Tickets of issues, by the issue and the repository they are of; worktrees of one repository are the same one. */
export class EarlierIssues {
  readonly #engine: EngineContext;
  readonly #plans: ReadonlyMap<string, Plan>;
  readonly #tickets: Ticket[];
  readonly #commonDirs = new Map<string, Promise<string>>();

  constructor(engine: EngineContext, view: StoreView = engine.store.view()) {
    this.#engine = engine;
    this.#plans = new Map(view.plans.map((plan) => [plan.id, plan]));
    // As they ended, one after the other.
    this.#tickets = [...view.tickets.values()]
      .filter((ticket) => ticket.planId && sourceKey(ticket))
      .sort(bySince);
  }

  planOf(ticket: Ticket): Plan | undefined {
    return this.#plans.get(ticket.planId);
  }

  repoOf(ticket: Ticket): string | undefined {
    return ticket.repo ?? this.planOf(ticket)?.repo ?? undefined;
  }

  /** Those of one issue in one repository, oldest first. */
  async of(key: string, repo: string): Promise<Ticket[]> {
    const found: Ticket[] = [];
    for (const ticket of this.#tickets) {
      const own = this.repoOf(ticket);
      if (own === undefined || keyInRepository(own, sourceKey(ticket) ?? '') !== keyInRepository(repo, key))
        continue;
      if (own === repo || (await this.#commonDir(own)) === (await this.#commonDir(repo))) found.push(ticket);
    }
    return found;
  }

  /** Tickets of an issue that is only mentioned, in any repository; for files, in this one and by id alone. */
  async mentioned(key: string, repo: string): Promise<Ticket[]> {
    const [, id] = /^markdown:([^/]+)$/.exec(key) ?? [];
    if (!key.startsWith('markdown:')) return this.#tickets.filter((ticket) => sourceKey(ticket) === key);
    const keys = this.#tickets.flatMap((ticket) => {
      const own = sourceKey(ticket) ?? '';
      return own === key || (ticket.ticketId === id && own.startsWith('markdown:')) ? [own] : [];
    });
    return (await Promise.all([...new Set(keys)].map((each) => this.of(each, repo)))).flat();
  }

  /** The latest existing branch of these tickets: an issue keeps it when its title changes. */
  async branchOf(tickets: readonly Ticket[]): Promise<string | undefined> {
    for (const ticket of [...tickets].reverse()) {
      const repo = this.repoOf(ticket);
      const { branch } = ticket;
      if (branch === null || repo === undefined || branchProblem(branch) !== undefined) continue;
      // The checkout of that run may be gone.
      const tip = await ignoring(WorkspaceError, () => this.#engine.workspaces.tip({ repo, branch }));
      if (tip !== undefined) return branch;
    }
    return undefined;
  }

  #commonDir(path: string): Promise<string> {
    const known = this.#commonDirs.get(path) ?? commonDirOf(this.#engine, path);
    this.#commonDirs.set(path, known);
    return known;
  }
}

function bySince({ since: a }: Ticket, { since: b }: Ticket): number {
  const [one, other] = [a ?? '', b ?? ''];
  return one < other ? -1 : one > other ? 1 : 0;
}

/** An issue's key as every checkout of the repository has it: files without an id are keyed by their path. */
function keyInRepository(repo: string, key: string): string {
  const [, path] = /^markdown:(\/.*)$/s.exec(key) ?? [];
  return path === undefined ? key : `markdown:${relative(repo, path)}`;
}

async function commonDirOf({ workspaces }: EngineContext, path: string): Promise<string> {
  return (await ignoring(WorkspaceError, () => workspaces.checkRepo(path)))?.commonDir ?? path;
}

export function sourceKey(ticket: Ticket): string | undefined {
  return ticket.source?.key;
}

/** Whether the issue was complete before this ticket's run, which only recorded it. */
export function wasAlreadyComplete(ticket: Ticket): boolean {
  return ticket.source?.already === true;
}

/** Phases that only prepare another one: once that succeeded, they are not needed. */
const PREPARES_FOR: Record<string, string> = { spec: WORK_PHASE, testgen: WORK_PHASE, smart_tests: 'checks' };

interface LeftInput {
  /** All tickets of the issue, oldest first. */
  tickets: readonly Ticket[];
  earlier: EarlierIssues;
  workflow: Workflow;
  /** Phases that are wanted now, in their order. */
  wanted: readonly string[];
  /** The issue is closed, so it waits for nothing. */
  closed: boolean;
}

/**
 * The one rule for "done before": phases that succeeded cover all that is wanted now, and their work still exists, on its
 * branch or merged. If they cover a part, the issue continues from there. Otherwise all of it is left to do.
 */
export async function leftToDo(
  engine: EngineContext,
  input: LeftInput,
): Promise<Pick<Candidate, 'done' | 'resumed'>> {
  const { tickets, workflow, wanted, closed } = input;
  const complete = tickets.filter((ticket) => ticket.status === 'complete' && !wasAlreadyComplete(ticket));
  const last = complete.at(-1);
  if (!last) return {};
  const covered = coveredBy(complete, workflow);
  const place = await placeOf(engine, input.earlier, last);
  const worked = covered.has(WORK_PHASE);
  if (place === 'gone' && !(closed && worked)) return {};
  const missing = wanted.filter((phase) => {
    const other = PREPARES_FOR[phase];
    return !covered.has(phase) && !(other && wanted.includes(other) && covered.has(other));
  });
  const [phase] = missing;
  // Merged work without a branch cannot be checked or get a pull request.
  const over = worked && (closed || place !== 'branch');
  if (phase === undefined || over) return { done: { ...doneBefore(last), merged: place !== 'branch' } };
  if (![...covered].some((each) => wanted.includes(each))) return {};
  const visits = Object.fromEntries(wanted.slice(0, wanted.indexOf(phase)).map((each) => [each, 1] as const));
  return {
    resumed: {
      phase,
      visits,
      context: last.context,
      before: complete.map(refKey),
      tip: worked ? tipOf(last) : null,
    },
  };
}

/** The finished work of an issue that is not run now, for those that depend on it. */
export async function finishedWork(
  engine: EngineContext,
  { tickets, earlier, workflow }: Pick<LeftInput, 'tickets' | 'earlier' | 'workflow'>,
): Promise<Ticket | undefined> {
  const complete = tickets.filter((ticket) => ticket.status === 'complete' && !wasAlreadyComplete(ticket));
  const last = complete.at(-1);
  if (!last || !coveredBy(complete, workflow).has(WORK_PHASE)) return undefined;
  return (await placeOf(engine, earlier, last)) === 'gone' ? undefined : last;
}

/** Phases that succeeded, unless an earlier phase has run again since. */
function coveredBy(tickets: readonly Ticket[], { phases }: Workflow): Set<string> {
  const place = new Map(phases.map(({ id }, index) => [id, index]));
  const at = (phase: string) => place.get(phase) ?? -1;
  let covered: string[] = [];
  for (const { phaseHistory } of tickets) {
    const ran = phaseHistory.flatMap(({ phase, status, output }) =>
      status === 'success' && !(phase === 'integrate' && notMerged(output)) ? [phase] : [],
    );
    const first = Math.min(...ran.map(at), Number.POSITIVE_INFINITY);
    covered = [...covered.filter((phase) => at(phase) < first), ...ran];
  }
  return new Set(covered);
}

async function placeOf(engine: EngineContext, earlier: EarlierIssues, ticket: Ticket) {
  const { branch, base } = ticket;
  const repo = earlier.repoOf(ticket);
  if (branch === null || repo === undefined) return 'gone';
  const planBase = earlier.planOf(ticket)?.base ?? null;
  return whereIsWork(engine, ticket, { repo, branch, base: planBase, recordedBase: base });
}

function doneBefore(ticket: Ticket): Omit<DoneBefore, 'merged'> {
  const { branch, context } = ticket;
  const pullRequest = typeof context.pr_url === 'string' ? context.pr_url : null;
  return { branch, pullRequest, tip: tipOf(ticket), by: refKey(ticket) };
}
