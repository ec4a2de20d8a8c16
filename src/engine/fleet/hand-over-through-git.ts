import { existsSync } from 'node:fs';
import { parseRepository } from '../../github/gh/repository-name.ts';
import { HeldError, InputError, ignoring, messageOf, orError, WorkspaceError } from '../../model/errors.ts';
import { refKey, refOf, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { type Plan, sharesWorkspace } from '../../model/plan.ts';
import { blockersOf, planOf } from '../../model/plans/plans-view.ts';
import { isMadeAt, type Ticket, tipOrHandedOver } from '../../model/ticket.ts';
import type { HandedOver, WorkPlace } from '../../model/ticket-schema.ts';
import type { HandOverRefs } from '../../workspaces/workspaces.ts';
import { type EngineContext, emit, type HandOver, type TicketPlace } from '../context.ts';
import { isNameOfRepository, thisMachine } from '../work-out-workspace-and-repository.ts';

/** What this process knows of a ticket's hand-over while it has its claim. */
interface Known {
  /** When the ticket was claimed: before a later claim, another machine may have had it. */
  claimedAt: string | undefined;
  origin: HandOverRefs | undefined;
}

/** Hands work over by refs on origin, which all machines of a fleet can reach. */
export class HandOverThroughGit implements HandOver {
  readonly #engine: EngineContext;
  readonly #known = new Map<string, Known>();

  constructor(engine: EngineContext) {
    this.#engine = engine;
  }

  get machine(): WorkPlace {
    return thisMachine(this.#engine.settings);
  }

  async publish(plan: Plan, at: TicketPlace): Promise<HandedOver | undefined> {
    const { ticket, workspace } = at;
    const handed = await this.#tryToPublish(plan, at);
    if (handed.onlyHere !== undefined && handed.onlyHere !== ticket.handOver?.onlyHere)
      this.#problem(ticket, `No other machine can continue this ticket: ${handed.onlyHere}.`, workspace.path);
    return isSame(handed, ticket.handOver) ? undefined : handed;
  }

  async publishImported(plan: Plan, at: TicketPlace): Promise<HandedOver | undefined> {
    const spec = specOf(plan, at.ticket, at.workspace);
    const there = await ignoring(WorkspaceError, () => this.#engine.workspaces.originHandOver(spec));
    if (there) this.#remember(at.ticket, there);
    return this.publish(plan, at);
  }

  async #tryToPublish(plan: Plan, at: TicketPlace): Promise<HandedOver> {
    const { ticket, workspace } = at;
    const last = { commits: ticket.handOver?.commits ?? null, wip: ticket.handOver?.wip ?? null };
    if (workspace.inPlace) return { ...last, onlyHere: 'it works in a checkout' };
    if (!(await this.#engine.workspaces.hasRemote(workspace.repo)))
      return { ...last, onlyHere: 'its repository has no origin' };
    const now = await orError(WorkspaceError, () => this.#push(plan, at));
    if (now instanceof WorkspaceError) return { ...last, onlyHere: messageOf(now).replace(/\.$/, '') };
    return now ? { commits: now.commits, wip: now.wip } : last;
  }

  /** Returns what origin has then. `always`: also where the worktree has not changed. */
  async #push(plan: Plan, at: TicketPlace, always = false): Promise<HandOverRefs | undefined> {
    const { workspaces, redact } = this.#engine;
    const { ticket, workspace } = at;
    const { path, branch } = workspace;
    const { repo, name, planMark } = specOf(plan, ticket, workspace);
    const expected = await this.#expected(plan, at);
    const { leftOut, ...next } = (await workspaces.snapshotWork({
      repo,
      path,
      branch,
      name,
      planMark,
      host: this.machine.host,
      isSecret: (text) => redact(text) !== text,
      known: always ? undefined : expected,
    })) ?? { leftOut: [], ...expected };
    if (next.wip === undefined || next.commits === undefined || next.wip === expected?.wip) return expected;
    const wanted = { commits: next.commits, wip: next.wip };
    if (leftOut.length > 0)
      this.#problem(ticket, `Not handed over, since they may contain a secret: ${leftOut.join(', ')}.`, path);
    if (!(await workspaces.pushHandOver({ repo, name, next: wanted, expected })))
      await this.#pushAgain(plan, at, wanted);
    this.#remember(ticket, wanted);
    return wanted;
  }

  /** Origin has another state than this machine knows. That is right where another machine has the ticket now. */
  async #pushAgain(plan: Plan, { ticket, workspace }: TicketPlace, next: HandOverRefs): Promise<void> {
    const { store, holder, workspaces } = this.#engine;
    const spec = specOf(plan, ticket, workspace);
    await store.refresh();
    const lost = new HeldError('claim/lost', `Another engine has taken ${refKey(ticket)}.`);
    if (store.ticket(ticket).claim?.token !== holder.token) throw lost;
    const there = await workspaces.originHandOver(spec);
    if (there && !there.ofAnotherPlan)
      this.#problem(ticket, `The hand-over of this ticket on origin was changed; it is replaced.`, null);
    if (!(await workspaces.pushHandOver({ ...spec, next, expected: there }))) throw lost;
  }

  async #expected(plan: Plan, { ticket, workspace }: TicketPlace): Promise<HandOverRefs | undefined> {
    const known = this.#known.get(refKey(ticket));
    if (known && known.claimedAt === ticket.claim?.renewedAt) return known.origin;
    return this.#engine.workspaces.ownHandOver(specOf(plan, ticket, workspace));
  }

  #remember(ticket: Ticket, origin: HandOverRefs | undefined): void {
    this.#known.set(refKey(ticket), { claimedAt: ticket.claim?.renewedAt, origin });
  }

  async fetch(plan: Plan, at: TicketPlace): Promise<{ finish(): Promise<void> } | undefined> {
    const { workspaces } = this.#engine;
    const { ticket, workspace } = at;
    const { repo, inPlace, path, branch } = workspace;
    if (inPlace || this.#known.get(refKey(ticket))?.claimedAt === ticket.claim?.renewedAt) return undefined;
    await this.#cloneIfMissing(plan, at);
    if (!(await workspaces.hasRemote(repo))) return undefined;
    await this.#fetchPrerequisites(plan, at);
    const isNew = ticket.base === null && !sharesWorkspace(plan);
    if (isNew) {
      this.#remember(ticket, undefined);
      return undefined;
    }
    const name = nameOf(plan, ticket);
    const own = await workspaces.ownHandOver({ repo, name });
    const there = await this.#onOrigin(plan, at, own);
    const origin = there && { commits: there.commits, wip: there.wip };
    if (there && own?.wip === there.wip) {
      this.#remember(ticket, origin);
      return undefined;
    }
    const theirs = there?.ofAnotherPlan ? undefined : origin;
    if (theirs) {
      const { keptAt } = await workspaces.takeOverWork({ repo, path, branch, name, from: theirs });
      if (keptAt !== null)
        emit(this.#engine, {
          type: 'workspace:keep',
          ...refOf(ticket),
          path,
          reason: `another machine continued it; what was only here is kept at ${keptAt}`,
        });
    }
    return {
      finish: async () => {
        // What the ticket before left uncommitted in a shared worktree is not this one's.
        const isBegun = ticket.base !== null;
        if (theirs && isBegun) await workspaces.restoreUncommitted({ path, branch, wip: theirs.wip });
        this.#remember(ticket, origin);
        // From now on the machine that had the ticket before is refused.
        await this.#push(plan, at, true);
      },
    };
  }

  /** A worker keeps a clone of its own of every repository that it works in. */
  async #cloneIfMissing(plan: Plan, { ticket, workspace }: TicketPlace): Promise<void> {
    const { machine, workspaces } = this.#engine;
    const named = ticket.repo ?? plan.repo ?? '';
    const url = plan.repositories?.[named] ?? named;
    const { repo: path } = workspace;
    const isMissing = () => isNameOfRepository(url) && !existsSync(path);
    if (!isMissing()) return;
    if (parseRepository(url))
      throw new InputError('ticket/repo', `The clone of ${url} is not there: ${path}.`, {
        hint: `Make it: git clone <address> ${path}. Or give the plan the address instead of the name.`,
      });
    await machine.lock('clones', async () => {
      if (isMissing()) await workspaces.clone({ url, path });
    });
  }

  /** Without a network, this machine continues what it handed over last itself. */
  async #onOrigin(plan: Plan, { ticket, workspace }: TicketPlace, own: HandOverRefs | undefined) {
    const { workspaces } = this.#engine;
    try {
      return await workspaces.originHandOver(specOf(plan, ticket, workspace));
    } catch (error) {
      if (!(error instanceof WorkspaceError) || !own || own.wip !== ticket.handOver?.wip) throw error;
      return { ...own, ofAnotherPlan: false };
    }
  }

  async ofOtherMachine(plan: Plan, at: TicketPlace): Promise<string | undefined> {
    const { ticket, workspace } = at;
    if (!ticket.machine || isMadeAt(ticket, this.machine) || !ticket.handOver?.wip) return undefined;
    await this.#cloneIfMissing(plan, at);
    return (await this.#engine.workspaces.originHandOver(specOf(plan, ticket, workspace)))?.wip;
  }

  async bringBranch(plan: Plan, { ticket, workspace }: TicketPlace): Promise<void> {
    const { workspaces } = this.#engine;
    const { handOver, machine } = ticket;
    if (!handOver?.commits || !machine || isMadeAt(ticket, this.machine)) return;
    const { repo, path, branch } = workspace;
    const name = nameOf(plan, ticket);
    const from = { commits: handOver.commits, wip: handOver.wip ?? handOver.commits };
    await workspaces.fetchHandedOver({ repo, wanted: [{ name, commit: from.commits }] });
    await workspaces.takeOverWork({ repo, path, branch, name, from });
  }

  /** A ticket starts from the commits of finished tickets, which another machine may have made. */
  async #fetchPrerequisites(plan: Plan, { ticket, workspace }: TicketPlace): Promise<void> {
    const view = this.#engine.store.glance();
    const wanted = blockersOf(view, ticket, plan).flatMap((blocker) => {
      const owner = planOf(view, blocker.planId);
      const commit = tipOrHandedOver(blocker);
      const isThere = owner && commit !== null && blocker.handOver && blocker.handOver.commits !== null;
      return isThere ? [{ name: nameOf(owner, blocker), commit }] : [];
    });
    if (wanted.length > 0) await this.#engine.workspaces.fetchHandedOver({ repo: workspace.repo, wanted });
  }

  #problem(ref: TicketRef, message: string, path: string | null): void {
    const { planId, ticketId } = ref;
    emit(this.#engine, { type: 'problem', planId, ticketId, message, path });
  }
}

/** Tickets that share a worktree share its branch, and with that its hand-over. No id begins with `@`. */
function nameOf(plan: Plan, { ticketId }: TicketRef): string {
  return sharesWorkspace(plan) ? `${plan.id}/@tree` : `${plan.id}/${ticketId}`;
}

/** Names the hand-over of a ticket. A plan that was deleted and made again is another one. */
function specOf(plan: Plan, ticket: TicketRef, { repo }: { repo: string }) {
  return { repo, name: nameOf(plan, ticket), planMark: `${plan.id} ${plan.createdAt}` };
}

function isSame(a: HandedOver, b: HandedOver | undefined): boolean {
  return a.commits === (b?.commits ?? null) && a.wip === (b?.wip ?? null) && a.onlyHere === b?.onlyHere;
}
