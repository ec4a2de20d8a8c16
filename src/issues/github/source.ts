import {
  githubKey,
  type RepositoryName,
  repositoryName,
  repositoryText,
  sameRepository,
} from '../../github/gh/repository-name.ts';
import { GhError, ghFailure, runGh } from '../../github/gh/run-gh.ts';
import { defaultHost } from '../../github/own-repository.ts';
import { SignalboxError } from '../../model/errors.ts';
import { asRecord, parseJson } from '../../model/text/json.ts';
import { type Fetched, orError, problemOf, type SourceContext } from '../item.ts';
import type { GithubReference } from '../reference.ts';
import { askIssues, type OptionalField, type Outcome, pullRequest, type Wanted } from './ask.ts';
import { githubItem, rawIssue } from './issue.ts';

const ISSUES_PER_QUERY = 50;

/** One issue, and everything that was typed for it. */
type Asked = Wanted & { references: GithubReference[] };

/** Issues through the GitHub CLI, up to fifty of a host in one query. */
export async function fetchGithub(
  references: readonly GithubReference[],
  context: SourceContext,
): Promise<Fetched> {
  const fetched: Fetched = { found: [], problems: [] };
  const answer = await orError(context.ownRepository);
  const own = answer instanceof SignalboxError ? null : answer;
  const hosts = new Map<string, Map<string, Asked>>();
  for (const reference of references) {
    const repository = repositoryOf(reference, own, context);
    if (!repository) {
      if (answer instanceof SignalboxError) fetched.problems.push(problemOf(reference.text, answer));
      continue;
    }
    const all = hosts.get(repository.host) ?? new Map<string, Asked>();
    const key = githubKey(repository, reference.number);
    const asked = all.get(key) ?? { references: [], repository, number: reference.number };
    all.set(key, { ...asked, references: [...asked.references, reference] });
    hosts.set(repository.host, all);
  }
  for (const [host, all] of hosts)
    for (const [asked, outcome] of await fetchHost(host, [...all.values()], context))
      collect(asked, outcome, own, fetched);
  return fetched;
}

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
  for (let at = 0; at < all.length; at += ISSUES_PER_QUERY) {
    const part = all.slice(at, at + ISSUES_PER_QUERY);
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
    // A gh or a server without GraphQL queries: the plain commands may still work.
    if (error.failure === 'unknown' || error.failure === 'not-found') return viewIssues(asked, context);
    return asked.map((wanted) => ({ wanted, error }));
  }
}

function collect(
  { references, repository: named }: Asked,
  outcome: Outcome,
  own: RepositoryName | null,
  fetched: Fetched,
): void {
  const refuse = (error: SignalboxError) =>
    fetched.problems.push(...references.slice(0, 1).map(({ text }) => problemOf(text, error)));
  if (outcome.error) {
    refuse(outcome.error);
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
    refuse(error);
  }
}

const VIEWS_AT_ONCE = 4;
const FIELDS = 'number,title,body,labels,state,url,milestone';

/** One call for each issue, for when GraphQL queries cannot be made. It does not give native dependencies. */
async function viewIssues(wanted: readonly Wanted[], context: SourceContext): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const queue = [...wanted.entries()];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift())
      outcomes[next[0]] = await viewIssue(next[1], context);
  };
  await Promise.all(Array.from({ length: Math.min(VIEWS_AT_ONCE, wanted.length) }, worker));
  return outcomes;
}

async function viewIssue(wanted: Wanted, context: SourceContext): Promise<Outcome> {
  const { repository, number } = wanted;
  const text = repositoryText(repository);
  const args = ['issue', 'view', String(number), '--repo', text, '--json', FIELDS];
  const found = await orError(async () => {
    const result = await runGh(args, context);
    const issue = asRecord(parseJson(result.stdout));
    if (result.code !== 0 || issue.number !== number)
      throw ghFailure(result, { host: repository.host, what: `#${number} of ${text}` });
    const raw = rawIssue(issue, repository.host);
    if (/\/pull\/\d+$/.test(raw.url)) throw pullRequest(wanted);
    return raw;
  });
  return found instanceof SignalboxError ? { wanted, error: found } : { wanted, issue: found, repository };
}
