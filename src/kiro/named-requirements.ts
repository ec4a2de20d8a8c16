import { type Criterion, type Requirement, requirementKey } from './requirements.ts';

export interface NamedRequirements {
  found: { requirement: Requirement; criteria: Criterion[] }[];
  /** What was named and is not there. */
  missing: string[];
}

interface Place {
  requirement: Requirement;
  /** Undefined for the requirement as a whole. */
  criterion: Criterion | undefined;
}

/** Finds what tasks name. Made once for a file: a lookup costs the same however long it is. */
export class RequirementIndex {
  readonly #all: readonly Requirement[];
  readonly #places = new Map<string, Place>();

  constructor(all: readonly Requirement[]) {
    this.#all = all;
    for (const requirement of all) {
      this.#put(requirement.id, { requirement, criterion: undefined });
      for (const criterion of requirement.criteria) this.#put(criterion.id, { requirement, criterion });
    }
  }

  has(id: string): boolean {
    return isAll(id) || this.#places.has(requirementKey(id));
  }

  /** Whole requirements for `1`, single criteria for `1.2`, all for `all`; as they stand in the file, each once. */
  named(ids: readonly string[]): NamedRequirements {
    const wanted = new Map<Requirement, Set<Criterion>>();
    const missing: string[] = [];
    for (const id of ids) {
      const place = this.#places.get(requirementKey(id));
      if (isAll(id)) for (const each of this.#all) wanted.set(each, new Set(each.criteria));
      else if (!place) missing.push(id);
      else {
        const criteria = wanted.get(place.requirement) ?? new Set();
        for (const each of place.criterion ? [place.criterion] : place.requirement.criteria)
          criteria.add(each);
        wanted.set(place.requirement, criteria);
      }
    }
    const found = this.#all.flatMap((requirement) => {
      const chosen = wanted.get(requirement);
      return chosen
        ? [{ requirement, criteria: requirement.criteria.filter((each) => chosen.has(each)) }]
        : [];
    });
    return { found, missing: [...new Set(missing)] };
  }

  #put(id: string, place: Place): void {
    const key = requirementKey(id);
    if (key !== '' && !this.#places.has(key)) this.#places.set(key, place);
  }
}

function isAll(id: string): boolean {
  return id.toLowerCase() === 'all';
}

/** As text for a prompt, with the numbers that the task names. */
export function sayRequirements({ found }: NamedRequirements): string {
  return found
    .map(({ requirement: { id, title, text }, criteria }) =>
      [
        id === '' ? title : `Requirement ${id}${title === '' ? '' : `: ${title}`}`,
        ...(text === '' ? [] : [text]),
        ...criteria.map((criterion) => `${criterion.id} ${criterion.text}`),
      ].join('\n'),
    )
    .join('\n\n');
}
