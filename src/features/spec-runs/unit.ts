import { dirname, join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import type { EngineContext } from '../../engine/context.ts';
import { failedRef } from '../../engine/shared-tree.ts';
import type { TaskIdentity } from '../../kiro/tick.ts';
import type { Plan, PlanSpec, SpecRunPlan } from '../../model/plan.ts';
import { type PlansView, ticketsOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { EvidenceRules } from '../../phases/index.ts';

/** What the engine has done for a ticket: the latest of each task counts. */
export function ticksOf(ticket: Ticket): TaskIdentity[] {
  const unit = ticket.unit;
  const now = ticket.status === 'complete' ? (unit?.tasks ?? []) : [];
  return [...new Map([...(unit?.done ?? []), ...now].map((task) => [task.id, task])).values()];
}

/** Tasks that the engine itself knows to be done. */
export function engineTicks(plan: Plan, tickets: readonly Ticket[]): TaskIdentity[] {
  return [...(plan.spec?.aside ?? []), ...tickets].flatMap(ticksOf);
}

/** Changes the plan of a spec; any other plan stays as it is. */
export function updateSpecPlan(
  { store }: Pick<EngineContext, 'store'>,
  planId: string,
  change: (plan: SpecRunPlan) => SpecRunPlan,
): Promise<Plan> {
  return store.updatePlan(planId, (latest) => (latest.kind === 'spec' ? change(latest) : latest));
}

/** Where the files lie that show a spec's runs. */
export function besideSpec({ dir, beside }: PlanSpec): string {
  return beside ?? dirname(dir);
}

/** A unit has to change something besides its spec, unless it is a review or a checkpoint. */
export function evidenceRules(ticket: Ticket, plan: Plan): EvidenceRules | null {
  const unit = ticket.unit;
  const spec = plan.spec;
  if (!unit || !spec) return null;
  const free = unit.checkpoint || ticket.context.unit_type === 'review';
  const own = [spec.files.tasks, ...spec.files.others].map((name) => join(spec.inTree, name));
  const files = [...new Set([...own, ...(spec.list ? [spec.list] : [])])];
  return { notWork: free ? null : { files, called: 'the spec’s own files' }, keepAt: failedRef(ticket) };
}

const MAX_LESSON = 1_000;
const MAX_LESSONS = 8_000;

/** The template variable `unit`. */
export function unitVariables(
  ticket: Ticket,
  plan: Plan,
  settings: Settings,
  view: Pick<PlansView, 'tickets'>,
): Record<string, unknown> | null {
  const unit = ticket.unit;
  const spec = plan.spec;
  if (!unit || !spec) return null;
  return {
    id: unit.id,
    work: unit.work,
    context: unit.context,
    requirements: unit.requirements,
    design: unit.design,
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

/** The units that are assigned together with one, each with the beginning of what it is about. */
function otherUnits(ids: readonly string[], plan: Plan, view: Pick<PlansView, 'tickets'>): string {
  const known = new Map(
    ticketsOf(view, plan).flatMap((ticket) => {
      const unit = ticket.unit;
      return unit ? [[unit.id, { title: ticket.title, work: unit.work }] as const] : [];
    }),
  );
  return ids
    .map((id) => {
      const { title = '', work = '' } = known.get(id) ?? {};
      return `## ${id} ${title}\n${work.length > MAX_OTHER ? `${work.slice(0, MAX_OTHER)}…` : work}`;
    })
    .join('\n\n');
}

/** Whom a unit may be given to; `default` is whoever runs when nobody else is named. */
export function ownersOf(settings: Settings): string[] {
  return [...new Set(['default', ...Object.keys(settings.specs.owners)])];
}

/** What complete units said that others should know, newest last and the oldest left out where it gets long. */
function lessons(plan: Plan, ticket: Ticket, view: Pick<PlansView, 'tickets'>): string {
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

/** What stands behind `Learned:` in a final message, up to its signal. */
export function learnedIn(summary: unknown): string {
  if (typeof summary !== 'string') return '';
  const [, said = ''] = /^[ \t>*_#-]*Learned:?[*_]*:?[ \t]*([\s\S]*)$/im.exec(summary) ?? [];
  const text = said.replace(/^[ \t]*(<promise>.*<\/promise>|TASK_DONE)[ \t]*$/gim, '');
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_LESSON);
}
