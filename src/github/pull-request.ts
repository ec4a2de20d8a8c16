import { asArray, asRecord, asText, parseJson } from '../model/text/json.ts';
import { GhError } from './gh/error.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import { type GhOptions, type GhResult, runGh } from './gh/run-gh.ts';
import { ghProblem } from './gh-problem.ts';

export interface PullRequest {
  number: number;
  url: string;
  state: 'OPEN' | 'CLOSED' | 'MERGED';
  headRefOid: string;
  baseRefName: string;
  body: string;
  createdAt: string;
  /** Empty unless it was merged. */
  mergedAt: string;
}

/** The branch that a pull request is about, and where it would be opened. */
export interface Head {
  repository: RepositoryName;
  branch: string;
  /** Owner of the repository that the branch is pushed to; null when its address does not tell. */
  owner: string | null;
}

const FIELDS = 'number,url,state,headRefOid,baseRefName,body,createdAt,mergedAt,headRepositoryOwner';
const TIMEOUT_MS = 60_000;

/** All pull requests of a branch, newest first. Those of other people's forks with a branch of that name are left out. */
export async function findPullRequests(head: Head, options: GhOptions): Promise<PullRequest[]> {
  const { repository, branch } = head;
  const args = ['pr', 'list', '--repo', repositoryText(repository), '--head', branch, '--state', 'all'];
  const result = await gh([...args, '--limit', '50', '--json', FIELDS], options);
  const what = `the pull requests of ${repositoryText(repository)}`;
  if (result.code !== 0) throw failure(result, head, `could not list ${what}`);
  const listed = parseJson(result.stdout);
  if (!Array.isArray(listed)) throw failure(result, head, `gave no list of ${what}`);
  const pulls = asArray(listed).map(asRecord);
  return pulls.filter((pull) => isOurs(pull, head.owner)).flatMap((pull) => readPull(pull) ?? []);
}

function isOurs(pull: Record<string, unknown>, owner: string | null): boolean {
  const login = asText(asRecord(pull.headRepositoryOwner).login);
  return owner === null || login.toLowerCase() === owner.toLowerCase();
}

function readPull(pull: Record<string, unknown>): PullRequest | undefined {
  const { number, state } = pull;
  if (typeof number !== 'number' || (state !== 'OPEN' && state !== 'CLOSED' && state !== 'MERGED'))
    return undefined;
  return {
    number,
    state,
    url: asText(pull.url),
    headRefOid: asText(pull.headRefOid),
    baseRefName: asText(pull.baseRefName),
    body: asText(pull.body),
    createdAt: asText(pull.createdAt),
    mergedAt: asText(pull.mergedAt),
  };
}

export interface NewPullRequest {
  head: Head;
  /** Null: the repository's default branch. */
  base: string | null;
  title: string;
  bodyFile: string;
}

/** Opens a pull request and looks it up again: an answer that got lost does not make a second one. */
export async function createPullRequest(spec: NewPullRequest, options: GhOptions): Promise<PullRequest> {
  const { head, base, title, bodyFile } = spec;
  const foreign = head.owner !== null && head.owner.toLowerCase() !== head.repository.owner.toLowerCase();
  const args = [
    ...['pr', 'create', '--repo', repositoryText(head.repository)],
    ...['--head', foreign ? `${head.owner}:${head.branch}` : head.branch],
    ...(base === null ? [] : ['--base', base]),
    ...['--title', title, '--body-file', bodyFile],
  ];
  const result = await runOrError(args, options);
  const open = (await findPullRequests(head, options)).find(({ state }) => state === 'OPEN');
  if (open) return open;
  if (result instanceof GhError) throw result;
  const what = `could not open a pull request for ${head.branch}`;
  throw result.code === 0
    ? new GhError(
        'unknown',
        `The GitHub CLI says that it opened a pull request for ${head.branch}, but there is none.`,
      )
    : failure(result, head, what);
}

async function runOrError(args: readonly string[], options: GhOptions): Promise<GhResult | GhError> {
  try {
    return await gh(args, options);
  } catch (error) {
    if (error instanceof GhError) return error;
    throw error;
  }
}

export interface EditPullRequest {
  repository: RepositoryName;
  number: number;
  bodyFile: string | null;
  base: string | null;
}

/** Changes text and base of a pull request. */
export async function editPullRequest(spec: EditPullRequest, options: GhOptions): Promise<void> {
  const { repository, number, bodyFile, base } = spec;
  const result = await gh(
    [
      ...['pr', 'edit', String(number), '--repo', repositoryText(repository)],
      ...(bodyFile === null ? [] : ['--body-file', bodyFile]),
      ...(base === null ? [] : ['--base', base]),
    ],
    options,
  );
  if (result.code === 0) return;
  // An older `gh pr edit`, as distributions have it, asks for project cards, which GitHub no longer has.
  const old = /projectCards|Projects \(classic\)|read:project/i.test(result.stderr);
  const again = old ? await patch(spec, options) : result;
  if (again.code !== 0)
    throw failure(
      again,
      { repository },
      `could not change pull request #${number} of ${repositoryText(repository)}`,
    );
}

function patch(
  { repository, number, bodyFile, base }: EditPullRequest,
  options: GhOptions,
): Promise<GhResult> {
  const { host, owner, name } = repository;
  return gh(
    [
      ...['api', '--method', 'PATCH', '--hostname', host, `repos/${owner}/${name}/pulls/${number}`],
      ...(bodyFile === null ? [] : ['-F', `body=@${bodyFile}`]),
      ...(base === null ? [] : ['-f', `base=${base}`]),
    ],
    options,
  );
}

function gh(args: readonly string[], options: GhOptions): Promise<GhResult> {
  return runGh(args, { timeoutMs: TIMEOUT_MS, ...options });
}

function failure(result: GhResult, { repository }: Pick<Head, 'repository'>, what: string): GhError {
  return ghProblem({ result, repository, what });
}
