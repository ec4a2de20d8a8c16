import { type DesignSection, relevantDesign } from './design.ts';
import type { Spec } from './read-spec.ts';
import { sayRequirements } from './requirements.ts';
import { ancestorsOf, type SpecTask } from './task.ts';
import type { Unit } from './units.ts';

const MAX_REQUIREMENTS = 20_000;
const MAX_DESIGN = 8_000;

/** What a prompt says about a unit, as texts. */
interface PromptParts {
  id: string;
  title: string;
  /** The tasks to do with their details, as a list in Markdown. */
  work: string;
  /** What the unit is part of: titles and details of the parents of its tasks. Empty where there is nothing. */
  context: string;
  /** The requirements that the tasks name, in full. */
  requirements: string;
  /** Names of requirements that could not be found. */
  missing: string[];
  /** Sections of design.md by their headings, of a bounded length. */
  design: string;
  designTitles: string[];
  /** Commands of the spec itself that check whether the work is done. */
  verify: string[];
  /** Nothing but checkpoints: the checks are all there is to do. */
  checkpoint: boolean;
  files: Spec['files'];
}

export function promptParts(
  spec: Pick<Spec, 'byId' | 'index' | 'files' | 'sections'> & { design: readonly DesignSection[] },
  unit: Unit,
): PromptParts {
  const work = unit.open.length > 0 ? unit.open : unit.work;
  const around = aroundOf(spec, work);
  const all = [...around, ...work];
  const ids = all.flatMap((task) => task.requirements.map(({ id }) => id));
  const named = spec.index.named(ids);
  const words = all.flatMap((task) => [task.title, ...Object.values(task.fields).flat()]).join(' ');
  const design = relevantDesign(spec.design, { words, requirements: ids }, MAX_DESIGN);
  return {
    id: unit.id,
    title: unit.title,
    work: work.map(sayTask).join('\n'),
    context: around.map(sayTask).join('\n'),
    requirements: bounded(sayRequirements(named), MAX_REQUIREMENTS),
    missing: named.missing,
    design: design.text,
    designTitles: design.titles,
    verify: verifyOf(spec, all),
    checkpoint: work.every((task) => task.checkpoint),
    files: spec.files,
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
