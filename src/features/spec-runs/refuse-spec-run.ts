import { dirname, join } from 'node:path';
import { refuseHeld as refuseHeldPlan } from '../../engine/claim-and-complete-plan.ts';
import type { EngineContext } from '../../engine/context.ts';
import { usersChanges } from '../../engine/users-changes-in-checkout.ts';
import type { SpecProblem } from '../../kiro/task-and-problem-types.ts';
import { HeldError, InputError } from '../../model/errors.ts';
import { onceLeaseIsOver, sayHolder } from '../../model/lease-and-claim-messages.ts';
import type { Plan } from '../../model/plan.ts';
import { runCommand } from '../../model/state/explain-ticket.ts';
import { didYouMean } from '../../model/text/nearest-word.ts';
import { isMarkedBlocked, type Ticket, tipOf } from '../../model/ticket.ts';
import { untracked } from './bring-spec-into-worktree.ts';
import type { SpecPlan } from './plan-spec.ts';
import type { EarlierRun, SpecRunRequest } from './run-request-ticks-and-halt.ts';

export function checkAgents({ settings }: EngineContext, { backend, assignBackend }: SpecRunRequest): void {
  const known = Object.keys(settings.agents);
  const owners = Object.entries(settings.specs.owners).map(([owner, agent]) => [
    `specs.owners.${owner}`,
    agent,
  ]);
  const named = { '--backend': backend, '--assign-backend': assignBackend, ...Object.fromEntries(owners) };
  for (const [where, agent] of Object.entries<string | null>(named))
    if (agent !== null && !known.includes(agent))
      throw new InputError(
        'spec/agent',
        `${where}: there is no agent ${JSON.stringify(agent)}.${didYouMean(agent, known)}`,
        { hint: `Agents: ${known.join(', ')}.` },
      );
}

export function refuseHeld(engine: EngineContext, plan: Plan): void {
  refuseHeldPlan(engine, plan, sayPlan(plan));
}

export function sayPlan({ name }: Plan): string {
  return `spec "${name}"`;
}

/**
 * Refuses a plan that a daemon runs. A daemon claims tickets, not plans: it runs every active plan without another holder. On a fleet it
 * drives no tickets.
 */
export function refuseDaemon({ holder, store }: EngineContext, plan: Plan, tickets: readonly Ticket[]): void {
  const daemon = store.fleet ? undefined : holder.daemon();
  const claim = tickets.flatMap(({ claim }) => claim ?? []).find((each) => holder.isLive(each));
  const isStuck = tickets.some(
    (ticket) =>
      (['failed', 'needs_attention', 'paused'].includes(ticket.status) && !isMarkedBlocked(ticket)) ||
      ticket.hold?.kind === 'starts',
  );
  const continues =
    plan.status === 'active' && !isStuck && tickets.some(({ status }) => status !== 'complete');
  const who = claim && claim.token !== holder.token ? claim : continues ? daemon : undefined;
  if (!who) return;
  const lease = holder.leaseLeft(who);
  throw new HeldError('plan/held', `Spec "${plan.name}" is already being run by ${sayHolder(who)}.`, {
    hint:
      lease === undefined
        ? `Watch it with: signalbox status --plan ${plan.id}`
        : onceLeaseIsOver(lease, runCommand(plan)),
    details: { holder: who },
  });
}

export function refuseErrors(problems: readonly SpecProblem[]): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (!first) return;
  const lines = errors.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  throw new InputError('spec/problems', lines.join('\n'), {
    hint: first.hint ?? `See: signalbox spec check ${dirname(first.file)}`,
    details: { problems: errors },
  });
}

/** Refuses to continue work in a worktree that started in the checkout, or the other way round. */
export function refuseMoved({ plan, tickets }: EarlierRun, inPlace: boolean): void {
  const was = plan.workspace === 'checkout';
  if (was === inPlace || !tickets.some((ticket) => ticket.phaseHistory.length > 0)) return;
  throw new InputError(
    'spec/moved',
    `Spec "${plan.name}" was begun ${was ? 'in the checkout' : 'on its own branch'}.`,
    { hint: `Continue ${was ? 'with' : 'without'} --in-place, or start over with --fresh.` },
  );
}

/** Refuses the branch that the checkout is on: one branch cannot be in two worktrees. */
export async function refuseCheckedOut(
  { workspaces }: EngineContext,
  { plan, tickets }: EarlierRun,
  branch: string,
): Promise<void> {
  const root = plan.repo ?? '';
  if (tickets.every(({ status }) => status === 'complete')) return;
  if ((await workspaces.head(root)).branch !== branch) return;
  const begun = tickets.some(({ phaseHistory }) => phaseHistory.length > 0);
  throw new InputError(
    'spec/standing',
    `The checkout ${root} is on ${branch}, on which the units work in a worktree of their own.`,
    {
      hint: `Switch it to another branch: git -C ${root} switch -\nOr work in it, on that branch, with --in-place${begun ? ' --fresh' : ''}.`,
      details: { root, branch },
    },
  );
}

/** Refuses what needs files that only this machine has. */
export async function refuseOnFleet(
  { workspaces }: EngineContext,
  { inPlace }: SpecRunRequest,
  { plan: { repo, spec }, aside }: SpecPlan,
): Promise<void> {
  if (inPlace)
    throw new InputError('fleet/checkout', 'The workers of a fleet cannot work in your checkout.', {
      hint: 'Leave out --in-place.',
    });
  const name = spec ? join(spec.inTree, spec.files.tasks) : '';
  if (repo && spec && !(await workspaces.isTracked(repo, name))) throw untracked(name, repo);
  const [left] = aside;
  if (left)
    throw new InputError(
      'spec/aside',
      `Unit ${left.unit?.id ?? left.ticketId} has begun, and its work is in the worktree of a worker.`,
      { hint: 'Let this run have that unit, too; or start over with --fresh.' },
    );
}

/** Refuses a checkout with the user's uncommitted changes: they must not be mixed with the agent's. */
export async function refuseDirty(
  engine: EngineContext,
  plan: Plan,
  tickets: readonly Ticket[],
): Promise<void> {
  const changes = await usersChanges(engine, plan, tickets);
  if (!changes) return;
  throw new InputError('spec/dirty', changes.message, {
    details: { files: changes.files },
    hint: changes.owner
      ? `Commit or stash them, then continue with: signalbox resume ${plan.id}`
      : 'Commit or stash them, or leave out --in-place to work on a branch of its own.',
  });
}

/** Refuses to continue after the branch was deleted: its complete units are lost unless they were merged. */
export async function refuseLost(
  { workspaces }: EngineContext,
  { id, name, repo, base, workspace }: Plan,
  tickets: readonly Ticket[],
): Promise<void> {
  const done = tickets.filter(({ status, phaseHistory }) => status === 'complete' && phaseHistory.length > 0);
  const last = done.sort((a, b) => (a.since ?? '').localeCompare(b.since ?? '')).at(-1);
  const branch = last?.branch;
  if (!repo || !branch || workspace === 'checkout' || (await workspaces.tip({ repo, branch }))) return;
  const tip = tipOf(last);
  const place = await workspaces.findWorkInBase({ repo, branch, base, recordedBase: null, tip });
  if (place === 'merged') return;
  const from = place === 'branch' ? `origin/${branch}` : tip;
  const units = done.length === 1 ? '1 unit that is' : `${done.length} units that are`;
  const restore = from ? `Bring it back: git -C ${repo} branch ${branch} ${from}\nOr start` : 'Start';
  throw new InputError(
    'spec/branch-gone',
    `The branch ${branch} of "${name}" is gone, and with it ${units} complete.`,
    {
      hint: `${restore} over, on a new branch, with --fresh; what is ticked in your copy stays done.`,
      details: { planId: id, branch, tip },
    },
  );
}
