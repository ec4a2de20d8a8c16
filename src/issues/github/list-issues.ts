import { defaultHost, ownRepository } from '../../github/find-own-repository.ts';
import { type GraphqlQuery, graphqlFailure, nextCursor, nodesOf } from '../../github/gh/graphql.ts';
import { parseRepository, type RepositoryName, repositoryText } from '../../github/gh/repository-name.ts';
import { InputError, orError, SignalboxError } from '../../model/errors.ts';
import { quoted } from '../../model/text/clean-escape-quote-plural.ts';
import { nearest } from '../../model/text/nearest-word.ts';
import { asRecord, asText } from '../../model/text/values-of-unknown-type.ts';
import { fetchItems } from '../fetch-work-items.ts';
import type { GithubReference } from '../issue-references.ts';
import type { Listed, ListFilter, ListOptions, SourceContext } from '../work-item.ts';
import { hasLabels, problemOf } from '../work-item.ts';
import { ask } from './fetch-issues.ts';
import { labelNames } from './issue-from-answer.ts';

const PAGE = 100;
const MAX_PAGES = 100;

/** The issues of a repository, by state, labels and milestone: numbers page by page, then the issues themselves. */
export async function listGithub(options: ListOptions & { repository?: string }): Promise<Listed> {
  const context: SourceContext = { ...options, ownRepository: () => ownRepository(options) };
  const found = await orError(SignalboxError, async () => {
    const repository = await repositoryOf(options);
    return { repository, ...(await numbers(repository, options.filter, context)) };
  });
  if (found instanceof SignalboxError)
    return { items: [], problems: [problemOf(options.repository ?? 'github', found)], more: false };
  const { host, owner, name: repo } = found.repository;
  const references = found.numbers.map(
    (number): GithubReference => ({ kind: 'github', text: `#${number}`, host, owner, repo, number }),
  );
  const { items, problems } = await fetchItems(references, options);
  return { items, problems, more: found.more };
}

async function repositoryOf(options: ListOptions & { repository?: string }): Promise<RepositoryName> {
  if (options.repository === undefined) return ownRepository(options);
  const name = parseRepository(options.repository, defaultHost(options));
  if (name) return name;
  throw new InputError('source/reference', `${quoted(options.repository)} is not the name of a repository.`, {
    hint: 'Write it as owner/repo, or host/owner/repo.',
  });
}

async function numbers(
  repository: RepositoryName,
  filter: ListFilter,
  context: SourceContext,
): Promise<{ numbers: number[]; more: boolean }> {
  const milestone =
    filter.milestone === undefined ? undefined : await milestoneNumber(repository, filter.milestone, context);
  const found: number[] = [];
  let after: string | null = null;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { issues } = await askRepository(repository, pageQuery(filter, milestone, after), context);
    for (const { number, labels } of nodesOf(issues)) {
      // The server also returns issues that have only one of the labels.
      if (typeof number !== 'number' || !hasLabels(labelNames(labels), filter.labels)) continue;
      if (found.length === filter.limit) return { numbers: found, more: true };
      found.push(number);
    }
    after = nextCursor(issues, after);
    if (after === null) return { numbers: found, more: false };
  }
  return { numbers: found, more: true };
}

function pageQuery(
  { state, labels }: ListFilter,
  milestone: string | undefined,
  after: string | null,
): GraphqlQuery {
  const variables = {
    ...Object.fromEntries(labels.map((label, index) => [`l${index}`, label])),
    ...(milestone === undefined ? {} : { milestone }),
    ...(after === null ? {} : { after }),
  };
  const filters = [
    ...(labels.length > 0 ? [`labels: [${labels.map((_, index) => `$l${index}`).join(', ')}]`] : []),
    ...(milestone === undefined ? [] : ['milestone: $milestone']),
  ];
  const args = [
    `first: ${PAGE}`,
    'orderBy: {field: CREATED_AT, direction: ASC}',
    ...(state === 'all' ? [] : [`states: [${state.toUpperCase()}]`]),
    ...(filters.length > 0 ? [`filterBy: {${filters.join(', ')}}`] : []),
    ...(after === null ? [] : ['after: $after']),
  ];
  const fields = 'nodes { number labels(first: 100) { nodes { name } } } pageInfo { hasNextPage endCursor }';
  return { fields: `issues(${args.join(', ')}) { ${fields} }`, variables };
}

async function milestoneNumber(
  repository: RepositoryName,
  wanted: string,
  context: SourceContext,
): Promise<string> {
  const search = async (text: string) => {
    const fields = 'milestones(first: 100, query: $milestone) { nodes { number title } }';
    const query = { fields, variables: { milestone: text } };
    const { milestones } = await askRepository(repository, query, context);
    return nodesOf(milestones).map(({ number, title }) => ({ number: Number(number), title: asText(title) }));
  };
  const some = await search(wanted);
  const same = some.find(({ title }) => title.toLowerCase() === wanted.toLowerCase());
  if (same) return String(same.number);
  const all = await search('');
  if (all.some(({ number }) => String(number) === wanted)) return wanted;
  const titles = all.map(({ title }) => title);
  const near = nearest(wanted, titles) ?? some[0]?.title;
  const hint = near
    ? `Did you mean ${quoted(near)}?`
    : titles.length > 0
      ? `Milestones: ${titles.slice(0, 10).map(quoted).join(', ')}.`
      : 'It has no milestones at all.';
  const message = `${repositoryText(repository)} has no milestone ${quoted(wanted)}.`;
  throw new InputError('source/milestone', message, { hint });
}

/** Asks for fields of a repository. */
async function askRepository(
  repository: RepositoryName,
  inner: GraphqlQuery,
  context: SourceContext,
): Promise<Record<string, unknown>> {
  const { host, owner, name } = repository;
  const fields = `repository(owner: $owner, name: $name) { ${inner.fields} }`;
  const answer = await ask(host, { fields, variables: { owner, name, ...inner.variables } }, context);
  const [error] = answer.errors;
  const what = `the repository ${repositoryText(repository)}`;
  if (error) throw graphqlFailure(answer, error, { host, what });
  return asRecord(answer.data.repository);
}
