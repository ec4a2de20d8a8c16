import { join } from 'node:path';
import type { Settings } from '../../config/settings-table.ts';
import type { EngineContext, PlanKind } from '../../engine/context.ts';
import { failedRef, putBack, takeOut } from '../../engine/share-worktree-between-tickets.ts';
import type { TicketWorkspace } from '../../engine/work-out-workspace-and-repository.ts';
import { explained, WorkspaceError } from '../../model/errors.ts';
import type { Plan, SpecRunPlan } from '../../model/plan.ts';
import { type PlansView, ticketsOf } from '../../model/plans/plans-view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { EvidenceRules } from '../../phases/perform-phase.ts';
import { ownersOf } from './assign-agents-to-units.ts';
import { bringPending } from './bring-spec-into-worktree.ts';
import { unlockSpec, waitForLock } from './spec-lock.ts';
import { SpecFiles } from './write-state-and-progress-files.ts';

/** Plans that were made from a spec: units that work on one branch, one after the other. */
export const specKind: PlanKind<SpecRunPlan> = {
  kind: 'spec',
  hooks: (context) => {
    const files = new SpecFiles(context);
    return {
      agent: (_plan, ticket) => ownerAgent(context, ticket),
      possibleAgents: (_plan, ticket) => possibleAgents(context, ticket),
      mayDrive: (plan, _ticket, { branch }) => waitForLock(context, plan, branch),
      handOver: (plan, _ticket, workspace) => bringPending(context, plan, workspace),
      variables: (plan, ticket) => ({
        unit: unitVariables(ticket, plan, context.settings, context.store.glance()),
      }),
      evidence: (plan, ticket) => evidenceRules(ticket, plan),
      left: (plan, ticket, workspace) => takeFailedUnitOut(context, plan, ticket, workspace),
      released: (planId) => unlockSpec(context, planId),
      // A unit that needs a person has stopped the whole spec.
      stoppedAt: (_plan, tickets) =>
        tickets.flatMap(({ status, since }) => (status === 'needs_attention' ? [since ?? ''] : [])),
      listen: (event) => files.listen(event),
      flush: (planId) => files.flush(planId),
    };
  },
};

/** The agent that the settings name for the unit's owner. */
function ownerAgent({ settings }: EngineContext, { context: { owner } }: Ticket): string | undefined {
  const { owners } = settings.specs;
  return typeof owner === 'string' && Object.hasOwn(owners, owner) ? owners[owner] : undefined;
}

/** An agent may give a unit without an owner to any of them. */
function possibleAgents({ settings }: EngineContext, { context: { owner } }: Ticket) {
  const owners = owner === undefined ? Object.entries(settings.specs.owners) : [];
  return owners.map(([name, agent]) => ({ agent, setting: `specs.owners.${name}` }));
}

/**
 * With `--on-failure continue`, takes the work of a failed unit out of the worktree at once. If that is not possible now, the next
 * unit tries again.
 */
async function takeFailedUnitOut(
  engine: EngineContext,
  plan: SpecRunPlan,
  ticket: Ticket,
  workspace: TicketWorkspace,
): Promise<void> {
  // On a fleet, the ticket is free by now, and the next unit may be on another machine.
  if (engine.store.fleet) return;
  if (plan.stopOnFailure || ticket.status !== 'failed' || ticket.base === null) return;
  try {
    await putBack({ engine, ticket, workspace });
    await takeOut({ engine, ticket, workspace });
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const { planId, ticketId } = ticket;
    engine.listen({ type: 'problem', planId, ticketId, message: explained(error), path: workspace.path });
  }
}

/** A unit has to change something besides its spec, unless it is a review or a checkpoint. */
function evidenceRules(ticket: Ticket, { spec }: SpecRunPlan): EvidenceRules | null {
  const unit = ticket.unit;
  if (!unit) return null;
  const free = unit.checkpoint || ticket.context.unit_type === 'review';
  const own = [spec.files.tasks, ...spec.files.others].map((name) => join(spec.inTree, name));
  const files = [...new Set([...own, ...(spec.list ? [spec.list] : [])])];
  return { notWork: free ? null : { files, called: 'the spec’s own files' }, keepAt: failedRef(ticket) };
}

const MAX_LESSON = 1_000;

const MAX_LESSONS = 8_000;

/** The template variable `unit`. */
function unitVariables(
  ticket: Ticket,
  plan: SpecRunPlan,
  settings: Settings,
  view: PlansView,
): Record<string, unknown> | null {
  const unit = ticket.unit;
  const { spec } = plan;
  if (!unit) return null;
  const { id, work, context, requirements, design } = unit;
  return {
    ...{ id, work, context, requirements, design },
    verify: unit.verify.join('\n'),
    files: [spec.files.tasks, ...spec.files.others].map((name) => `${spec.inTree}/${name}`).join(', '),
    earlier: lessons(plan, ticket, view),
    owners: ownersOf(settings).join(', '),
    others: otherUnits(unit.together ?? [], plan, view),
    skills: settings.specs.skills.join(', '),
    test_first: settings.specs.testFirst,
  };
}

const MAX_OTHER = 600;

/** The units that are assigned together with one, each with the beginning of its text. */
function otherUnits(ids: readonly string[], plan: Plan, view: PlansView): string {
  const known = new Map(ticketsOf(view, plan).map((ticket) => [ticket.unit?.id, ticket]));
  return ids
    .map((id) => {
      const { title = '', unit: { work = '' } = {} } = known.get(id) ?? {};
      return `## ${id} ${title}\n${work.length > MAX_OTHER ? `${work.slice(0, MAX_OTHER)}…` : work}`;
    })
    .join('\n\n');
}

/** What complete units reported for others, newest last; the oldest are left out if it gets long. */
function lessons(plan: Plan, ticket: Ticket, view: PlansView): string {
  const done = ticketsOf(view, plan)
    .filter((other) => other.status === 'complete' && other.ticketId !== ticket.ticketId)
    .sort((a, b) => (a.since ?? '').localeCompare(b.since ?? ''));
  const lines = done.flatMap((other) => {
    const lesson = learnedIn(other.context.summary);
    return lesson === '' ? [] : [`- ${other.unit?.id ?? other.ticketId}: ${lesson}`];
  });
  while (lines.join('\n').length > MAX_LESSONS) lines.shift();
  return lines.join('\n');
}

/** The text after `Learned:` in a final message, up to its signal. */
function learnedIn(summary: unknown): string {
  if (typeof summary !== 'string') return '';
  const [, said = ''] = /^[ \t>*_#-]*Learned:?[*_]*:?[ \t]*([\s\S]*)$/im.exec(summary) ?? [];
  const text = said.replace(/^[ \t]*(<promise>.*<\/promise>|TASK_DONE)[ \t]*$/gim, '');
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_LESSON);
}
