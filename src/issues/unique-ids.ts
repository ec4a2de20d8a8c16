import { parseRepository } from '../github/gh/repository-name.ts';
import { InputError } from '../model/errors.ts';
import { idProblem } from '../model/ids.ts';
import type { Sourced, SourceProblem } from './item.ts';
import { problemOf } from './problem.ts';

/**
 * Two items of one call never share an id. Issues of other repositories are told apart by their owner; of two files
 * with the same name or id the second is refused, since any id made up for it would change from call to call.
 */
export function uniqueIds(found: readonly Sourced[]): { found: Sourced[]; problems: SourceProblem[] } {
  const taken = new Map<string, Sourced>();
  const problems: SourceProblem[] = [];
  for (const sourced of found) {
    const id = [sourced.item.id, longId(sourced)].find((each) => each !== undefined && !taken.has(each));
    if (id !== undefined) taken.set(id, { ...sourced, item: { ...sourced.item, id } });
    else problems.push(clash(sourced, taken.get(sourced.item.id)));
  }
  return { found: [...taken.values()], problems };
}

function longId({ item: { number, repository, id } }: Sourced): string | undefined {
  const name = parseRepository(repository ?? '');
  if (!name || id === String(number)) return undefined;
  const long = `${name.owner}-${id}`;
  return idProblem(long) === undefined ? long : undefined;
}

function clash({ reference, item }: Sourced, other: Sourced | undefined): SourceProblem {
  const message = `${reference.text} has the id "${item.id}", and so has ${other?.reference.text ?? 'another'}.`;
  const hint = 'Give one of them another `id:` in its front matter, or run them one after the other.';
  return problemOf(reference.text, new InputError('source/same-id', message, { hint }));
}
