import type { EngineContext } from '../../engine/context.ts';
import type { PullRequest } from '../../github/pull-request.ts';
import { ignoring, SignalboxError } from '../../model/errors.ts';
import { endedMerged, type Ticket, tipOf } from '../../model/ticket.ts';
import type { BranchSpec, Whereabouts } from '../../workspaces/workspaces.ts';
import { forgeJournal, forgeWork, mergedPull, pullNumberOf } from '../pull-requests/ticket-on-github.ts';

/** The work of one branch: the tickets that did it, and the commit that it ends with. */
export interface Work extends BranchSpec {
  tickets: readonly Ticket[];
  commit: string;
}

/** Ways to find out that work is in its base, cheapest first. */
const WAYS = ['record', 'history', 'changes', 'pull-request'] as const;
type Way = (typeof WAYS)[number];

export interface Landed {
  how: Way;
  /** The base in words: `main`, `origin/main`, `main by pull request #3`. */
  where: string;
}

/** Whether work is in its base, by the given ways. */
export async function findLanded(
  engine: EngineContext,
  work: Work,
  ways: readonly Way[] = WAYS,
): Promise<Landed | null> {
  for (const how of WAYS) {
    const where = ways.includes(how) ? await ANSWERS[how](engine, work) : null;
    if (where !== null) return { how, where };
  }
  return null;
}

const ANSWERS: Record<Way, (engine: EngineContext, work: Work) => Promise<string | null>> = {
  /** A ticket's history or its forge journal has the merge of this commit. */
  record: async (engine, work) =>
    work.tickets.some((ticket) => isRecorded(engine, ticket, work.commit)) ? nameOf(work) : null,
  /** The base, here or on origin, or its integration branch has the commit. */
  history: async ({ workspaces }, work) =>
    (await workspaces.baseHas(work, work.commit)) ? nameOf(work) : null,
  /** The base has the branch's changes in other commits: squashed, rebased or picked. */
  changes: ({ workspaces }, work) => workspaces.takenIn(work),
  /** GitHub merged the pull request of a ticket into the base, with all commits that are here. */
  'pull-request': async (engine, work) => {
    const base = await engine.workspaces.mergeTarget({ repo: work.repo, base: baseOf(work) });
    for (const ticket of work.tickets) {
      const pull = await mergedOnGitHub(engine, ticket);
      if (pull && pull.baseRefName === base) return byPullRequest(base, pull.number);
    }
    return null;
  },
};

const baseOf = ({ recordedBase, base }: BranchSpec) => recordedBase?.ref ?? base;
const nameOf = (work: BranchSpec) => baseOf(work) ?? 'the base';

export function byPullRequest(base: string, number: number): string {
  return `${base} by pull request #${number}`;
}

function isRecorded(engine: EngineContext, ticket: Ticket, commit: string): boolean {
  if (endedMerged(ticket) && (tipOf(ticket) ?? commit) === commit) return true;
  return forgeJournal(engine, ticket).merged().includes(commit);
}

/** The merged pull request of a ticket that was pushed; undefined also where GitHub cannot be asked. */
async function mergedOnGitHub(engine: EngineContext, ticket: Ticket): Promise<PullRequest | undefined> {
  if (forgeJournal(engine, ticket).heads().length === 0) return undefined;
  return ignoring(SignalboxError, () => mergedPullOf(engine, ticket));
}

async function mergedPullOf(engine: EngineContext, ticket: Ticket): Promise<PullRequest | undefined> {
  return mergedPull(await forgeWork(engine, ticket));
}

/** Where the work of a complete ticket is by now. GitHub is asked only where git does not find it. */
export async function whereIsWork(
  engine: EngineContext,
  ticket: Ticket,
  spec: BranchSpec,
): Promise<Whereabouts> {
  const found = await ignoring(SignalboxError, async () => {
    const place = await engine.workspaces.findWorkInBase({ ...spec, tip: tipOf(ticket) });
    if (place !== 'gone' || pullNumberOf(ticket) === null) return place;
    return (await mergedPullOf(engine, ticket)) ? 'merged' : 'gone';
  });
  // The base or the repository may be gone, too, or GitHub cannot be asked.
  return found ?? 'gone';
}
