import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Settings } from '../../config/table.ts';
import type { EngineContext } from '../../engine/context.ts';
import { failedRef } from '../../engine/shared-tree.ts';
import { promptParts } from '../../kiro/prompt-parts.ts';
import type { Spec } from '../../kiro/read-spec.ts';
import { isWork, withDescendants } from '../../kiro/task.ts';
import { identityOf, type TaskIdentity } from '../../kiro/tick.ts';
import type { Unit } from '../../kiro/units.ts';
import { idProblem, slug } from '../../model/ids.ts';
import type { Plan, PlanSpec, SpecRunPlan } from '../../model/plan.ts';
import { type PlansView, ticketsOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { TicketUnit } from '../../model/ticket-schema.ts';
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
export function evidenceRules(ticket: Ticket, { spec }: SpecRunPlan): EvidenceRules | null {
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
export function unitVariables(
  ticket: Ticket,
  plan: SpecRunPlan,
  settings: Settings,
  view: Pick<PlansView, 'tickets'>,
): Record<string, unknown> | null {
  const unit = ticket.unit;
  const { spec } = plan;
  if (!unit) return null;
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
function learnedIn(summary: unknown): string {
  if (typeof summary !== 'string') return '';
  const [, said = ''] = /^[ \t>*_#-]*Learned:?[*_]*:?[ \t]*([\s\S]*)$/im.exec(summary) ?? [];
  const text = said.replace(/^[ \t]*(<promise>.*<\/promise>|TASK_DONE)[ \t]*$/gim, '');
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_LESSON);
}

/** A unit as its ticket stores it. */
export function describeUnit(spec: Spec, unit: Unit): TicketUnit {
  const parts = promptParts(spec, unit);
  const work = unit.open.length > 0 ? unit.open : unit.work;
  return {
    id: unit.id,
    tasks: work.map(identityOf),
    ids: idsOf(unit),
    ...(unit.leftOut.length > 0 ? { leftOut: unit.leftOut.map(({ id }) => id) } : {}),
    work: parts.work,
    context: parts.context,
    requirements: parts.requirements,
    design: parts.design,
    verify: parts.verify,
    checkpoint: parts.checkpoint,
    hash: unitHash(unit),
  };
}

/** Of each parent that is ticked with its last child: its open children. */
export function openParents({ all }: Pick<Spec, 'all'>): Record<string, string[]> {
  return Object.fromEntries(
    all
      .filter((task) => task.box !== null && task.children.length > 0 && !isWork(task))
      .map(({ id, done, optional, children }) => {
        const left = children.filter((child) => !child.done && (!child.optional || optional));
        return { id, done, left: left.map((child) => child.id) };
      })
      .filter(({ done, left }) => done || left.length > 0)
      .map(({ id, left }) => [id, left]),
  );
}

/** Identifies the text of a unit's tasks. */
export function unitHash({ work }: Unit): string {
  const identity = work.map(({ id, title, details }) => [id, title, details]);
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
}

/** A parent with tasks that are left out is not done with the others. */
function idsOf(unit: Unit): string[] {
  const inside = withDescendants(unit.root).flatMap(({ id }) => inUnit(unit, id));
  return [...new Set(unit.leftOut.length > 0 ? inside : [unit.id, ...inside])];
}

function inUnit(unit: Unit, id: string): string[] {
  return unit.work.some((task) => task.id === id) ? [id] : [];
}

/** An id that may be a file name; other ids get a few digits of their hash. */
export function ticketIdOf(id: string): string {
  if (idProblem(id) === undefined) return id;
  const digits = createHash('sha256').update(id).digest('hex').slice(0, 8);
  return `${slug(id, 60)}-${digits}`;
}
