import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { claimToResume, releasePlanClaim } from '../../engine/claim-and-complete-plan.ts';
import { keepUsage } from '../../engine/claimed-tickets-and-counted-usage.ts';
import { decider, type EngineContext, emit } from '../../engine/context.ts';
import { carryOutCommand, refuseInsideJob } from '../../engine/control-tickets-and-plans.ts';
import { releaseWorkspace } from '../../engine/create-release-and-diff-ticket-workspace.ts';
import { putBack, takeOut } from '../../engine/share-worktree-between-tickets.ts';
import { keepUsersCommits } from '../../engine/users-changes-in-checkout.ts';
import { withRepositoryNames, workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { mergedTasks } from '../../kiro/tick-and-merge-tasks.ts';
import { stopJob } from '../../machine/jobs/stop-job.ts';
import { HeldError, IllegalMoveError, InputError } from '../../model/errors.ts';
import type { Claim } from '../../model/lease-and-claim-messages.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { snapshotOf } from '../../model/plans/plans-view.ts';
import { ticketInTree } from '../../model/state/turns-in-shared-workspace-start-limit-and-pauses.ts';
import { isMarkedBlocked, openAttempt, type Ticket } from '../../model/ticket.ts';
import { bringSpec, excludeFiles } from './bring-spec-into-worktree.ts';
import type { PreparedSpec } from './prepare-spec-run.ts';
import { refuseDirty, refuseHeld, refuseLost, sayPlan } from './refuse-spec-run.ts';
import {
  engineTicks,
  haltedTicket,
  type SpecRunRequest,
  updateSpecPlan,
} from './run-request-ticks-and-halt.ts';
import { lockSpec, placeOf, unlockSpec } from './spec-lock.ts';
import { stateFilesDir } from './write-state-and-progress-files.ts';

/** Writes the plan, which this process holds from the beginning, and prepares the worktree. Returns the plan's id. */
export async function startSpecRun(
  engine: EngineContext,
  request: SpecRunRequest,
  run: PreparedSpec,
): Promise<string> {
  const { store, holder } = engine;
  const { plan, tickets } = run.prepared;
  if (request.inPlace) await refuseDirty(engine, plan, run.isNew ? [] : store.tickets(store.plan(plan.id)));
  const place = placeOf(plan, tickets[0]?.branch ?? null);
  if (place) await lockSpec(engine, plan.id, place, { first: run.isNew });
  for (const { hash, text } of run.pinned) await store.pin(hash, text);
  if (run.replaced !== null) await archive(engine, run.replaced);
  const claim = holder.claim(engine.now());
  if (run.isNew) await create(engine, { ...plan, claim }, tickets);
  else await update(engine, run, claim);
  try {
    await continueTickets(engine, plan.id, run.workflowHash);
    await prepareTree(engine, plan.id);
    emit(engine, { type: 'plan:status', planId: plan.id, status: plan.status, ...decider(engine) });
  } catch (error) {
    await releasePlanClaim(engine, plan.id);
    throw error;
  }
  return plan.id;
}

/** Writes the plan, unless another run has started the spec since it was prepared. */
async function create(engine: EngineContext, plan: Plan, tickets: readonly Ticket[]): Promise<void> {
  if (engine.store.hasPlan(plan.id)) {
    unlockSpec(engine, plan.id);
    const other = engine.store.plan(plan.id);
    if (other.spec?.dir !== plan.spec?.dir || other.repo !== plan.repo)
      throw new HeldError(
        'plan/held',
        `Another spec "${plan.name}" was started at the same moment: ${other.spec?.dir ?? other.repo}.`,
        {
          hint: `Run this one again: its plan gets another name than ${plan.id}.`,
        },
      );
    refuseHeld(engine, other);
    throw new HeldError('plan/held', `Another run of spec "${plan.name}" has just ended.`, {
      hint: 'Run the spec again to continue where that one stopped.',
    });
  }
  await engine.store.create(await withRepositoryNames(engine, plan, []), tickets);
}

/** Changes the plan of an earlier run into that of this one. */
async function update(engine: EngineContext, { prepared }: PreparedSpec, claim: Claim): Promise<void> {
  const { store, holder } = engine;
  const { plan, added, changed, dropped, aside } = prepared;
  await store.updatePlan(plan.id, (latest) => {
    refuseHeld(engine, latest);
    return { ...latest, claim };
  });
  if (plan.workspace === 'checkout') await keepUsersCommits(engine, plan.id);
  for (const ticket of [...aside, ...changed.filter(isMarkedBlocked)]) await setAside(engine, plan, ticket);
  for (const ticket of changed)
    await store.updateTicket(ticket, (latest) =>
      latest.claim && holder.isLive(latest.claim)
        ? latest
        : { ...ticket, base: ticket.base && latest.base, rev: latest.rev },
    );
  const named = await withRepositoryNames(engine, plan, []);
  await store.updatePlan(plan.id, (latest) => ({ ...named, claim, rev: latest.rev }), added);
  await keepUsage(engine, [...dropped, ...aside]);
  for (const ticket of [...dropped, ...aside]) await store.removeTicket(ticket);
}

/** Takes the work of a ticket that this run does not do out of the worktree. */
async function setAside(engine: EngineContext, plan: Plan, ticket: Ticket): Promise<void> {
  const latest = engine.store.ticket(ticket);
  const open = openAttempt(latest);
  if (open) await stopJob(engine.machine.job(latest, open), 'stopped');
  const workspace = workspaceFor(latest, plan, engine.settings, engine.store.glance());
  if (latest.base === null || latest.worktree !== workspace.path || !existsSync(workspace.path)) return;
  await putBack({ engine, ticket: latest, workspace });
  await takeOut({ engine, ticket: latest, workspace });
}

/** Lets failed and stopped units continue with this run; one that waits for an answer or is blocked keeps waiting. */
async function continueTickets(
  engine: EngineContext,
  planId: string,
  workflowHash: string | null,
): Promise<void> {
  for (const ticket of engine.store.tickets(engine.store.plan(planId))) {
    const waits = ticket.hold?.kind === 'gate' || isMarkedBlocked(ticket);
    const ref = { planId, ticketId: ticket.ticketId };
    if (ticket.status === 'paused') await carryOutCommand(engine, ref, { type: 'resume' }, 'the run');
    else if (ticket.status === 'failed' || (ticket.status === 'needs_attention' && !waits)) {
      if (workflowHash) await engine.store.updateTicket(ref, (latest) => ({ ...latest, workflowHash }));
      await carryOutCommand(engine, ref, { type: 'retry' }, 'the run');
    }
  }
}

async function archive(engine: EngineContext, planId: string): Promise<void> {
  await engine.store.updatePlan(planId, (latest) => {
    refuseHeld(engine, latest);
    return { ...latest, status: 'archived', claim: null };
  });
  emit(engine, { type: 'plan:status', planId, status: 'archived', ...decider(engine) });
}

/** Creates the worktree and brings the spec into it; while a unit's work is in it, the spec waits for that unit's end. */
async function prepareTree(engine: EngineContext, planId: string): Promise<void> {
  const { store, workspaces, settings } = engine;
  const plan = store.plan(planId);
  const kept = plan.spec;
  const view = snapshotOf(store.glance());
  const tickets = store.tickets(plan);
  const open = tickets.find((ticket) => ticket.status !== 'complete');
  const ticket = open ?? tickets[0];
  if (!kept || !plan.repo || !ticket) return;
  if (store.fleet) {
    if (open) await carrySpec(engine, planId, kept);
    return;
  }
  if (!open && !(await branchLacksEdits(engine, plan, kept, tickets))) return;
  const { root, commonDir } = await workspaces.checkRepo(plan.repo);
  excludeFiles(commonDir, root, stateFilesDir(kept));
  if (ticketInTree(view, plan)) {
    const pending = readFileSync(join(kept.dir, kept.files.tasks), 'utf8');
    await updateSpecPlan(engine, planId, (latest) => ({ ...latest, spec: { ...kept, pending } }));
    return;
  }
  const workspace = workspaceFor(ticket, plan, settings, view);
  const { path, inPlace } = workspace;
  if (!inPlace && workspaces.isReady(path)) await putBack({ engine, ticket, workspace });
  const made = inPlace ? null : await workspaces.ensure(workspace);
  const base = kept.base ?? made?.base.commit ?? (await workspaces.head(path)).commit;
  const brought = await bringSpec(engine, workspace, kept, engineTicks(plan, tickets));
  const now = { ...brought, base, pending: undefined };
  await updateSpecPlan(engine, planId, (latest) => ({ ...latest, spec: now }));
  if (!open) await releaseWorkspace({ engine, ticket, workspace });
}

/** Puts the spec's files into the plan: the worker of the next unit brings them into its worktree. */
async function carrySpec(engine: EngineContext, planId: string, kept: PlanSpec): Promise<void> {
  const textOf = (name: string) => readFileSync(join(kept.dir, name), 'utf8');
  const there = kept.files.others.filter((name) => existsSync(join(kept.dir, name)));
  const carried = Object.fromEntries(there.map((name) => [name, textOf(name)]));
  const spec = { ...kept, pending: textOf(kept.files.tasks), carried };
  await updateSpecPlan(engine, planId, (latest) => ({ ...latest, spec }));
}

/** Whether the branch of a complete spec lacks edits of the user's copy. A deleted branch lacks nothing. */
async function branchLacksEdits(
  engine: EngineContext,
  plan: Plan,
  kept: PlanSpec,
  tickets: readonly Ticket[],
): Promise<boolean> {
  const branch = tickets[0]?.branch;
  if (!branch || !plan.repo || plan.workspace === 'checkout' || kept.text === '') return false;
  const file = kept.list ?? join(kept.inTree, kept.files.tasks);
  const found = await engine.workspaces.readCommitted({ repo: plan.repo, branch, file });
  if (found === null) return false;
  const mine = readFileSync(join(kept.dir, kept.files.tasks), 'utf8');
  return mergedTasks({ was: kept.text, mine, branch: found }, engineTicks(plan, tickets)) !== found;
}

/** Answers the unit that has halted. The engine that has the plan continues it. */
export async function answerHalt(engine: EngineContext, planId: string, answer: string): Promise<string> {
  const plan = specPlan(engine, planId);
  const halted = haltedTicket(engine.store.tickets(plan));
  if (!halted)
    throw new IllegalMoveError('spec/not-halted', `Nothing in "${planId}" waits for an answer.`, {
      hint: `See: signalbox status --plan ${planId}`,
    });
  await refuseChanged(engine, plan);
  const ref = { planId, ticketId: halted.ticketId };
  await carryOutCommand(engine, ref, { type: 'respond', decision: 'answer', message: answer }, 'a person');
  return halted.ticketId;
}

/** Claims the plan of a spec to continue it in this process. With `leave`, the engine that has it continues. */
export async function takeSpec(engine: EngineContext, planId: string, { leave = false } = {}): Promise<Plan> {
  refuseInsideJob(engine);
  const { store } = engine;
  await refuseChanged(engine, specPlan(engine, planId));
  const plan = await claimToResume(engine, planId, { called: sayPlan, leave });
  try {
    const [first] = plan.tickets;
    const place = placeOf(plan, first ? store.ticket({ planId, ticketId: first.ticketId }).branch : null);
    if (place && !leave) await lockSpec(engine, planId, place);
    if (plan.workspace === 'checkout') await keepUsersCommits(engine, planId);
    await continueTickets(engine, planId, null);
    emit(engine, { type: 'plan:status', planId, status: plan.status, ...decider(engine) });
  } catch (error) {
    await releasePlanClaim(engine, planId);
    throw error;
  }
  return plan;
}

/** Refuses uncommitted changes of a person in the checkout, or a deleted branch. A live run checks that itself. */
async function refuseChanged(engine: EngineContext, plan: Plan): Promise<void> {
  const own = engine.store.tickets(plan);
  const claims = [plan.claim, ...own.map(({ claim }) => claim)];
  if (claims.some((claim) => claim && engine.holder.isLive(claim))) return;
  if (plan.workspace === 'checkout') await refuseDirty(engine, plan, own);
  else if (!engine.store.fleet) await refuseLost(engine, plan, own);
}

function specPlan(engine: EngineContext, planId: string): Plan {
  const plan = engine.store.plan(planId);
  if (plan.spec) return plan;
  throw new InputError('spec/none', `"${planId}" is not a run of a spec.`, {
    hint: `Answer a gate with: signalbox respond ${planId} <ticket> <decision> "…"`,
  });
}
