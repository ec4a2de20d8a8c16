import { readSpec, type Spec } from '../kiro/read-spec.ts';
import { isWork } from '../kiro/task.ts';
import { type Units, unitsOf } from '../kiro/units.ts';
import { InputError } from '../model/errors.ts';
import { fetchItems } from './fetch.ts';
import { type FetchOptions, orProblems, type SourceProblem, type WorkItem } from './item.ts';
import { parseReference, type Reference, type SpecReference } from './reference.ts';
import { type SpecWork, specItems, withSpecs } from './spec-items.ts';

interface CollectOptions extends FetchOptions {
  /** What files and directories are relative to; `cwd` says which repository a plain number means. */
  filesFrom?: string;
  /** How specs are cut; `parent` by default. */
  unit?: 'parent' | 'leaf';
}

interface CollectedWork {
  items: WorkItem[];
  problems: SourceProblem[];
  /** What a spec says that was not taken as it stands. */
  notes: string[];
}

/** Everything that references name, spec directories included, in the order of the references. */
export async function collectWork(
  references: readonly string[],
  options: CollectOptions,
): Promise<CollectedWork> {
  const cwd = options.filesFrom ?? options.cwd;
  const parsed = await orProblems(references, String, (text) => parseReference(text, { cwd }));
  const isSpec = (reference: Reference): reference is SpecReference => reference.kind === 'spec';
  const others = parsed.found.filter((reference) => !isSpec(reference));
  const [fetched, specs] = await Promise.all([
    fetchItems(others, options),
    orProblems(
      parsed.found.filter(isSpec),
      ({ text }) => text,
      (reference) => readOne(reference, options.unit ?? 'parent'),
    ),
  ]);
  const all = withSpecs(fetched.items, specs.found);
  return {
    items: all.items,
    problems: [...parsed.problems, ...fetched.problems, ...specs.problems, ...all.problems],
    notes: [...new Set(specs.found.flatMap((spec) => spec.notes))],
  };
}

/** A spec with an error in it gives nothing: its order could not be trusted. */
async function readOne(
  { text, path }: SpecReference,
  unit: 'parent' | 'leaf',
): Promise<SpecWork & { notes: string[] }> {
  const spec = await readSpec(path);
  const units = unitsOf(spec, { unit });
  const found = [...spec.problems, ...units.problems];
  const error = found.find(({ severity }) => severity === 'error');
  if (error)
    throw new InputError('spec/broken', `${error.file}:${error.line}: ${error.message}`, {
      hint: `See all of them with: signalbox spec check ${text}`,
    });
  const notes = found.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  return {
    text,
    dir: spec.dir,
    items: specItems(spec, { unit }),
    notes: [...leftOut(spec, units), ...notes],
  };
}

/** Optional tasks with work of their own that no unit has. */
function leftOut(spec: Spec, { units }: Units): string[] {
  const taken = new Set(units.flatMap(({ work }) => work));
  return spec.all
    .filter((task) => task.optional && !task.done && isWork(task) && !taken.has(task))
    .map(({ id }) => `${id} is optional and left out.`);
}
