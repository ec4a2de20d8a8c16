import { nextCursor, nodesOf } from '../../github/gh/graphql.ts';
import { githubKey } from '../../github/gh/repository-name.ts';
import type { GhOptions } from '../../github/gh/run-gh.ts';
import { orError, SignalboxError } from '../../model/errors.ts';
import { groupBy } from '../../model/group-and-remember.ts';
import { cleanLabels, cleanLine, cleanText } from '../../model/text/clean-escape-quote-plural.ts';
import { asRecord, asText } from '../../model/text/values-of-unknown-type.ts';
import { acceptanceCriteria } from '../acceptance-criteria.ts';
import { dependencyMentions } from '../dependency-mentions.ts';
import type { LinearReference } from '../issue-references.ts';
import type { Fetched, Listed, ListFilter, ListOptions, WorkItem } from '../work-item.ts';
import { hasLabels, orProblems, problemOf } from '../work-item.ts';
import { askLinear, LinearError } from './linear-api.ts';

type Data = Record<string, unknown>;

/** Linear weighs a query by the sizes of its lists; this stays well below what it takes. */
const AT_ONCE = 25;
const INSIDE = 25;
const MAX_PAGES = 40;
const PAGE = 'pageInfo { hasNextPage endCursor }';
const LISTS = { labels: 'name', inverseRelations: 'type issue { identifier }', children: 'identifier' };
type List = keyof typeof LISTS;

const FIELDS = `identifier title description url trashed state { type } parent { identifier } projectMilestone { name }
  labels(first: ${INSIDE}) { nodes { ${LISTS.labels} } ${PAGE} }
  inverseRelations(first: ${INSIDE}) { nodes { ${LISTS.inverseRelations} } ${PAGE} }
  children(first: ${INSIDE}) { nodes { ${LISTS.children} } ${PAGE} }`;
const ISSUES = `query($filter: IssueFilter, $after: String, $archived: Boolean) {
  issues(filter: $filter, first: ${AT_ONCE}, after: $after, includeArchived: $archived) { nodes { ${FIELDS} } ${PAGE} } }`;

/** Issues of Linear through its API, with the key in LINEAR_API_KEY. */
export async function fetchLinear(
  references: readonly LinearReference[],
  context: GhOptions,
): Promise<Fetched> {
  const keys = [...new Set(references.map(({ key }) => key))];
  const answer = await orError(SignalboxError, () =>
    filteredIssues({ or: teams(keys) }, context, { archived: true }),
  );
  if (answer instanceof SignalboxError)
    return { found: [], problems: references.map(({ text }) => problemOf(text, answer)) };
  const byKey = new Map(answer.issues.map((issue) => [asText(issue.identifier), issue]));
  return orProblems(
    references,
    ({ text }) => text,
    (reference) => {
      const issue = byKey.get(reference.key);
      if (!issue) throw notFound(reference.key);
      return { reference, item: linearItem(issue) };
    },
  );
}

/** The issues of a Linear team, by state, labels and project milestone. */
export async function listLinear(options: ListOptions & { team: string }): Promise<Listed> {
  const { filter, team } = options;
  const answer = await orError(SignalboxError, () =>
    filteredIssues(condition(filter, team), options, { most: filter.limit }),
  );
  if (answer instanceof SignalboxError)
    return { items: [], problems: [problemOf(team, answer)], more: false };
  const { found, problems } = await orProblems(answer.issues, () => team, linearItem);
  const items = found.filter(({ labels }) => hasLabels(labels, filter.labels));
  return { items, problems, more: answer.more };
}

const OVER = ['completed', 'canceled'];

function condition({ state, labels, milestone }: ListFilter, team: string): unknown {
  return {
    team: { key: { eq: team } },
    ...(state === 'all' ? {} : { state: { type: state === 'open' ? { nin: OVER } : { in: OVER } } }),
    ...(labels.length > 0
      ? { and: labels.map((label) => ({ labels: { some: { name: { eqIgnoreCase: label } } } })) }
      : {}),
    ...(milestone === undefined ? {} : { projectMilestone: { name: { eqIgnoreCase: milestone } } }),
  };
}

function notFound(key: string): LinearError {
  return new LinearError('linear/not-found', `Linear has no issue ${key}, or the key has no access to it.`, {
    hint: 'Check the key of the team and the number; an issue that moved to another team has a new one.',
  });
}

/** At most `most` issues that a filter lets through, the lists inside them complete. A named issue may be an archived one. */
async function filteredIssues(
  filter: unknown,
  options: GhOptions,
  { most = Number.POSITIVE_INFINITY, archived = false }: { most?: number; archived?: boolean },
): Promise<{ issues: Data[]; more: boolean }> {
  const issues: Data[] = [];
  let after: string | null = null;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { issues: found } = await askLinear(ISSUES, { filter, after, archived }, options);
    issues.push(...nodesOf(found));
    after = nextCursor(found, after);
    if (after === null || issues.length >= most) break;
  }
  const more = after !== null || issues.length > most;
  issues.splice(Math.min(most, issues.length));
  for (const issue of issues) {
    for (const list of Object.keys(LISTS) as List[]) await complete(issue, list, options);
  }
  return { issues, more };
}

function teams(keys: readonly string[]): unknown[] {
  const parts = keys.map((key) => ({
    team: key.replace(/-[^-]*$/, ''),
    number: Number(key.replace(/^.*-/, '')),
  }));
  return [...groupBy(parts, ({ team }) => team)].map(([team, all]) => ({
    team: { key: { eq: team } },
    number: { in: all.map(({ number }) => number) },
  }));
}

/** Reads the further pages of a list inside an issue. */
async function complete(issue: Data, list: List, options: GhOptions): Promise<void> {
  const nodes = nodesOf(issue[list]);
  let after = nextCursor(issue[list], null);
  for (let page = 1; after !== null && page < MAX_PAGES; page += 1) {
    const query = `query($id: String!, $after: String) { issue(id: $id) { ${list}(first: 100, after: $after) { nodes { ${LISTS[list]} } ${PAGE} } } }`;
    const data = await askLinear(query, { id: asText(issue.identifier), after }, options);
    const more = asRecord(data.issue)[list];
    nodes.push(...nodesOf(more));
    after = nextCursor(more, after);
  }
  issue[list] = { nodes };
}

/** An answer without a title is an error: one is never made up. */
function linearItem(issue: Data): WorkItem {
  const key = asText(issue.identifier);
  const body = cleanText(asText(issue.description));
  const type = asText(asRecord(issue.state).type);
  const parent = asText(asRecord(issue.parent).identifier);
  const title = cleanLine(asText(issue.title));
  if (title === '')
    throw new LinearError('linear/query', `Linear's answer for ${key} has no title.`, {
      hint: 'Give the issue a title, or try again.',
    });
  return {
    key: `linear:${key}`,
    id: key,
    number: null,
    title,
    body,
    labels: cleanLabels(nodesOf(issue.labels).map(({ name }) => asText(name))),
    acceptanceCriteria: acceptanceCriteria(body),
    url: asText(issue.url) || null,
    state: issue.trashed === true || type === 'completed' || type === 'canceled' ? 'closed' : 'open',
    dependsOn: [...new Set([...blockers(issue), ...written(body)])],
    repository: null,
    parent: parent === '' ? null : `linear:${parent}`,
    subIssues: nodesOf(issue.children).map(({ identifier }) => `linear:${asText(identifier)}`),
    milestone: cleanLine(asText(asRecord(issue.projectMilestone).name)) || null,
  };
}

/** A relation "A blocks B" has A as its issue, among the inverse relations of B. */
function blockers(issue: Data): string[] {
  return nodesOf(issue.inverseRelations).flatMap(({ type, issue: other }) => {
    const key = asText(asRecord(other).identifier);
    return type === 'blocks' && key !== '' ? [`linear:${key}`] : [];
  });
}

function written(body: string): string[] {
  return dependencyMentions(body, { linear: true }).flatMap((mention) => {
    if (mention.kind === 'linear') return [`linear:${mention.key}`];
    return mention.repository ? [githubKey(mention.repository, mention.number)] : [];
  });
}
