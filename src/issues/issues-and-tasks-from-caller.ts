import { ownRepository } from '../github/find-own-repository.ts';
import { githubKey } from '../github/gh/repository-name.ts';
import type { GhOptions } from '../github/gh/run-gh.ts';
import { InputError, orError, SignalboxError } from '../model/errors.ts';
import { slugOfWords } from '../model/ids-and-branch-names.ts';
import { cleanLine, cleanText } from '../model/text/clean-escape-quote-plural.ts';
import { acceptanceCriteria } from './acceptance-criteria.ts';
import { mentionedDependencies } from './dependency-mentions.ts';
import { numberKey, numberOfKey } from './issue-references.ts';
import type { WorkItem } from './work-item.ts';

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
  const given = (info.dependsOn ?? []).map(numberKey);
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
    dependsOn: [...new Set([...mentionedDependencies({ body, labels }, numberKey), ...given])],
    repository: null,
  };
}

const TASK_KEY_PREFIX = 'task:';
/** Longer titles are cut; the whole text is then the description. */
const MAX_TITLE_CHARS = 100;

export function emptyTextError(): InputError {
  return new InputError('run/task', 'A task does not say what is to be done.', {
    hint: 'For example: signalbox run --task "Fix the typo in README"',
  });
}

/** A task in a person's own words. Its id is made of its first line, and differs from those that are taken. */
export async function itemFromText(
  text: string,
  isTaken: (item: Pick<WorkItem, 'key' | 'id' | 'title'>) => boolean | Promise<boolean>,
): Promise<WorkItem> {
  const whole = cleanText(text).trim();
  const title = cleanLine(whole.split('\n')[0] ?? '', MAX_TITLE_CHARS);
  if (title === '') throw emptyTextError();
  const words = slugOfWords(title);
  // A number alone would be taken for an issue.
  const name = /^\d+$/.test(words) ? `task-${words}` : words;
  let id = name;
  for (let next = 2; await isTaken({ key: `${TASK_KEY_PREFIX}${id}`, id, title }); next += 1)
    id = `${name}-${next}`;
  return {
    key: `${TASK_KEY_PREFIX}${id}`,
    id,
    number: null,
    title,
    body: whole === title ? '' : whole,
    labels: [],
    acceptanceCriteria: acceptanceCriteria(whole),
    url: null,
    state: 'open',
    dependsOn: [],
    repository: null,
  };
}

/** Described and fetched issues name each other by number or in full; this gives both one name. */
export async function joinNumbered(items: readonly WorkItem[], options: GhOptions): Promise<WorkItem[]> {
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
  const own = await orError(SignalboxError, () => ownRepository(options));
  if (own instanceof SignalboxError) return [...items];
  const byFull = new Map([...described].map((number) => [githubKey(own, number), numberKey(number)]));
  const clear = (key: string) => {
    const full = githubKey(own, numberOfKey(key) ?? 0);
    return byFull.get(key) ?? (fetched.has(full) ? full : key);
  };
  return items.map((item) => ({ ...item, dependsOn: [...new Set(item.dependsOn.map(clear))] }));
}
