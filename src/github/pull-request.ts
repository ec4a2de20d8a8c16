import type { ProgramResult } from '../machine/run-process.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import type { JsonObject } from '../model/text/values-of-unknown-type.ts';
import { asArray, asRecord, asText } from '../model/text/values-of-unknown-type.ts';
import { askRepository, nodesOf } from './gh/graphql.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import { GhError, type GhOptions, ghProblem, runSlowGh, trySlowGh } from './gh/run-gh.ts';

export type PullState = 'OPEN' | 'CLOSED' | 'MERGED';

export function isPullState(value: unknown): value is PullState {
  return value === 'OPEN' || value === 'CLOSED' || value === 'MERGED';
}

export type PullRequest = NonNullable<ReturnType<typeof readPull>>;

/** The branch that a pull request is about, and where it would be opened. */
export interface Head {
  repository: RepositoryName;
  branch: string;
  /** Owner of the repository that the branch is pushed to; null when its address does not name one. */
  owner: string | null;
}

export function isFork({ owner, repository }: Head): boolean {
  return owner !== null && owner.toLowerCase() !== repository.owner.toLowerCase();
}

/** As `gh pr create --head` takes it. */
export function headText(head: Head): string {
  return isFork(head) ? `${head.owner}:${head.branch}` : head.branch;
}

const FIELDS = 'number,url,state,headRefOid,baseRefName,body,createdAt,mergedAt,headRepositoryOwner';

/** All pull requests of a branch, newest first. Those of other people's forks with a branch of that name are left out. */
export async function findPullRequests(head: Head, options: GhOptions): Promise<PullRequest[]> {
  const { repository, branch } = head;
  const args = ['pr', 'list', '--repo', repositoryText(repository), '--head', branch, '--state', 'all'];
  const result = await runSlowGh([...args, '--limit', '50', '--json', FIELDS], options);
  const what = `the pull requests of ${repositoryText(repository)}`;
  if (result.code !== 0) throw ghProblem(result, repository, `could not list ${what}`);
  const listed = parseJson(result.stdout);
  if (!Array.isArray(listed)) throw ghProblem(result, repository, `gave no list of ${what}`);
  const pulls = asArray(listed).map(asRecord);
  return pulls.filter((pull) => isOurs(pull, head.owner)).flatMap((pull) => readPull(pull) ?? []);
}

function isOurs(pull: JsonObject, owner: string | null): boolean {
  const login = asText(asRecord(pull.headRepositoryOwner).login);
  return owner === null || login.toLowerCase() === owner.toLowerCase();
}

function readPull(pull: JsonObject) {
  const { number, state } = pull;
  if (typeof number !== 'number' || !isPullState(state)) return undefined;
  return {
    number,
    state,
    url: asText(pull.url),
    headRefOid: asText(pull.headRefOid),
    baseRefName: asText(pull.baseRefName),
    body: asText(pull.body),
    createdAt: asText(pull.createdAt),
    /** Empty unless it was merged. */
    mergedAt: asText(pull.mergedAt),
  };
}

interface NewPullRequest {
  head: Head;
  /** Null: the repository's default branch. */
  base: string | null;
  title: string;
  bodyFile: string;
}

/** Opens a pull request and then reads it: a lost answer does not make a second one. */
export async function createPullRequest(wanted: NewPullRequest, options: GhOptions): Promise<PullRequest> {
  const { head, base, title, bodyFile } = wanted;
  const args = [
    ...['pr', 'create', '--repo', repositoryText(head.repository)],
    ...['--head', headText(head)],
    ...(base === null ? [] : ['--base', base]),
    ...['--title', title, '--body-file', bodyFile],
  ];
  const result = await trySlowGh(args, options);
  const open = (await findPullRequests(head, options)).find(({ state }) => state === 'OPEN');
  if (open) return open;
  if (result instanceof GhError) throw result;
  const what = `a pull request for ${head.branch}`;
  if (result.code !== 0) throw ghProblem(result, head.repository, `could not open ${what}`);
  throw new GhError('unknown', `The GitHub CLI says that it opened ${what}, but there is none.`);
}

interface EditPullRequest {
  repository: RepositoryName;
  number: number;
  bodyFile: string | null;
  base: string | null;
}

/** Changes text and base of a pull request. */
export async function editPullRequest(change: EditPullRequest, options: GhOptions): Promise<void> {
  const { repository, number, bodyFile, base } = change;
  const result = await runSlowGh(
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
  const again = old ? await patch(change, options) : result;
  const what = `could not change pull request #${number} of ${repositoryText(repository)}`;
  if (again.code !== 0) throw ghProblem(again, repository, what);
}

function patch(
  { repository, number, bodyFile, base }: EditPullRequest,
  options: GhOptions,
): Promise<ProgramResult> {
  const { host, owner, name } = repository;
  return runSlowGh(
    [
      ...['api', '--method', 'PATCH', '--hostname', host, `repos/${owner}/${name}/pulls/${number}`],
      ...(bodyFile === null ? [] : ['-F', `body=@${bodyFile}`]),
      ...(base === null ? [] : ['-f', `base=${base}`]),
    ],
    options,
  );
}

interface MergeWish {
  head: Head;
  number: number;
  /** Nothing is merged if the branch has moved from this commit. */
  commit: string;
  method: 'merge' | 'squash' | 'rebase';
}

/** Merges a pull request and then reads it: what counts is its state on GitHub, not what the call printed. */
export async function mergePullRequest(wish: MergeWish, options: GhOptions): Promise<PullRequest> {
  const { head, number, commit, method } = wish;
  const repository = repositoryText(head.repository);
  const args = ['pr', 'merge', String(number), '--repo', repository, `--${method}`];
  const result = await trySlowGh([...args, '--match-head-commit', commit], options);
  const found = (await findPullRequests(head, options)).find((pull) => pull.number === number);
  if (found?.state === 'MERGED') return found;
  if (result instanceof GhError) throw result;
  if (result.code !== 0)
    throw ghProblem(result, head.repository, `could not merge pull request #${number} of ${repository}`);
  throw new GhError('unknown', `GitHub has not merged pull request #${number} yet.`, {
    hint: 'It may have put it into a merge queue.',
  });
}

/** What identifies Signalbox's own work on a branch among pull requests with the same branch name. */
export interface OwnWork {
  /** The number, if the pull request is known already. */
  number: number | null;
  /** Commits that Signalbox pushed or has. */
  commits: readonly string[];
  /** The time of the push; null before that. */
  since: string | null;
}

/**
 * The pull request of our own work on a branch; `pulls` has the newest first. An open one is, because it shows the branch. A closed
 * one is if it ended with one of our commits or was opened after our push; an older one may only have had the same branch name.
 */
export function ownPullRequest<T extends Pick<PullRequest, 'number' | 'state' | 'createdAt'>>(
  pulls: readonly T[],
  { number, commits, since }: OwnWork,
  headOf: (pull: T) => string,
): T | undefined {
  if (number !== null) return pulls.find((pull) => pull.number === number);
  const isOurs = (pull: T) =>
    commits.includes(headOf(pull)) ||
    (since !== null && Date.parse(pull.createdAt) >= Math.floor(Date.parse(since) / 1000) * 1000);
  return pulls.find(({ state }) => state === 'OPEN') ?? pulls.find(isOurs);
}

/** The hidden mark at the beginning of every comment by Signalbox. */
export const MARK = '<!-- signalbox-comment ';

interface NewComment {
  repository: RepositoryName;
  number: number;
  /** Two comments with the same key are the same comment. */
  key: string;
  bodyFile: string;
}

export function markOf(key: string): string {
  return `${MARK}${key.replace(/[^\w.:/-]/g, '_')} -->`;
}

/** The address of the comment with this key; undefined while there is none. Only our own account's count. */
export async function findComment(
  { repository, number, key }: Omit<NewComment, 'bodyFile'>,
  options: GhOptions,
): Promise<string | undefined> {
  const fields = `pullRequest(number: ${Math.trunc(number)}) { comments(last: 100) { nodes { url body viewerDidAuthor } } }`;
  const { found } = await askRepository(repository, { fields }, options);
  const all = nodesOf(asRecord(found.pullRequest).comments);
  const mark = markOf(key);
  const own = all.find((each) => each.viewerDidAuthor === true && asText(each.body).startsWith(mark));
  return own && asText(own.url);
}

/** Comments on a pull request unless the comment exists, and checks afterwards: a lost answer does not make a second one. */
export async function commentOnce(
  comment: NewComment,
  options: GhOptions,
): Promise<{ url: string; posted: boolean }> {
  const there = await findComment(comment, options);
  if (there !== undefined) return { url: there, posted: false };
  const { repository, number, bodyFile } = comment;
  const where = repositoryText(repository);
  const args = ['pr', 'comment', String(number), '--repo', where, '--body-file', bodyFile];
  const result = await trySlowGh(args, options);
  const url = await findComment(comment, options);
  if (url !== undefined) return { url, posted: true };
  if (result instanceof GhError) throw result;
  throw ghProblem(result, repository, `could not comment on pull request #${number} of ${where}`);
}
