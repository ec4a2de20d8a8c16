import { githubKey } from '../github/gh/repository-name.ts';
import { SignalboxError } from '../model/errors.ts';
import { cleanText } from '../model/text/clean.ts';
import { acceptanceCriteria } from './criteria.ts';
import { type FetchOptions, orError, type WorkItem } from './item.ts';
import { dependencyMentions, labelMentions } from './mentions.ts';
import { numberKey, numberOfKey } from './reference.ts';
import { ownRepository } from './repository.ts';

/** What a caller knows of an issue by its number. */
export interface IssueInfo {
  title: string;
  labels: string[];
  body?: string;
  /** Numbers of issues that must be done before, beside those that labels and text name. */
  dependsOn?: number[];
}

/** An issue that the caller describes, read as one of GitHub would be. */
export function numberedItem(number: number, info: IssueInfo): WorkItem {
  const body = cleanText(info.body ?? '');
  const labels = info.labels ?? [];
  const written = dependencyMentions(body).flatMap((mention) => {
    if (mention.kind !== 'issue') return [];
    return mention.repository ? githubKey(mention.repository, mention.number) : numberKey(mention.number);
  });
  const named = [...labelMentions(labels), ...(info.dependsOn ?? [])].map(numberKey);
  return {
    key: numberKey(number),
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

/** Described and fetched issues name each other by number or in full; this gives both one name. */
export async function joinNumbered(items: readonly WorkItem[], options: FetchOptions): Promise<WorkItem[]> {
  const described = new Set(items.flatMap(({ key }) => numberOfKey(key) ?? []));
  const fetched = new Map(items.map(({ key, number }) => [key, number]));
  const numbers = new Set(fetched.values());
  const isUnclear = (key: string) => {
    const number = numberOfKey(key);
    return number === undefined
      ? described.has(Number(/#(\d+)$/.exec(key)?.[1]))
      : !described.has(number) && numbers.has(number);
  };
  if (described.size === 0 || !items.some(({ dependsOn }) => dependsOn.some(isUnclear))) return [...items];
  const own = await orError(() => ownRepository(options));
  if (own instanceof SignalboxError) return [...items];
  const byFull = new Map([...described].map((number) => [githubKey(own, number), numberKey(number)]));
  const clear = (key: string) => {
    const full = githubKey(own, numberOfKey(key) ?? 0);
    return byFull.get(key) ?? (fetched.has(full) ? full : key);
  };
  return items.map((item) => ({ ...item, dependsOn: [...new Set(item.dependsOn.map(clear))] }));
}
