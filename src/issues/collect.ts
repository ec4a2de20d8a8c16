import { isWork, readSpec, type Spec, type Units, unitsOf } from '../kiro/index.ts';
import { InputError } from '../model/errors.ts';
import { fetchItems } from './fetch.ts';
import type { FetchOptions, SourceProblem, WorkItem } from './item.ts';
import { orError, problemOf } from './problem.ts';
import { parseReference, type Reference, type SpecReference } from './reference.ts';
import { type SpecWork, withSpecs } from './spec-ids.ts';
import { specItems } from './spec-items.ts';

export interface CollectOptions extends FetchOptions {
  /** What files and directories are relative to; `cwd` says which repository a plain number means. */
  filesFrom?: string;
  /** How specs are cut; `parent` by default. */
  unit?: 'parent' | 'leaf';
}

export interface CollectedWork {
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
  const problems: SourceProblem[] = [];
  const parsed: Reference[] = [];
  for (const text of references) {
    const reference = await orError(
      async () => parseReference(text, { cwd: options.filesFrom ?? options.cwd }),
      (error) => problemOf(text, error),
    );
    if ('kind' in reference) parsed.push(reference);
    else problems.push(reference);
  }
  const isSpec = (reference: Reference): reference is SpecReference => reference.kind === 'spec';
  const [fetched, ...specs] = await Promise.all([
    fetchItems(
      parsed.filter((reference) => !isSpec(reference)),
      options,
    ),
    ...parsed.filter(isSpec).map((reference) => readOne(reference, options)),
  ]);
  const all = withSpecs(fetched.items, specs);
  return {
    items: all.items,
    problems: [...problems, ...fetched.problems, ...specs.flatMap((spec) => spec.problems), ...all.problems],
    notes: [...new Set(specs.flatMap((spec) => spec.notes))],
  };
}

/** A spec with an error in it gives nothing: its order could not be trusted. */
async function readOne(
  { text, path }: SpecReference,
  { unit = 'parent' }: CollectOptions,
): Promise<CollectedWork & SpecWork> {
  return orError(
    async () => {
      const spec = await readSpec(path);
      const cut = unitsOf(spec, { unit });
      const found = [...spec.problems, ...cut.problems];
      const error = found.find(({ severity }) => severity === 'error');
      const notes = [
        ...leftOut(spec, cut),
        ...found.map(({ file, line, message }) => `${file}:${line}: ${message}`),
      ];
      if (!error) return { text, dir: spec.dir, items: specItems(spec, { unit }), problems: [], notes };
      throw new InputError('spec/broken', `${error.file}:${error.line}: ${error.message}`, {
        hint: `See all of them with: signalbox spec check ${text}`,
      });
    },
    (error) => ({ text, dir: path, items: [], problems: [problemOf(text, error)], notes: [] }),
  );
}

/** Optional tasks with work of their own that no unit has. */
function leftOut(spec: Spec, { units }: Units): string[] {
  const taken = new Set(units.flatMap(({ work }) => work));
  return spec.all
    .filter((task) => task.optional && !task.done && isWork(task) && !taken.has(task))
    .map(({ id }) => `${id} is optional and left out.`);
}
