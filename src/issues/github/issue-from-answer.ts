import { nodesOf } from '../../github/gh/graphql.ts';
import type { RepositoryName } from '../../github/gh/repository-name.ts';
import { githubKey, parseRepository, repositoryText } from '../../github/gh/repository-name.ts';
import { GhError } from '../../github/gh/run-gh.ts';
import { idProblem } from '../../model/ids-and-branch-names.ts';
import { cleanLabels, cleanLine, cleanText } from '../../model/text/clean-escape-quote-plural.ts';
import { asRecord, asText } from '../../model/text/values-of-unknown-type.ts';
import { acceptanceCriteria } from '../acceptance-criteria.ts';
import { mentionedDependencies } from '../dependency-mentions.ts';
import type { WorkItem } from '../work-item.ts';

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

/**
 * The work item for an issue. Throws when the answer has no title: one is never made up. `own`: it is of the working directory's
 * repository, so that its number alone is its id.
 */
export function githubItem(raw: RawIssue, repository: RepositoryName, own: boolean): WorkItem {
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
    dependsOn: [
      ...new Set([...raw.blockedBy, ...mentionedDependencies({ body, labels }, ownKey, repository.host)]),
    ],
    repository: text,
    parent: raw.parent,
    subIssues: [...new Set(raw.subIssues)],
    milestone: raw.milestone === null ? null : cleanLine(raw.milestone),
  };
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
