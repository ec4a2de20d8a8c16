import { InputError } from '../model/errors.ts';
import { fetchItems } from './fetch.ts';
import type { FetchOptions, SourceProblem, WorkItem } from './item.ts';
import { readSpec, specItems, unitsOf } from './kiro/index.ts';
import { orError, problemOf } from './problem.ts';
import { parseReference, type Reference, type SpecReference } from './reference.ts';

export interface CollectOptions extends FetchOptions {
  /** What files and directories are relative to; `cwd` says which repository a plain number means. */
  filesFrom?: string;
  /** How specs are cut; `parent` by default. */
  unit?: 'parent' | 'leaf';
}

export interface CollectedWork {
  items: WorkItem[];
  problems: SourceProblem[];
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
  const items = [...fetched.items, ...specs.flatMap((spec) => spec.items)];
  return {
    items: items.filter((item, index) => items.findIndex(({ key }) => key === item.key) === index),
    problems: [...problems, ...fetched.problems, ...specs.flatMap((spec) => spec.problems)],
  };
}

/** A spec with an error in it gives nothing: its order could not be trusted. */
async function readOne(
  { text, path }: SpecReference,
  { unit = 'parent' }: CollectOptions,
): Promise<CollectedWork> {
  return orError(
    async () => {
      const spec = await readSpec(path);
      const [error] = [...spec.problems, ...unitsOf(spec, { unit }).problems].filter(
        ({ severity }) => severity === 'error',
      );
      if (!error) return { items: specItems(spec, { unit }), problems: [] };
      throw new InputError('spec/broken', `${error.file}:${error.line}: ${error.message}`, {
        hint: `See all of them with: signalbox spec check ${text}`,
      });
    },
    (error): CollectedWork => ({ items: [], problems: [problemOf(text, error)] }),
  );
}
