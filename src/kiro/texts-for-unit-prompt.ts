import type { Unit } from './group-tasks-into-units.ts';
import { sayRequirements } from './parse-and-find-requirements.ts';
import { relevantDesign } from './parse-and-select-design-sections.ts';
import type { Spec } from './read-spec.ts';
import { ancestorsOf, type SpecTask } from './task-and-problem-types.ts';

const MAX_REQUIREMENTS = 20_000;

/** The texts of a prompt about a unit. */
export function promptParts(spec: Pick<Spec, 'byId' | 'index' | 'sections' | 'design'>, unit: Unit) {
  const work = unit.open.length > 0 ? unit.open : unit.work;
  const around = aroundOf(spec, work);
  const all = [...around, ...work];
  const ids = all.flatMap((task) => task.requirements.map(({ id }) => id));
  const words = all.flatMap((task) => [task.title, ...Object.values(task.fields).flat()]).join(' ');
  return {
    /** The tasks to do with their details, as a list in Markdown. */
    work: work.map(sayTask).join('\n'),
    /** Titles and details of the parents of its tasks; may be empty. */
    context: around.map(sayTask).join('\n'),
    /** The requirements that the tasks name, in full. */
    requirements: bounded(sayRequirements(spec.index.named(ids)), MAX_REQUIREMENTS),
    /** Sections of design.md by their headings, of a bounded length. */
    design: relevantDesign(spec.design, words, ids),
    /** Commands in the spec that check whether the work is done. */
    verify: verifyOf(spec, all),
    /** The unit has only checkpoints: it needs checks and no agent. */
    checkpoint: work.every((task) => task.checkpoint),
  };
}

/** Parents of the tasks that are not among them, outermost first, each once. */
function aroundOf(spec: Pick<Spec, 'byId'>, work: readonly SpecTask[]): SpecTask[] {
  const known = new Set(work);
  return work.flatMap((task) => {
    const found: SpecTask[] = [];
    for (const parent of ancestorsOf(spec, task)) {
      if (known.has(parent)) break;
      known.add(parent);
      found.unshift(parent);
    }
    return found;
  });
}

function sayTask(task: SpecTask): string {
  const name = task.numbered ? `${task.id} ${task.title}` : task.title;
  const details = task.details.map((detail) => `  - ${detail.replaceAll('\n', '\n    ')}`);
  return [`- ${name}`, ...details].join('\n');
}

/** `**Verify**` lines of the tasks and of the headings above them. */
function verifyOf(spec: Pick<Spec, 'sections'>, tasks: readonly SpecTask[]): string[] {
  const titles = new Set(
    tasks.flatMap((task) => [task.section, task.kind === 'section' ? task.title : null]),
  );
  const lines = new Set(tasks.filter((task) => task.kind !== 'item').map((task) => task.line));
  const sections = spec.sections.filter((section) => lines.has(section.line) || titles.has(section.title));
  const own = tasks.flatMap((task) => [...(task.fields.verify ?? []), ...(task.fields.validation ?? [])]);
  return [...new Set([...own, ...sections.flatMap((section) => section.verify)])];
}

function bounded(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}\n[The rest is in the file.]`;
}
