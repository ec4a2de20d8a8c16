import { relative } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { WorkspaceError } from '../../model/errors.ts';
import { branchProblem } from '../../model/ids.ts';
import type { Plan } from '../../model/plan.ts';
import type { Ticket } from '../../model/ticket.ts';

/** Tickets of issues, by the issue and the repository they are of; worktrees of one repository are the same one. */
export class EarlierIssues {
  readonly #parts: EngineContext;
  readonly #plans: ReadonlyMap<string, Plan>;
  readonly #tickets: Ticket[];
  readonly #commonDirs = new Map<string, Promise<string>>();

  constructor(parts: EngineContext) {
    const view = parts.store.view();
    this.#parts = parts;
    this.#plans = new Map(view.plans.map((plan) => [plan.id, plan]));
    // As they ended, one after the other.
    this.#tickets = [...view.tickets.values()]
      .filter((ticket) => ticket.planId && sourceKey(ticket))
      .sort((a, b) => (a.since ?? '').localeCompare(b.since ?? ''));
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
      if (own === undefined || nameIn(own, sourceKey(ticket) ?? '') !== nameIn(repo, key)) continue;
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

  /** The last branch of these tickets that is still there: an issue keeps it, whatever its title becomes. */
  async branchOf(tickets: readonly Ticket[]): Promise<string | undefined> {
    for (const ticket of [...tickets].reverse()) {
      const repo = this.repoOf(ticket);
      const { branch } = ticket;
      if (branch === null || repo === undefined || branchProblem(branch) !== undefined) continue;
      if (await this.#exists(repo, branch)) return branch;
    }
    return undefined;
  }

  async #exists(repo: string, branch: string): Promise<boolean> {
    try {
      return (await this.#parts.workspaces.tip({ repo, branch })) !== undefined;
    } catch (error) {
      // The checkout that it was run in is not there any more.
      if (error instanceof WorkspaceError) return false;
      throw error;
    }
  }

  #commonDir(path: string): Promise<string> {
    const known = this.#commonDirs.get(path) ?? commonDirOf(this.#parts, path);
    this.#commonDirs.set(path, known);
    return known;
  }
}

/** An issue's key as every checkout of the repository has it: files without an id are keyed by their path. */
function nameIn(repo: string, key: string): string {
  const [, path] = /^markdown:(\/.*)$/s.exec(key) ?? [];
  return path === undefined ? key : `markdown:${relative(repo, path)}`;
}

async function commonDirOf({ workspaces }: EngineContext, path: string): Promise<string> {
  try {
    return (await workspaces.checkRepo(path)).commonDir;
  } catch (error) {
    if (error instanceof WorkspaceError) return path;
    throw error;
  }
}

export function sourceKey(ticket: Ticket): string | undefined {
  return ticket.source?.key;
}

/** It was complete before its run, which only took note of it. */
export function isNoted(ticket: Ticket): boolean {
  return ticket.source?.already === true;
}
