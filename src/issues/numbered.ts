import { githubKey } from '../github/gh/repository-name.ts';
import { SignalboxError } from '../model/errors.ts';
import { cleanText } from '../model/text/clean.ts';
import { acceptanceCriteria } from './criteria.ts';
import type { FetchOptions, WorkItem } from './item.ts';
import { dependencyMentions, labelMentions } from './mentions.ts';
import { orError } from './problem.ts';
import { ownRepository } from './repository.ts';

/** What a caller knows of an issue that he has the number of. */
export interface IssueInfo {
  title: string;
  labels: string[];
  body?: string;
  /** Numbers of issues that must be done before, beside those that labels and text name. */
  dependsOn?: number[];
}

const PREFIX = 'number:';
const keyOf = (number: number) => `${PREFIX}${number}`;

/** The number that a key of such an issue has; undefined for all other keys. */
export function numberOfKey(key: string): number | undefined {
  return key.startsWith(PREFIX) ? Number(key.slice(PREFIX.length)) : undefined;
}

/** An issue that is told by its caller, read as one of GitHub would be. */
export function numberedItem(number: number, info: IssueInfo): WorkItem {
  const body = cleanText(info.body ?? '');
  const labels = info.labels ?? [];
  const written = dependencyMentions(body).flatMap((mention) => {
    if (mention.kind !== 'issue') return [];
    return mention.repository ? githubKey(mention.repository, mention.number) : keyOf(mention.number);
  });
  const named = [...labelMentions(labels), ...(info.dependsOn ?? [])].map(keyOf);
  return {
    key: keyOf(number),
    id: String(number),
    number,
    title: info.title,
    body,
    labels,
    acceptanceCriteria: acceptanceCriteria(body),
    url: null,
    state: 'open',
    dependsOn: [...new Set([...written, ...named])],
    repository: null,
  };
}

/** Issues that were told and issues that were fetched name each other by number or in full: made one. */
export async function joinNumbered(items: readonly WorkItem[], options: FetchOptions): Promise<WorkItem[]> {
  const told = new Set(items.flatMap(({ key }) => numberOfKey(key) ?? []));
  const fetched = new Map(items.map(({ key, number }) => [key, number]));
  const numbers = new Set(fetched.values());
  const isUnclear = (key: string) => {
    const number = numberOfKey(key);
    return number === undefined
      ? told.has(Number(/#(\d+)$/.exec(key)?.[1]))
      : !told.has(number) && numbers.has(number);
  };
  if (told.size === 0 || !items.some(({ dependsOn }) => dependsOn.some(isUnclear))) return [...items];
  const own = await orError(
    () => ownRepository(options),
    (error) => error,
  );
  if (own instanceof SignalboxError) return [...items];
  const byFull = new Map([...told].map((number) => [githubKey(own, number), keyOf(number)]));
  const clear = (key: string) => {
    const full = githubKey(own, numberOfKey(key) ?? 0);
    return byFull.get(key) ?? (fetched.has(full) ? full : key);
  };
  return items.map((item) => ({ ...item, dependsOn: [...new Set(item.dependsOn.map(clear))] }));
}
