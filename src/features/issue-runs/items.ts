import type { EngineContext } from '../../engine/context.ts';
import { type IssuePlace, placeItems } from '../../issues/checkouts.ts';
import { type FetchResult, fetchItems } from '../../issues/fetch.ts';
import { joinNumbered } from '../../issues/github/issue.ts';
import { isForeign, sayItem, type WorkItem } from '../../issues/item.ts';
import { numberOfKey, referenceFromKey } from '../../issues/reference.ts';
import { InputError } from '../../model/errors.ts';
import { runMode } from './options/execution-config.ts';
import type { IssueRunRequest, Refused } from './types.ts';

interface Collected {
  items: WorkItem[];
  /** By key of the item. */
  places: Map<string, IssuePlace>;
  /** Keys of the items, by what was typed for them. */
  keys: ReadonlyMap<string, string>;
  refused: Refused[];
}

/** Fetches what is not known already. Bad references, and in a chain or sequence anything missing, refuse the whole run. */
export async function collectItems(parts: EngineContext, request: IssueRunRequest): Promise<Collected> {
  const known = request.known ?? [];
  const bare = (text: string) => text.replace(/^#/, '');
  const open = request.references.filter((text) => !known.some((item) => item.id === bare(text)));
  const fetched =
    open.length > 0
      ? await fetchItems(open, fetchOptions(parts, request))
      : { items: [], keys: new Map<string, string>(), problems: [] };
  const all = await joinNumbered([...known, ...fetched.items], fetchOptions(parts, request));
  const { places, refused: elsewhere } = await placeItems(
    { workspaces: parts.workspaces, repos: parts.settings.repos },
    request.cwd,
    all,
  );
  const missing = fetched.problems.map(
    ({ reference, message, hint }): Refused => ({ reference, item: null, reason: message, hint }),
  );
  const refused = [...missing, ...elsewhere];
  const items = all.filter((item) => places.has(item.key));
  const bad = fetched.problems.find((problem) => problem.code === 'source/reference');
  const strict = runMode(request.config) !== 'parallel' || items.length === 0;
  const [first] = bad ? [{ reason: bad.message, hint: bad.hint }] : strict ? refused : [];
  if (first)
    throw new InputError('run/reference', sentence(first.reason), { hint: first.hint, details: { refused } });
  const keys = new Map([...known.map((item) => [item.id, item.key] as const), ...fetched.keys]);
  return { items, places, keys, refused };
}

/** References by group as keys; whatever form an issue was named in, it is in one group. */
export function batchKeys(
  batches: readonly (readonly string[])[],
  keys: ReadonlyMap<string, string>,
): string[][] {
  const seen = new Map<string, number>();
  return batches.map((names, index) =>
    names.flatMap((name) => {
      const key = keys.get(name) ?? keys.get(name.replace(/^#/, ''));
      if (key === undefined) return [];
      const other = seen.get(key);
      if (other !== undefined)
        throw new InputError(
          'run/batch',
          other === index
            ? `${name} is in batch ${index + 1} twice.`
            : `${name} is in batch ${other + 1} and in batch ${index + 1}.`,
          { hint: 'Name each issue once.' },
        );
      seen.set(key, index);
      return [key];
    }),
  );
}

interface DependencyInput {
  items: readonly WorkItem[];
  /** Those that need no run. */
  done: ReadonlyMap<string, unknown>;
  /** Keys of what is not part of this run and was finished by an earlier one. */
  finished: ReadonlyMap<string, unknown>;
  /** What was asked for and is not run. */
  refused: readonly Refused[];
}

/** An issue that depends on one which is open, unfinished and not part of this run cannot start from its work. */
export async function withDependencies(
  parts: EngineContext,
  request: IssueRunRequest,
  { items, done, finished, refused: before }: DependencyInput,
): Promise<{ items: WorkItem[]; refused: Refused[] }> {
  const here = new Set([...items.map((item) => item.key), ...finished.keys()]);
  const outside = [
    ...new Set(items.filter((item) => !done.has(item.key)).flatMap((item) => item.dependsOn)),
  ].filter((key) => !here.has(key));
  const references = outside.flatMap((key) => referenceFromKey(key) ?? []);
  const found = references.length > 0 ? await fetchItems(references, fetchOptions(parts, request)) : null;
  const over = found?.items.filter((item) => item.state === 'closed') ?? [];
  const closed = new Set(
    over.flatMap((item) => [item.key, ...(isForeign(item) ? [] : [`number:${item.number}`])]),
  );
  const refused: Refused[] = [];
  let good = [...items];
  // What is refused takes with it what depends on it.
  for (let count = -1; count !== good.length; ) {
    count = good.length;
    const left = new Set([...good.map((item) => item.key), ...finished.keys()]);
    good = good.filter((item) => {
      const open = done.has(item.key)
        ? []
        : item.dependsOn.filter((key) => !left.has(key) && !closed.has(key));
      const named = before.find((each) => each.item && open.includes(each.item.key));
      if (open.length > 0)
        refused.push(named ? waitsForNamed(item, named) : waits(item, open, items, unread(found, open)));
      return open.length === 0;
    });
  }
  return { items: good, refused };
}

/** What it depends on was asked for, too, and there is a reason why that is not run. */
function waitsForNamed(item: WorkItem, { reference, locked, waiting, reason }: Refused): Refused {
  const which = locked ? `is ${reason}` : waiting ? reason : `is not run: ${reason}`;
  const hint = locked
    ? `Run it again when ${reference} is done; watch that with: signalbox status`
    : `Go on with ${reference} first, then name it again.`;
  return { reference: sayItem(item), item, reason: `depends on ${reference}, which ${which}`, hint };
}

/** Why one of these could not be read, without the full stop; undefined when all were. */
function unread(found: FetchResult | null, open: readonly string[]): string | undefined {
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

function fetchOptions(parts: EngineContext, { cwd, signal }: IssueRunRequest) {
  return { cwd, env: parts.env, gh: parts.settings.ghCommand, ...(signal ? { signal } : {}) };
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}
