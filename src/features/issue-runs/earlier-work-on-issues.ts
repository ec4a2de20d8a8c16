import { relative } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { idOfFile } from '../../issues/markdown-issues.ts';
import { ignoring, WorkspaceError } from '../../model/errors.ts';
import { branchProblem, refKey, slug, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { WORK_PHASE } from '../../model/issue-phases.ts';
import type { Plan } from '../../model/plan.ts';
import { planOf } from '../../model/plans/plans-view.ts';
import { type Ticket, tipOf } from '../../model/ticket.ts';
import { notMerged } from '../../model/verdict-criteria-and-missing-checks.ts';
import type { Workflow } from '../../model/workflow.ts';
import type { CheckScope, StoreView } from '../../store/store-interface.ts';
import { whereIsWork } from '../landed/find-landed-work.ts';
import type { Candidate, DoneBefore } from './plan-issues.ts';

/** Tickets of issues, by the issue and the repository they are of; worktrees of one repository are the same one. */
export class EarlierIssues {
  readonly #engine: EngineContext;
  readonly #view: StoreView;
  readonly #commonDirs = new Map<string, Promise<string>>();

  /** `check`: how thoroughly changes of other processes are searched for. */
  constructor(engine: EngineContext, check: CheckScope = 'noticed') {
    this.#engine = engine;
    engine.store.changes(undefined, check);
    this.#view = engine.store.glance();
  }

  planOf(ticket: Ticket): Plan | undefined {
    return planOf(this.#view, ticket.planId);
  }

  /** Tickets of open plans, and those of finished plans that may be of the issue. */
  #candidates(key: string): Ticket[] {
    const { tickets, finished } = this.#view;
    const ofFinished = (finished?.named(idEndings(key)) ?? []).flatMap((ref) => finished?.ticket(ref) ?? []);
    return [...tickets.values(), ...ofFinished];
  }

  /** Whether a ticket has this id. */
  hasTicket(id: string): boolean {
    const { plans, finished } = this.#view;
    const isIt = ({ ticketId }: Pick<TicketRef, 'ticketId'>) => ticketId === id;
    return plans.some(({ tickets }) => tickets.some(isIt)) || (finished?.named([id]) ?? []).some(isIt);
  }

  repoOf(ticket: Ticket): string | undefined {
    return ticket.repo ?? this.planOf(ticket)?.repo ?? undefined;
  }

  /** Those of one issue in one repository, oldest first. */
  async of(key: string, repo: string): Promise<Ticket[]> {
    const found: Ticket[] = [];
    for (const ticket of this.#candidates(key)) {
      const own = this.repoOf(ticket);
      const ownKey = sourceKey(ticket);
      if (!own || !ownKey || keyInRepository(own, ownKey) !== keyInRepository(repo, key)) continue;
      if (own === repo || (await this.#commonDir(own)) === (await this.#commonDir(repo))) found.push(ticket);
    }
    return found.sort(bySince);
  }

  /** Tickets of an issue that is only mentioned, in any repository; for files, in this one and by id alone. */
  async mentioned(key: string, repo: string): Promise<Ticket[]> {
    const [, id] = /^markdown:([^/]+)$/.exec(key) ?? [];
    const candidates = this.#candidates(key);
    if (!key.startsWith('markdown:'))
      return candidates.filter((ticket) => sourceKey(ticket) === key).sort(bySince);
    const keys = candidates.flatMap((ticket) => {
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
    const find = async () =>
      (await ignoring(WorkspaceError, () => this.#engine.workspaces.checkRepo(path)))?.commonDir ?? path;
    const known = this.#commonDirs.get(path) ?? find();
    this.#commonDirs.set(path, known);
    return known;
  }
}

/**
 * How ids of an issue's tickets end: those of other repositories begin with the repository, and with its owner where that is needed.
 * See `WorkItem.id`.
 */
function idEndings(key: string): string[] {
  const [, path] = /^markdown:(\/.*)$/s.exec(key) ?? [];
  if (path !== undefined) return [idOfFile(path)];
  const end = key.replace(/^[a-z]+:(?:.*#)?/s, '');
  return [end, slug(end, 80)];
}

const bySince = (a: Ticket, b: Ticket) => (a.since ?? '').localeCompare(b.since ?? '');

/** An issue's key as every checkout of the repository has it: files without an id are keyed by their path. */
function keyInRepository(repo: string, key: string): string {
  const [, path] = /^markdown:(\/.*)$/s.exec(key) ?? [];
  return path === undefined ? key : `markdown:${relative(repo, path)}`;
}

/** Tickets that did all that was wanted of them in their run. */
export function completeOnes(tickets: readonly Ticket[]): Ticket[] {
  return tickets.filter((ticket) => ticket.status === 'complete' && !wasAlreadyComplete(ticket));
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
  const { workflow, wanted, closed } = input;
  const complete = completeOnes(input.tickets);
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
  const complete = completeOnes(tickets);
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

/** Dependencies that are not run now and were finished before: their keys with the tickets that finished them. */
export async function finishedOutside(
  engine: EngineContext,
  issues: readonly Candidate[],
  earlier: EarlierIssues,
  workflow: Workflow,
): Promise<Map<string, string>> {
  const here = new Set(issues.map(({ key }) => key));
  const finished = new Map<string, string>();
  for (const { dependsOn, place } of issues.filter(({ done }) => !done)) {
    for (const key of dependsOn.filter((each) => !here.has(each) && !finished.has(each))) {
      const tickets = await earlier.mentioned(key, place.repo);
      const ticket = await finishedWork(engine, { tickets, earlier, workflow });
      if (ticket) finished.set(key, refKey(ticket));
    }
  }
  return finished;
}
