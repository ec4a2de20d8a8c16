import { InputError } from '../model/errors.ts';
import { githubSource } from './github/source.ts';
import type {
  Fetched,
  FetchOptions,
  Source,
  SourceContext,
  Sourced,
  SourceProblem,
  WorkItem,
} from './item.ts';
import { linearSource } from './linear/source.ts';
import { markdownSource } from './markdown.ts';
import { orError, problemOf } from './problem.ts';
import { parseReference, type Reference } from './reference.ts';
import { ownRepository } from './repository.ts';
import { uniqueIds } from './unique-ids.ts';
import { resolveWaits } from './waits.ts';

export interface FetchResult {
  /** In the order of the references, each once. */
  items: WorkItem[];
  /** Key of the item that each reference gave, by its text. */
  keys: ReadonlyMap<string, string>;
  /** One for each reference that gave no item. */
  problems: SourceProblem[];
}

/**
 * Fetches what the references name, as few calls to each tracker as it takes. What cannot be had is a problem in the
 * result; the promise rejects only with the reason of an abort.
 */
export async function fetchItems(
  references: readonly (string | Reference)[],
  options: FetchOptions,
): Promise<FetchResult> {
  options.signal?.throwIfAborted();
  const problems: SourceProblem[] = [];
  const parsed: Reference[] = [];
  for (const reference of references) {
    const result = await orError(
      async () => (typeof reference === 'string' ? parseReference(reference, options) : reference),
      (error) => problemOf(String(reference), error),
    );
    if ('kind' in result) parsed.push(result);
    else problems.push(result);
  }
  const context: SourceContext = { ...options, ownRepository: once(() => ownRepository(options)) };
  const answers = await Promise.all([
    fetchFrom(githubSource, parsed, context),
    fetchFrom(linearSource, parsed, context),
    fetchFrom(markdownSource, parsed, context),
    specs(parsed),
  ]);
  options.signal?.throwIfAborted();
  problems.push(...answers.flatMap((answer) => answer.problems));
  const all = answers.flatMap((answer): Sourced[] => answer.found);
  const unique = uniqueIds(inOrder(parsed, all));
  const resolved = await resolveWaits(unique.found, context);
  return {
    items: resolved.found.map(({ item }) => item),
    keys: new Map(all.map(({ reference, item }) => [reference.text, item.key])),
    problems: [...problems, ...unique.problems, ...resolved.problems],
  };
}

async function fetchFrom<R extends Reference>(
  source: Source<R>,
  all: readonly Reference[],
  context: SourceContext,
): Promise<Fetched<R>> {
  const own = all.filter((reference): reference is R => reference.kind === source.kind);
  return own.length === 0 ? { found: [], problems: [] } : source.fetch(own, context);
}

function specs(all: readonly Reference[]): Fetched {
  const problems = all.flatMap((reference) => {
    if (reference.kind !== 'spec') return [];
    const message = `${reference.path} is a directory; specs cannot be fetched as issues.`;
    const hint = 'Name the Markdown files in it one by one.';
    return [problemOf(reference.text, new InputError('source/spec', message, { hint }))];
  });
  return { found: [], problems };
}

/** The order of the references; what two of them name counts once. */
function inOrder(references: readonly Reference[], found: readonly Sourced[]): Sourced[] {
  const place = new Map(references.map((reference, index) => [reference, index]));
  const sorted = [...found].sort((a, b) => (place.get(a.reference) ?? 0) - (place.get(b.reference) ?? 0));
  const seen = new Set<string>();
  return sorted.filter(({ item: { key }, reference }) => {
    // Two files with the same id are not the same thing; that is told later.
    const mark = reference.kind === 'markdown' ? reference.path : key;
    return !seen.has(mark) && seen.add(mark);
  });
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}
