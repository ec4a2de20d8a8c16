import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type PullWait, type Standing, seePull, standingOf, type Watch } from '../forge/index.ts';
import { InputError } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids.ts';
import type { Ticket } from '../model/ticket.ts';
import { GhError, type GhFailure } from '../sources/index.ts';
import { writeAtomic } from '../store/atomic.ts';
import { branchOf, repoOf } from './facts.ts';
import { FEEDBACK_FILE, type ForgeWork, forgeWork, pullNumberOf } from './forge-work.ts';
import type { Parts } from './parts.ts';

export type Watching = Standing | { waiting: string };

/** Troubles that pass by themselves; a wait goes on through them. */
const PASSING = new Set<GhFailure>(['network', 'timeout', 'server', 'rate-limited']);
/** GitHub may need so long to notice a push. */
const LAG_MS = 600_000;

/** Where a ticket's pull request stands for somebody who waits. Asks GitHub at most once per interval for all who do. */
export async function watchPull(parts: Parts, ref: TicketRef, awaited: PullWait): Promise<Watching> {
  const work = await forgeWork(parts, ref);
  const { head, gh, ticket, spec, journal } = work;
  const { stateDir, forge } = parts.settings;
  const watch: Watch = { branch: spec.branch, number: pullNumberOf(ticket), owner: head.owner };
  const options = {
    stateDir,
    repository: head.repository,
    maxAgeSeconds: forge.cacheSeconds,
    reserve: forge.reserve,
    gh,
    now: () => parts.now(),
  };
  try {
    const seen = await seePull(watch, options, () => othersWaiting(parts, work));
    if ('later' in seen) return { waiting: seen.later };
    const pushes = journal.pushes();
    const last = pushes.at(-1);
    const recent = last !== undefined && Date.parse(parts.now()) - Date.parse(last.at) < LAG_MS;
    const standing = standingOf(seen.pull, awaited, {
      heads: [...(last ? [last.commit] : []), ...(await localTip(parts, work))],
      earlier: recent ? pushes.slice(0, -1).map(({ commit }) => commit) : [],
      answered: journal.answered(),
      reviewers: forge.reviewers,
    });
    if ('outcome' in standing && standing.ids.length > 0) keepFeedback(work, standing);
    return standing;
  } catch (error) {
    if (error instanceof GhError && PASSING.has(error.failure)) return { waiting: error.message };
    throw error;
  }
}

async function localTip(parts: Parts, { ticket, spec }: ForgeWork): Promise<string[]> {
  if (!ticket.base) return [];
  const { repo, branch } = spec;
  const state = await parts.workspaces.branchAhead({ repo, branch, of: ticket.base.commit });
  return state ? [state.tip] : [];
}

/** The answer to it will say that these were answered; the look itself answers nothing. */
function keepFeedback({ dir }: ForgeWork, { ids, outcome }: Standing): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeAtomic(join(dir, FEEDBACK_FILE), `${JSON.stringify({ outcome, ids })}\n`);
}

/** Everybody else who waits in the same repository, asked for along the way. */
function othersWaiting(parts: Parts, { ref, spec, head }: ForgeWork): Watch[] {
  const { tickets, plans } = parts.store.view();
  return [...tickets.values()].flatMap((other) => {
    if (refKey(other) === refKey(ref) || !waitsOutside(other)) return [];
    const plan = plans.find(({ id }) => id === other.planId);
    try {
      if (!plan || repoOf(other, plan, parts.settings) !== spec.repo) return [];
      return [{ branch: branchOf(other), number: pullNumberOf(other), owner: head.owner }];
    } catch (error) {
      // A ticket that names no repository waits nowhere.
      if (error instanceof InputError) return [];
      throw error;
    }
  });
}

/** In a poll or a gate that looks, or at one of them right now. What a person has to see to is not asked for. */
function waitsOutside(ticket: Ticket): boolean {
  if (ticket.base === null) return false;
  const { kind } = ticket.hold ?? {};
  if (kind === 'poll') return true;
  return pullNumberOf(ticket) !== null && (kind === 'gate' || ticket.status === 'running');
}
