import type { GhOptions } from '../../github/gh/run-gh.ts';
import { type FetchResult, fetchItems } from '../../issues/fetch-work-items.ts';
import { numberOfKey, referenceFromKey } from '../../issues/issue-references.ts';
import { isForeign, sayItem, type WorkItem } from '../../issues/work-item.ts';
import type { Candidate } from './plan-issues.ts';
import type { Refused } from './request-and-result-types.ts';

/** Refuses issues that depend on one which is open, unfinished and not part of this run. Returns the others. */
export async function refuseOpenDependencies(
  options: GhOptions,
  given: { issues: readonly Candidate[]; finished: ReadonlyMap<string, string>; refused: Refused[] },
): Promise<Candidate[]> {
  const { issues, finished, refused } = given;
  const before = [...refused];
  const here = new Set([...issues.map(({ key }) => key), ...finished.keys()]);
  const dependencies = new Set(issues.filter(({ done }) => !done).flatMap(({ dependsOn }) => dependsOn));
  const outside = [...dependencies].filter((key) => !here.has(key));
  const references = outside.flatMap((key) => referenceFromKey(key) ?? []);
  const found = references.length > 0 ? await fetchItems(references, options) : null;
  const over = found?.items.filter((item) => item.state === 'closed') ?? [];
  const closed = new Set(
    over.flatMap((item) => [item.key, ...(isForeign(item) ? [] : [`number:${item.number}`])]),
  );
  let good = [...issues];
  // Issues that depend on a refused one are refused, too.
  for (let count = -1; count !== good.length; ) {
    count = good.length;
    const left = new Set([...good.map(({ key }) => key), ...finished.keys()]);
    good = good.filter((item) => {
      const open = item.done ? [] : item.dependsOn.filter((key) => !left.has(key) && !closed.has(key));
      const named = before.find((each) => each.item && open.includes(each.item.key));
      if (open.length > 0)
        refused.push(named ? waitsForNamed(item, named) : waits(item, open, issues, whyNotRead(found, open)));
      return open.length === 0;
    });
  }
  return good;
}

/** The refusal of an issue whose dependency is part of the run and was refused. */
function waitsForNamed(item: WorkItem, { reference, locked, waiting, reason }: Refused): Refused {
  const which = locked ? `is ${reason}` : waiting ? reason : `is not run: ${reason}`;
  const hint = locked
    ? `Run it again when ${reference} is done; watch that with: signalbox status`
    : `Continue ${reference} first, then name it again.`;
  return { reference: sayItem(item), item, reason: `depends on ${reference}, which ${which}`, hint };
}

/** Why one of these could not be read, without the full stop; undefined when all were. */
function whyNotRead(found: FetchResult | null, open: readonly string[]): string | undefined {
  const key = open.find((each) => !found?.items.some((item) => item.key === each));
  const about = (reference: string) => key?.endsWith(reference.replace(/^.*#/, '#')) === true;
  const problem = found?.problems.find(({ reference }) => about(reference)) ?? found?.problems[0];
  return key === undefined ? undefined : problem?.message.replace(/\.$/, '');
}

function waits(
  item: WorkItem,
  open: readonly string[],
  items: readonly WorkItem[],
  problem: string | undefined,
): Refused {
  const here = items.filter(({ key }) => open.includes(key)).map(sayItem);
  const about = { reference: sayItem(item), item };
  if (here.length > 0)
    return { ...about, reason: `depends on ${here.join(', ')}, which cannot be run either` };
  const names = open.map((key) => sayKey(key, item)).join(', ');
  if (problem !== undefined)
    return {
      ...about,
      reason: `depends on ${names}, and it is not known whether that is closed: ${problem}`,
      hint: 'Correct the dependency, or use --force.',
    };
  return {
    ...about,
    reason: `depends on ${names}, which is not closed and not part of this run`,
    hint: `Run ${names} too, or use --force.`,
  };
}

/** A number alone is an issue of the current repository. */
function sayKey(key: string, item: WorkItem): string {
  const bare = numberOfKey(key);
  if (bare !== undefined) return `#${bare}`;
  const [, repository, number] = /^[a-z]+:(.*)(#.*)$/.exec(key) ?? [];
  if (number === undefined) return key.replace(/^[a-z]+:/, '');
  const [own] = item.key.split('#');
  return key.startsWith(`${own}#`) && !isForeign(item) ? number : `${repository}${number}`;
}
