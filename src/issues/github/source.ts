import { GhError } from '../../github/gh/error.ts';
import {
  githubKey,
  type RepositoryName,
  repositoryName,
  sameRepository,
} from '../../github/gh/repository-name.ts';
import type { OptionalField, Wanted } from '../../github/issue-query.ts';
import type { Fetched, Source, SourceContext } from '../item.ts';
import { orError, problemOf } from '../problem.ts';
import type { GithubReference } from '../reference.ts';
import { defaultHost } from '../repository.ts';
import { askIssues, type Outcome } from './ask.ts';
import { githubItem } from './issue.ts';
import { viewIssues } from './view.ts';

const AT_ONCE = 50;

/** One issue, and everything that was typed for it. */
type Asked = Wanted & { references: GithubReference[] };

/** Issues through the GitHub CLI, up to fifty of a host in one query. */
export const githubSource: Source<GithubReference> = {
  kind: 'github',
  async fetch(references, context) {
    const fetched: Fetched<GithubReference> = { found: [], problems: [] };
    const own = await orError(context.ownRepository, (error) => error);
    const ownName = own instanceof Error ? null : own;
    const hosts = new Map<string, Map<string, Asked>>();
    for (const reference of references) {
      const repository = repositoryOf(reference, ownName, context);
      if (!repository) {
        if (own instanceof Error) fetched.problems.push(problemOf(reference.text, own));
        continue;
      }
      const all = hosts.get(repository.host) ?? new Map<string, Asked>();
      const key = githubKey(repository, reference.number);
      const asked = all.get(key) ?? { references: [], repository, number: reference.number };
      all.set(key, { ...asked, references: [...asked.references, reference] });
      hosts.set(repository.host, all);
    }
    for (const [host, all] of hosts) {
      for (const [asked, outcome] of await fetchHost(host, [...all.values()], context))
        collect(asked, outcome, ownName, fetched);
    }
    return fetched;
  },
};

function repositoryOf(
  { host, owner, repo }: GithubReference,
  own: RepositoryName | null,
  context: SourceContext,
): RepositoryName | undefined {
  if (owner === undefined) return own ?? undefined;
  return repositoryName(host ?? own?.host ?? defaultHost(context), owner, repo);
}

async function fetchHost(host: string, all: Asked[], context: SourceContext): Promise<[Asked, Outcome][]> {
  const without = new Set<OptionalField>();
  const pairs: [Asked, Outcome][] = [];
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const part = all.slice(at, at + AT_ONCE);
    const outcomes = await outcomesOf(host, part, context, without);
    for (const [index, asked] of part.entries()) {
      const outcome = outcomes[index];
      if (outcome) pairs.push([asked, outcome]);
    }
  }
  return pairs;
}

async function outcomesOf(
  host: string,
  asked: readonly Asked[],
  context: SourceContext,
  without: Set<OptionalField>,
): Promise<Outcome[]> {
  try {
    return await askIssues(host, asked, context, without);
  } catch (error) {
    if (!(error instanceof GhError)) throw error;
    // What failed is the way of asking: a gh or a server without GraphQL queries. The plain way may still work.
    if (error.failure === 'unknown' || error.failure === 'not-found') return viewIssues(asked, context);
    return asked.map((wanted) => ({ wanted, error }));
  }
}

function collect(
  { references, repository: named }: Asked,
  outcome: Outcome,
  own: RepositoryName | null,
  fetched: Fetched<GithubReference>,
): void {
  if (outcome.error) {
    fetched.problems.push(...references.slice(0, 1).map(({ text }) => problemOf(text, outcome.error)));
    return;
  }
  try {
    const { repository } = outcome;
    // A renamed repository answers to the name that origin still has.
    const isOwn = own !== null && (sameRepository(own, named) || sameRepository(own, repository));
    const item = githubItem(outcome.issue, { repository, own: isOwn });
    fetched.found.push(...references.map((reference) => ({ reference, item })));
  } catch (error) {
    if (!(error instanceof GhError)) throw error;
    fetched.problems.push(...references.slice(0, 1).map(({ text }) => problemOf(text, error)));
  }
}
