import { dirname, join } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { failedRef } from '../../engine/shared-tree.ts';
import type { TaskIdentity } from '../../kiro/index.ts';
import type { Plan } from '../../model/plan.ts';
import { type PlansView, ticketsOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { EvidenceRules } from '../../phases/index.ts';

/** What a ticket keeps of the unit that it stands for. */
export interface TicketUnit {
  id: string;
  /** The tasks that are to be ticked. */
  tasks: TaskIdentity[];
  /** Tasks of it that the engine has ticked before, in an earlier cut of the unit. */
  done?: readonly TaskIdentity[];
  /** All ids that are done with the unit, its own first unless something of it was left out. */
  ids: string[];
  /** Open tasks of it that were not selected. */
  leftOut?: readonly string[];
  work: string;
  context: string;
  requirements: string;
  design: string;
  verify: string[];
  checkpoint: boolean;
  /** Units that are to be assigned with it. */
  together?: readonly string[];
  /** What each of those was about when it was asked for: their hashes. */
  asked?: Readonly<Record<string, string>>;
  /** Changes when what is wanted does. */
  hash: string;
}

/** What a plan keeps of its spec. Paths are those of the user's own files. */
export interface PlanSpec {
  name: string;
  /** Real path of the directory. */
  dir: string;
  /** Where the two files lie that show its runs, where that is not beside it: a link to it is. */
  beside?: string | undefined;
  /** Where its files are in the tree that the work happens in, from the top of it. */
  inTree: string;
  /** False: git does not have it, so it is copied into the tree and ticked at its own place too. */
  tracked: boolean;
  /** Names of tasks.md and of the others that there are. */
  files: { tasks: string; others: string[] };
  /** Where tasks.md is in the tree, where it is a link. */
  list?: string | undefined;
  /** Sums of the others as they were last brought into the tree. */
  brought?: Readonly<Record<string, string>> | undefined;
  /** tasks.md as it was when the plan was last brought up to date. */
  text: string;
  /** An edited tasks.md that goes to the branch when the unit whose work lies in the tree is done. */
  pending?: string | undefined;
  /** Where the spec's branch began. */
  base: string | null;
  startedAt: string;
  /** Begun in earlier runs and not selected in this one. Their work is on refs, and nobody goes on with them. */
  aside?: readonly Ticket[];
  /** Ids of tickets that the plan had once; the tree may still be noted as theirs. */
  gone?: readonly string[];
  /** Parents that are ticked with what is in them, by the ids of the children that were open when the run began. */
  parents?: Readonly<Record<string, readonly string[]>>;
  /** Open units of the spec that this run was not asked for. */
  unselected?: number;
}

/** What the engine has done for a ticket: the latest of each task counts. */
export function ticksOf(ticket: Ticket): TaskIdentity[] {
  const unit = unitOf(ticket);
  const now = ticket.status === 'complete' ? (unit?.tasks ?? []) : [];
  return [...new Map([...(unit?.done ?? []), ...now].map((task) => [task.id, task])).values()];
}

/** Tasks that the engine itself knows to be done. */
export function engineTicks(plan: Plan, tickets: readonly Ticket[]): TaskIdentity[] {
  return [...(specOf(plan)?.aside ?? []), ...tickets].flatMap(ticksOf);
}

export function unitOf(ticket: Ticket): TicketUnit | undefined {
  return ticket.unit as TicketUnit | undefined;
}

export function specOf(plan: Plan): PlanSpec | undefined {
  return plan.kind === 'spec' ? (plan.spec as PlanSpec) : undefined;
}

/** Where the files lie that show a spec's runs. */
export function besideSpec({ dir, beside }: PlanSpec): string {
  return beside ?? dirname(dir);
}

/** A unit has to change something besides its spec, unless it is a review or a checkpoint. */
export function evidenceRules(ticket: Ticket, plan: Plan): EvidenceRules | null {
  const unit = unitOf(ticket);
  const spec = specOf(plan);
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
  const unit = unitOf(ticket);
  const spec = specOf(plan);
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
      const unit = unitOf(ticket);
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
    return lesson === '' ? [] : [`- ${unitOf(other)?.id ?? other.ticketId}: ${lesson}`];
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
