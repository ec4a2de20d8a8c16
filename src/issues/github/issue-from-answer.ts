import { nodesOf } from '../../github/gh/graphql.ts';
import {
  githubKey,
  parseRepository,
  type RepositoryName,
  repositoryText,
} from '../../github/gh/repository-name.ts';
import { GhError, type GhOptions } from '../../github/gh/run-gh.ts';
import { ownRepository } from '../../github/own-repository.ts';
import { SignalboxError } from '../../model/errors.ts';
import { idProblem } from '../../model/ids.ts';
import { cleanLabels, cleanLine, cleanText } from '../../model/text/clean-quote-plural.ts';
import { asRecord, asText } from '../../model/text/json.ts';
import { acceptanceCriteria } from '../acceptance-criteria.ts';
import { dependencyMentions, labelMentions } from '../dependency-mentions.ts';
import { numberKey, numberOfKey } from '../reference.ts';
import { orError, type WorkItem } from '../work-item.ts';

/** An issue as GitHub describes it, with complete lists. */
export type RawIssue = ReturnType<typeof rawIssue>;

/** Reads the issue object of a GraphQL answer; its lists are what their first page has. */
export function rawIssue(value: unknown, host: string) {
  const record = asRecord(value);
  return {
    number: Number(record.number),
    title: asText(record.title),
    body: asText(record.body),
    state: asText(record.state),
    url: asText(record.url),
    labels: labelNames(record.labels),
    blockedBy: issueKeys(record.blockedBy, host),
    parent: issueKey(record.parent, host) ?? null,
    subIssues: issueKeys(record.subIssues, host),
    milestone: asText(asRecord(record.milestone).title) || null,
  };
}

/** Names out of a connection, or out of the plain list that `gh --json` prints. */
export function labelNames(value: unknown): string[] {
  const nodes = Array.isArray(value) ? value.map(asRecord) : nodesOf(value);
  return nodes.map(({ name }) => asText(name));
}

export function issueKeys(value: unknown, host: string): string[] {
  return nodesOf(value).flatMap((node) => issueKey(node, host) ?? []);
}

/** A node may be null: an issue of a repository that the user cannot see. */
function issueKey(value: unknown, host: string): string | undefined {
  const { number, repository } = asRecord(value);
  const name = parseRepository(asText(asRecord(repository).nameWithOwner), host);
  return name && typeof number === 'number' ? githubKey(name, number) : undefined;
}

interface Where {
  repository: RepositoryName;
  /** True for an issue of the working directory's repository: its number alone is its id. */
  own: boolean;
}

/** The work item for an issue. Throws when the answer has no title: one is never made up. */
export function githubItem(raw: RawIssue, { repository, own }: Where): WorkItem {
  const title = cleanLine(raw.title);
  const text = repositoryText(repository);
  if (title === '')
    throw new GhError('unknown', `GitHub's answer for #${raw.number} of ${text} has no title.`, {
      hint: 'Give the issue a title, or try again.',
    });
  const body = cleanText(raw.body);
  const labels = cleanLabels(raw.labels);
  const ownKey = (number: number) => githubKey(repository, number);
  return {
    key: ownKey(raw.number),
    id: own ? String(raw.number) : foreignId(repository.name, raw.number),
    number: raw.number,
    title,
    body,
    labels,
    acceptanceCriteria: acceptanceCriteria(body),
    url: raw.url === '' ? null : raw.url,
    state: raw.state.toUpperCase() === 'OPEN' ? 'open' : 'closed',
    dependsOn: [...new Set([...raw.blockedBy, ...written({ body, labels }, ownKey, repository.host)])],
    repository: text,
    parent: raw.parent,
    subIssues: [...new Set(raw.subIssues)],
    milestone: raw.milestone === null ? null : cleanLine(raw.milestone),
  };
}

/** Dependencies in text and labels; `ownKey` makes the key of a number without a repository. */
function written(
  { body, labels }: Pick<WorkItem, 'body' | 'labels'>,
  ownKey: (number: number) => string,
  host?: string,
): string[] {
  const mentions = dependencyMentions(body, host ? { host } : {}).flatMap((mention) => {
    if (mention.kind !== 'issue') return [];
    return mention.repository ? githubKey(mention.repository, mention.number) : ownKey(mention.number);
  });
  return [...mentions, ...labelMentions(labels).map(ownKey)];
}

/** `repo-12`; names such as `.github` lose what an id may not begin with. */
function foreignId(name: string, number: number): string {
  const legal = name
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/\.{2,}/g, '.')
    .slice(0, 80);
  const id = `${legal || 'repository'}-${number}`;
  return idProblem(id) === undefined ? id : `repository-${number}`;
}

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
    dependsOn: [...new Set([...written({ body, labels }, numberKey), ...given])],
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
  const own = await orError(() => ownRepository(options));
  if (own instanceof SignalboxError) return [...items];
  const byFull = new Map([...described].map((number) => [githubKey(own, number), numberKey(number)]));
  const clear = (key: string) => {
    const full = githubKey(own, numberOfKey(key) ?? 0);
    return byFull.get(key) ?? (fetched.has(full) ? full : key);
  };
  return items.map((item) => ({ ...item, dependsOn: [...new Set(item.dependsOn.map(clear))] }));
}
