import { basename } from 'node:path';
import { InputError } from '../model/errors.ts';
import { idProblem, slug } from '../model/ids.ts';
import type { SourceProblem, WorkItem } from './item.ts';
import { problemOf } from './problem.ts';

/** What one spec gave. */
export interface SpecWork {
  /** As it was named. */
  text: string;
  dir: string;
  items: WorkItem[];
}

/**
 * Units of most specs are called 1, 2, 3. Where those of one meet the id of anything else, the name of the spec goes before
 * all of its ids; what is still not unique is refused.
 */
export function withSpecs(
  fetched: readonly WorkItem[],
  specs: readonly SpecWork[],
): { items: WorkItem[]; problems: SourceProblem[] } {
  const meets = (spec: SpecWork) => {
    const others = [...fetched, ...specs.flatMap((other) => (other.dir === spec.dir ? [] : other.items))];
    return spec.items.some(({ id }) => others.some((other) => other.id === id));
  };
  const taken = new Set(fetched.map(({ id }) => id));
  const items = [...fetched];
  const problems: SourceProblem[] = [];
  for (const spec of specs) {
    const named = meets(spec) ? spec.items.map((item) => ({ ...item, id: longId(spec, item) })) : spec.items;
    for (const item of named) {
      // The same spec may be named twice.
      if (items.some(({ key }) => key === item.key)) continue;
      if (taken.has(item.id)) problems.push(clash(spec, item));
      else items.push(item);
      taken.add(item.id);
    }
  }
  return { items, problems };
}

function longId({ dir }: SpecWork, { id }: WorkItem): string {
  const long = `${slug(basename(dir), 40)}-${id}`;
  return idProblem(long) === undefined ? long : slug(long, 80);
}

function clash({ text }: SpecWork, { id }: WorkItem): SourceProblem {
  const message = `Two of them would be the ticket "${id}", one of which is in ${text}.`;
  const hint = 'Rename the directory of a spec, or make a plan of each.';
  return problemOf(text, new InputError('source/same-id', message, { hint }));
}
