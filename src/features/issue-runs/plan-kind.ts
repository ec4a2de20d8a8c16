import { type EngineContext, emit, type PlanKind } from '../../engine/context.ts';
import { recordTip } from '../../engine/create-release-and-diff-ticket-workspace.ts';
import { branchOf, repoOf, type TicketWorkspace } from '../../engine/work-out-workspace-and-repository.ts';
import { explained, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { refOf } from '../../model/ids-and-branch-names.ts';
import { WORK_PHASE } from '../../model/issue-phases.ts';
import type { IssueRunPlan } from '../../model/plan.ts';
import { blockersOf, entryOf, planOf, snapshotOf } from '../../model/plans/plans-view.ts';
import { blockedBy, firstFailure } from '../../model/state/blockers-and-stop-on-failure.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { StoreView } from '../../store/store-interface.ts';
import {
  type CaughtUp,
  GitError,
  type PrerequisiteOnOrigin,
  type WorkspaceSpec,
} from '../../workspaces/workspaces.ts';
import {
  forgeJournal,
  forgeWork,
  isLeftOver,
  ownBaseOf,
  ticketPull,
} from '../pull-requests/ticket-on-github.ts';
import { completeOnes, EarlierIssues, sourceKey, wasAlreadyComplete } from './earlier-work-on-issues.ts';
import { completeEarlierRuns } from './resume-run-and-handle-newer-runs.ts';

/** Plans that `signalbox run <issues>` makes: issues that start from what people and other issues have pushed. */
export const issuesKind: PlanKind<IssueRunPlan> = {
  kind: 'run',
  hooks: (context) => ({
    startFrom: (_plan, ticket, workspace) => refreshPrerequisites(context, ticket, workspace),
    catchUp: (_plan, ticket, workspace) => startWithPushedCommits(context, ticket, workspace),
    left: async (_plan, ticket, workspace) => {
      if (ticket.status === 'complete') await recordTip({ engine: context, ticket, workspace });
      await completeEarlierRuns(context, ticket);
    },
    stoppedAt: (plan, tickets) =>
      ticketsWithoutEngine(context, plan, tickets).map(({ since }) => since ?? ''),
  }),
};

/** Tickets that would continue if an engine ran the plan: its daemon is gone, or a person answered after the run ended. */
function ticketsWithoutEngine(
  { store, holder }: EngineContext,
  plan: IssueRunPlan,
  tickets: readonly Ticket[],
): Ticket[] {
  if (plan.status !== 'active') return [];
  if ((plan.claim && holder.isLive(plan.claim)) || holder.daemon()) return [];
  const view = store.glance();
  return tickets.filter(({ ticketId, status, claim, phaseHistory }) => {
    if (claim && holder.isLive(claim)) return false;
    if (status === 'running' || (status === 'ready' && phaseHistory.length > 0)) return true;
    const entry = entryOf(plan, { ticketId });
    if (!entry || (status !== 'queued' && status !== 'ready')) return false;
    return blockedBy(view, plan, entry) === null && firstFailure(view, plan) === undefined;
  });
}

/** After a push, origin is not asked again for this time. */
const RECENT_MS = 60_000;

/**
 * Lets an issue start with its prerequisites as they are on origin now: merged, or with what people pushed to them since.
 * Only asks about branches that were pushed, while the issue has no work of its own, and not right after a push of the
 * same run. Null: nothing has changed.
 */
async function refreshPrerequisites(
  engine: EngineContext,
  ticket: Ticket,
  spec: TicketWorkspace,
): Promise<TicketWorkspace | null> {
  const ended = ticket.phaseHistory.filter(({ status }) => status !== 'running' && status !== 'skipped');
  const worked = ended.some(({ phase, status }) => phase === WORK_PHASE && status === 'success');
  // Work that has started keeps its starting point.
  if (spec.stackOn.length === 0 || worked || ended.at(-1)?.status === 'success') return null;
  const prerequisites = new Prerequisites(engine, ticket, spec, ended.length === 0);
  for (const blocker of prerequisites.blockersOf(ticket))
    if (spec.stackOn.includes(branchOf(blocker))) await prerequisites.check(blocker);
  const { stackOn, mergedOn, prerequisitesOnOrigin } = prerequisites;
  const changed =
    mergedOn.length > (spec.mergedOn ?? []).length || Object.keys(prerequisitesOnOrigin).length > 0;
  return changed ? { ...spec, stackOn, mergedOn, prerequisitesOnOrigin } : null;
}

/** Finds the state of an issue's prerequisites on origin. */
class Prerequisites {
  readonly stackOn: string[] = [];
  readonly mergedOn: string[];
  readonly prerequisitesOnOrigin: Record<string, PrerequisiteOnOrigin> = {};
  readonly #engine: EngineContext;
  readonly #ticket: Ticket;
  readonly #spec: TicketWorkspace;
  readonly #isFirst: boolean;
  readonly #view: StoreView;
  #earlier: EarlierIssues | undefined;
  readonly #checked = new Set<string>();

  /** `isFirst`: no attempt of the ticket has ended. */
  constructor(engine: EngineContext, ticket: Ticket, spec: TicketWorkspace, isFirst: boolean) {
    const { signal } = spec;
    this.#engine = {
      ...engine,
      workspaces: engine.workspaces.patient({ signal }),
      signal: signal ?? engine.signal,
    };
    this.#ticket = ticket;
    this.#spec = spec;
    this.#isFirst = isFirst;
    this.#view = snapshotOf(engine.store.glance());
    this.mergedOn = [...(spec.mergedOn ?? [])];
  }

  /** Prerequisites of a ticket that have a branch in the same repository. */
  blockersOf(ticket: Ticket): Ticket[] {
    return blockersOf(this.#view, ticket).filter((blocker) => {
      const owner = planOf(this.#view, blocker.planId);
      return blocker.branch && owner && repoOf(blocker, owner, this.#engine.settings) === this.#spec.repo;
    });
  }

  async check(blocker: Ticket): Promise<void> {
    const { workspaces, now } = this.#engine;
    const { repo, signal } = this.#spec;
    const branch = branchOf(blocker);
    if (this.#checked.has(branch)) return;
    this.#checked.add(branch);
    const pushed = await lastPushed(this.#engine, blocker, { repo, branch });
    const age = Date.parse(now()) - Date.parse(pushed?.at ?? '');
    const ofThisRun = blocker.planId === this.#ticket.planId && !wasAlreadyComplete(blocker) && this.#isFirst;
    const there =
      !pushed || (ofThisRun && age < RECENT_MS)
        ? 'unknown'
        : await this.#asked(branch, workspaces.originTip({ repo, branch }));
    if (!pushed || there === 'unknown') return void this.stackOn.push(branch);
    const own = await this.#workedOn(blocker);
    const pull = await this.#asked(branch, this.#mergedPullOf(own));
    if (pull && pull !== 'unknown') {
      if (pull.left) this.stackOn.push(branch);
      if (pull.intoBase) return void this.mergedOn.push(branch);
      // A prerequisite merged into the branch below it is part of that branch.
      const below = this.blockersOf(own).find((each) => branchOf(each) === pull.into);
      if (below) return this.check(below);
    }
    if (!this.stackOn.includes(branch)) this.stackOn.push(branch);
    if (there === undefined || signal?.aborted) return;
    const news = await this.#newCommitsOn(branch, there, pushed.commit);
    if (news) this.prerequisitesOnOrigin[branch] = news;
  }

  /** Reports a failed question to origin; the work then continues from the local state. */
  async #asked<T>(branch: string, answer: Promise<T>): Promise<T | 'unknown'> {
    try {
      return await answer;
    } catch (error) {
      if (this.#spec.signal?.aborted || !(error instanceof SignalboxError)) throw error;
      this.#report(`The state of ${branch} on origin could not be checked: ${explained(error)}`);
      return 'unknown';
    }
  }

  /** The ticket that did the work; later runs may only have recorded it as complete. */
  async #workedOn(blocker: Ticket): Promise<Ticket> {
    if (!wasAlreadyComplete(blocker)) return blocker;
    this.#earlier ??= new EarlierIssues(this.#engine);
    const tickets = await this.#earlier.of(sourceKey(blocker) ?? '', this.#spec.repo);
    return completeOnes(tickets).at(-1) ?? blocker;
  }

  /** Where the ticket's pull request was merged, and whether commits are here that were not in it. */
  async #mergedPullOf(own: Ticket) {
    const work = await forgeWork(this.#engine, own);
    const pull = await ticketPull(work);
    if (pull?.state !== 'MERGED') return undefined;
    const { baseRefName: into } = pull;
    const base = (this.#spec.base ?? ownBaseOf(work))?.replace(/^origin\//, '');
    return { into, intoBase: base === into, left: await isLeftOver(work, pull) };
  }

  /** The commits on origin's branch to start from; undefined if they are already here. */
  async #newCommitsOn(
    branch: string,
    there: string,
    known: string,
  ): Promise<PrerequisiteOnOrigin | undefined> {
    const { workspaces } = this.#engine;
    const { repo } = this.#spec;
    const has = (commit: string, ancestor: string) => workspaces.contains({ repo, commit, ancestor });
    const here = await workspaces.tip({ repo, branch });
    if (here === there) return undefined;
    if (here === undefined) return { commit: there, replacesLocal: true };
    if (!(await has(there, known))) {
      if (!(await has(known, here))) {
        const { planId, ticketId } = this.#ticket;
        throw new WorkspaceError(
          'workspace/rewritten',
          `${branch} was rewritten on origin, and here it has commits that were never pushed.`,
          {
            hint: `Merge the two by hand and push ${branch}, then: signalbox retry ${planId} ${ticketId}`,
            details: { branch },
          },
        );
      }
      this.#report(`Starts from ${branch} as it was rewritten on origin.`);
      return { commit: there, replacesLocal: true };
    }
    if (await has(here, there)) return undefined;
    this.#report(`Starts from what other people pushed to ${branch}.`);
    return { commit: there, replacesLocal: await has(there, here) };
  }

  #report(message: string): void {
    report(this.#engine, this.#ticket, message);
  }
}

/**
 * Lets an issue that runs again start with commits that people pushed to its branch: otherwise its push would be refused at the
 * end. Only checked if an earlier run has pushed the branch.
 */
async function startWithPushedCommits(
  engine: EngineContext,
  ticket: Ticket,
  spec: WorkspaceSpec,
): Promise<void> {
  if (ticket.skipPhases?.includes('pull_request')) return;
  if (ticket.phaseHistory.some(({ status }) => status === 'success')) return;
  const known = (await lastPushed(engine, ticket, spec))?.commit;
  if (known === undefined) return;
  const { repo, path, branch, signal } = spec;
  let done: CaughtUp;
  try {
    const wish = { repo, path, branch, known, base: null, takeTheirs: false };
    done = await engine.workspaces.patient({ signal }).catchUp(wish);
  } catch (error) {
    if (!(error instanceof GitError) || signal?.aborted) throw error;
    // A branch that was deleted on origin is pushed again; the push reports if origin cannot be reached.
    if (!/couldn't find remote ref/.test(error.stderr))
      report(engine, ticket, `What people pushed to ${branch} could not be checked: ${error.message}`);
    return;
  }
  if (done.state === 'conflict' || done.state === 'rewritten') throw divergedError(ticket, spec, done);
  forgeJournal(engine, ticket).note('found', { commit: done.there });
  if (done.state === 'advanced' || done.state === 'merged')
    report(engine, ticket, `${branch} continues with ${count(done.by)} that other people pushed to it.`);
}

/** The commit that this run or an earlier one pushed last. */
async function lastPushed(
  engine: EngineContext,
  ticket: Ticket,
  spec: Pick<WorkspaceSpec, 'repo' | 'branch'>,
): Promise<{ commit: string; at: string } | undefined> {
  const earlier = await new EarlierIssues(engine).of(sourceKey(ticket) ?? '', spec.repo);
  return [...earlier, ticket]
    .filter(({ branch }) => branch === spec.branch)
    .flatMap((each) => forgeJournal(engine, each).heads())
    .sort((a, b) => a.at.localeCompare(b.at))
    .at(-1);
}

function divergedError(
  { planId, ticketId }: Ticket,
  { path, branch }: WorkspaceSpec,
  done: Extract<CaughtUp, { state: 'conflict' | 'rewritten' }>,
): WorkspaceError {
  const retry = `signalbox retry ${planId} ${ticketId}`;
  if (done.state === 'rewritten')
    return new WorkspaceError('workspace/rewritten', `${branch} was rewritten on origin.`, {
      hint: `Take it as it is there: signalbox forge sync ${planId} ${ticketId} --theirs, then: ${retry}`,
      details: { branch },
    });
  return new WorkspaceError(
    'workspace/conflict',
    `What other people pushed to ${branch} conflicts with what is here in ${done.files.join(', ')}.`,
    {
      hint: `Merge it by hand: git -C ${path} fetch origin ${branch} && git -C ${path} merge FETCH_HEAD, then: ${retry}`,
      details: { branch, files: done.files },
    },
  );
}

function report(engine: EngineContext, ticket: Ticket, message: string): void {
  emit(engine, { type: 'problem', message, path: null, ...refOf(ticket) });
}

const count = (commits: number) => (commits === 1 ? 'a commit' : `${commits} commits`);
