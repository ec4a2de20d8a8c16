import { type EngineContext, emit } from '../../engine/context.ts';
import { refOf } from '../../engine/status-events.ts';
import { branchOf, repoOf, type TicketWorkspace } from '../../engine/ticket-defaults.ts';
import { explained, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { WORK_PHASE } from '../../model/issue-phases.ts';
import { blockersOf, planOf } from '../../model/plans/view.ts';
import type { Attempt, Ticket } from '../../model/ticket.ts';
import type { StoreView } from '../../store/port.ts';
import { type CaughtUp, GitError, type StackedThere, type WorkspaceSpec } from '../../workspaces/index.ts';
import { forgeJournal, forgeWork, isLeftOver, ownBaseOf, ticketPull } from '../pull-requests/context.ts';
import { EarlierIssues, isNoted, sourceKey } from './previous-runs.ts';

/** What was pushed so recently need not be asked for again. */
const RECENT_MS = 60_000;

/** What became of prerequisites on origin. */
interface Found {
  stackOn: string[];
  mergedOn: string[];
  stackThere: Record<string, StackedThere>;
}

interface Look {
  parts: EngineContext;
  ticket: Ticket;
  spec: TicketWorkspace;
  view: StoreView;
  earlier: EarlierIssues;
  found: Found;
  /** Branches that were checked. */
  seen: Set<string>;
}

/**
 * Lets an issue start with its prerequisites as they are on origin now: merged, or with what people pushed to them since.
 * Only asks about branches that were pushed, while the issue has no work of its own, and not right after a push of the
 * same run. Null: nothing has changed.
 */
export async function withPrerequisitesNow(
  parts: EngineContext,
  ticket: Ticket,
  spec: TicketWorkspace,
): Promise<TicketWorkspace | null> {
  if (spec.stackOn.length === 0 || isUnderWay(ticket)) return null;
  const { mergedOn = [] } = spec;
  const found: Found = { stackOn: [], mergedOn: [...mergedOn], stackThere: {} };
  const view = parts.store.view();
  const patient = { ...parts, workspaces: parts.workspaces.patient({ signal: spec.signal }) };
  const look = {
    parts: patient,
    ticket,
    spec,
    view,
    earlier: new EarlierIssues(parts),
    found,
    seen: new Set<string>(),
  };
  for (const blocker of blockersHere(look, ticket))
    if (spec.stackOn.includes(branchOf(blocker))) await lookAt(look, blocker);
  const changed = found.mergedOn.length > mergedOn.length || Object.keys(found.stackThere).length > 0;
  return changed ? { ...spec, ...found } : null;
}

/** The last attempt succeeded, or the work is done: it keeps what it began with. */
function isUnderWay(ticket: Ticket): boolean {
  const ended = endedOf(ticket);
  const worked = ended.some(({ phase, status }) => phase === WORK_PHASE && status === 'success');
  return worked || ended.at(-1)?.status === 'success';
}

function endedOf({ phaseHistory }: Ticket): Attempt[] {
  return phaseHistory.filter(({ status }) => status !== 'running' && status !== 'skipped');
}

async function lookAt(look: Look, blocker: Ticket): Promise<void> {
  const { parts, ticket, spec, found, seen } = look;
  const { repo, signal } = spec;
  const branch = branchOf(blocker);
  if (seen.has(branch)) return;
  seen.add(branch);
  const pushed = await lastPushed(parts, blocker, { repo, branch });
  const age = Date.parse(parts.now()) - Date.parse(pushed?.at ?? '');
  const ofThisRun = blocker.planId === ticket.planId && !isNoted(blocker) && endedOf(ticket).length === 0;
  if (!pushed || (ofThisRun && age < RECENT_MS)) return void found.stackOn.push(branch);
  const there = await asked(look, branch, () => parts.workspaces.originTip({ repo, branch }));
  if (there === 'unknown') return void found.stackOn.push(branch);
  const own = await workedOn(look, blocker);
  const pull = await asked(look, branch, () => mergedPullOf(look, own));
  if (pull && pull !== 'unknown') {
    if (pull.left) found.stackOn.push(branch);
    const below = blockersHere(look, own).find((each) => branchOf(each) === pull.into);
    if (pull.intoBase) return void found.mergedOn.push(branch);
    // Merged into the branch that it was stacked on, it is wherever that one is.
    if (below) return lookAt(look, below);
  }
  if (!found.stackOn.includes(branch)) found.stackOn.push(branch);
  if (there === undefined || signal?.aborted) return;
  const news = await compare(look, { branch, there, known: pushed.commit });
  if (news) found.stackThere[branch] = news;
}

/** A question without an answer is reported, and the work continues from what is local. */
async function asked<T>(look: Look, branch: string, ask: () => Promise<T>): Promise<T | 'unknown'> {
  const { signal } = look.spec;
  try {
    return await ask();
  } catch (error) {
    if (signal?.aborted || !(error instanceof SignalboxError)) throw error;
    report(
      look.parts,
      look.ticket,
      `What became of ${branch} on origin was not looked at: ${explained(error)}`,
    );
    return 'unknown';
  }
}

interface MergedPull {
  into: string;
  intoBase: boolean;
  /** Commits are here that were not in it. */
  left: boolean;
}

async function mergedPullOf({ parts, spec }: Look, own: Ticket): Promise<MergedPull | undefined> {
  const work = await forgeWork({ ...parts, signal: spec.signal ?? parts.signal }, own);
  const pull = await ticketPull(work);
  if (pull?.state !== 'MERGED') return undefined;
  const { baseRefName: into } = pull;
  const base = (spec.base ?? ownBaseOf(work))?.replace(/^origin\//, '');
  return { into, intoBase: base === into, left: await isLeftOver(work, pull) };
}

/** What origin's branch has that is to be built upon; undefined when that is here already. */
async function compare(
  look: Look,
  { branch, there, known }: { branch: string; there: string; known: string },
): Promise<StackedThere | undefined> {
  const { parts, spec, ticket } = look;
  const { repo } = spec;
  const has = (commit: string, ancestor: string) => parts.workspaces.contains({ repo, commit, ancestor });
  const here = await parts.workspaces.tip({ repo, branch });
  if (here === there) return undefined;
  if (here === undefined) return { commit: there, instead: true };
  if (!(await has(there, known))) {
    if (!(await has(known, here))) throw rewritten(ticket, branch);
    report(look.parts, look.ticket, `Begins with ${branch} as somebody rewrote it on origin.`);
    return { commit: there, instead: true };
  }
  if (await has(here, there)) return undefined;
  report(look.parts, look.ticket, `Begins with what somebody else pushed to ${branch}.`);
  return { commit: there, instead: await has(there, here) };
}

function rewritten({ planId, ticketId }: Ticket, branch: string): WorkspaceError {
  return new WorkspaceError(
    'workspace/rewritten',
    `Somebody rewrote ${branch} on origin, and here it has commits that were never pushed.`,
    {
      hint: `Bring the two together by hand and push ${branch}, then: signalbox retry ${planId} ${ticketId}`,
      details: { branch },
    },
  );
}

/** The ticket that did the work; a run that found it complete only took note of it. */
async function workedOn({ earlier, spec }: Look, blocker: Ticket): Promise<Ticket> {
  if (!isNoted(blocker)) return blocker;
  const tickets = await earlier.of(sourceKey(blocker) ?? '', spec.repo);
  return tickets.findLast((each) => each.status === 'complete' && !isNoted(each)) ?? blocker;
}

function blockersHere({ view, parts, spec }: Look, ticket: Ticket): Ticket[] {
  return blockersOf(view, ticket).filter((blocker) => {
    const owner = planOf(view, blocker.planId);
    return blocker.branch && owner && repoOf(blocker, owner, parts.settings) === spec.repo;
  });
}

/**
 * An issue that is run once more begins with what people have pushed to its branch since: at the end it could not be
 * pushed any more. Only looks where an earlier run has pushed the branch.
 */
export async function beginWithPushed(
  parts: EngineContext,
  ticket: Ticket,
  spec: WorkspaceSpec,
): Promise<void> {
  if (ticket.skipPhases?.includes('pull_request')) return;
  if (ticket.phaseHistory.some(({ status }) => status === 'success')) return;
  const known = (await lastPushed(parts, ticket, spec))?.commit;
  if (known === undefined) return;
  const { repo, path, branch, signal } = spec;
  let done: CaughtUp;
  try {
    const wish = { repo, path, branch, known, base: null, takeTheirs: false };
    done = await parts.workspaces.patient({ signal }).catchUp(wish);
  } catch (error) {
    if (!(error instanceof GitError) || signal?.aborted) throw error;
    // Deleted there, it is pushed anew; whether origin can be reached shows at the push.
    if (!/couldn't find remote ref/.test(error.stderr))
      report(parts, ticket, `What people pushed to ${branch} was not looked at: ${error.message}`);
    return;
  }
  if (done.state === 'conflict' || done.state === 'rewritten') throw apart(ticket, spec, done);
  forgeJournal(parts, ticket).note('found', { commit: done.there });
  if (done.state === 'advanced' || done.state === 'merged')
    report(parts, ticket, `${branch} goes on with ${count(done.by)} that somebody else pushed to it.`);
}

/** What origin had last by our own doing, in this run or an earlier one. */
async function lastPushed(
  parts: EngineContext,
  ticket: Ticket,
  spec: Pick<WorkspaceSpec, 'repo' | 'branch'>,
): Promise<{ commit: string; at: string } | undefined> {
  const earlier = await new EarlierIssues(parts).of(sourceKey(ticket) ?? '', spec.repo);
  return [...earlier, ticket]
    .filter(({ branch }) => branch === spec.branch)
    .flatMap((each) => forgeJournal(parts, each).heads())
    .sort((a, b) => a.at.localeCompare(b.at))
    .at(-1);
}

function apart(
  { planId, ticketId }: Ticket,
  { path, branch }: WorkspaceSpec,
  done: Extract<CaughtUp, { state: 'conflict' | 'rewritten' }>,
): WorkspaceError {
  const retry = `signalbox retry ${planId} ${ticketId}`;
  if (done.state === 'rewritten')
    return new WorkspaceError('workspace/rewritten', `Somebody rewrote ${branch} on origin.`, {
      hint: `Take it as it is there: signalbox forge sync ${planId} ${ticketId} --theirs, then: ${retry}`,
      details: { branch },
    });
  return new WorkspaceError(
    'workspace/conflict',
    `What somebody pushed to ${branch} conflicts with what is here in ${done.files.join(', ')}.`,
    {
      hint: `Merge it by hand: git -C ${path} fetch origin ${branch} && git -C ${path} merge FETCH_HEAD, then: ${retry}`,
      details: { branch, files: done.files },
    },
  );
}

function report(parts: EngineContext, ticket: Ticket, message: string): void {
  emit(parts, { type: 'problem', message, path: null, ...refOf(ticket) });
}

const count = (commits: number) => (commits === 1 ? 'a commit' : `${commits} commits`);
