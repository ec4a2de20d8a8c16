import { asArray, asRecord, asText } from '../model/text/json.ts';
import { isPullState, type PullState } from './pull-request.ts';

/** A pull request with everything that people and machines said of it. It is kept as JSON for all who wait. */
export interface Watched {
  number: number;
  url: string;
  state: PullState;
  createdAt: string;
  /** Empty unless it was merged. */
  mergedAt: string;
  isDraft: boolean;
  branch: string;
  /** Owner of the repository that has the branch; empty when that is gone. */
  owner: string;
  /** False once the branch was deleted. */
  hasBranch: boolean;
  head: string;
  base: string;
  baseCommit: string;
  mergeable: string;
  /** Empty where the repository has no rule. */
  decision: string;
  reviews: Said[];
  threads: Thread[];
  comments: Said[];
  checks: Check[];
  /** Where what was said before begins, by what there is more of. */
  earlier: Partial<Record<Talk, string>>;
  /** Threads have older comments than were read. */
  cut: boolean;
}

/** What people say, as GitHub calls it. */
export type Talk = 'reviews' | 'reviewThreads' | 'comments';
const TALK: readonly Talk[] = ['reviews', 'reviewThreads', 'comments'];

export interface Said {
  id: string;
  author: string;
  association: string;
  /** By the account that asked. */
  own: boolean;
  text: string;
  at: string;
  /** Of reviews: `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `DISMISSED`; else empty. */
  state: string;
  /** Of reviews: what was reviewed; else empty. */
  commit: string;
}

export interface Thread {
  path: string;
  line: number | null;
  resolved: boolean;
  comments: Said[];
}

export interface Check {
  id: string;
  name: string;
  state: 'passed' | 'failed' | 'pending';
  /** As GitHub calls it. */
  result: string;
  url: string;
}

const PASSED = new Set(['SUCCESS', 'NEUTRAL', 'SKIPPED', 'STALE']);

/** Undefined for anything that is not a pull request. */
export function readWatched(value: unknown): Watched | undefined {
  const pull = asRecord(value);
  const { number, state } = pull;
  if (typeof number !== 'number' || !isPullState(state)) return undefined;
  const commit = asRecord(asRecord(nodes(pull.commits)[0]).commit);
  return {
    number,
    state,
    url: asText(pull.url),
    createdAt: asText(pull.createdAt),
    mergedAt: asText(pull.mergedAt),
    isDraft: pull.isDraft === true,
    branch: asText(pull.headRefName),
    owner: asText(asRecord(pull.headRepositoryOwner).login),
    hasBranch: asText(asRecord(pull.headRef).name) !== '',
    head: asText(pull.headRefOid),
    base: asText(pull.baseRefName),
    baseCommit: asText(pull.baseRefOid),
    mergeable: asText(pull.mergeable),
    decision: asText(pull.reviewDecision),
    ...readTalk(pull),
    checks: readChecks(asRecord(commit.statusCheckRollup)),
  };
}

/** What was said, oldest first, and whether there is more of it. */
export function readTalk(
  pull: Record<string, unknown>,
): Pick<Watched, 'reviews' | 'threads' | 'comments' | 'earlier' | 'cut'> {
  const threads = nodes(pull.reviewThreads);
  return {
    reviews: nodes(pull.reviews).map(readSaid),
    threads: threads.map(readThread),
    comments: nodes(pull.comments).map(readSaid),
    earlier: Object.fromEntries(
      TALK.flatMap((talk) => {
        const { hasPreviousPage, startCursor } = asRecord(asRecord(pull[talk]).pageInfo);
        return hasPreviousPage === true && asText(startCursor) !== '' ? [[talk, asText(startCursor)]] : [];
      }),
    ),
    cut: threads.some(({ comments }) => asRecord(asRecord(comments).pageInfo).hasPreviousPage === true),
  };
}

function nodes(connection: unknown): Record<string, unknown>[] {
  return asArray(asRecord(connection).nodes).map(asRecord);
}

function readSaid(said: Record<string, unknown>): Said {
  return {
    id: asText(said.id),
    author: asText(asRecord(said.author).login) || 'ghost',
    association: asText(said.authorAssociation),
    own: said.viewerDidAuthor === true,
    text: asText(said.body).trim(),
    at: asText(said.submittedAt) || asText(said.createdAt),
    state: asText(said.state),
    commit: asText(asRecord(said.commit).oid),
  };
}

function readThread(thread: Record<string, unknown>): Thread {
  const { line } = thread;
  return {
    path: asText(thread.path),
    line: typeof line === 'number' ? line : null,
    resolved: thread.isResolved === true,
    comments: nodes(thread.comments).map(readSaid),
  };
}

/** All checks of a commit. Those that were not read are one more, with what GitHub says of the whole. */
function readChecks(rollup: Record<string, unknown>): Check[] {
  const checks = nodes(rollup.contexts).map(readCheck);
  const { hasNextPage } = asRecord(asRecord(rollup.contexts).pageInfo);
  if (hasNextPage !== true) return checks;
  const result = asText(rollup.state);
  const failed = result === 'FAILURE' || result === 'ERROR';
  const state = failed ? 'failed' : result === 'SUCCESS' ? 'passed' : 'pending';
  // What one of those that were read explains says nothing of the others.
  if (checks.some((check) => check.state === state)) return checks;
  const name = `that is one of those behind the first ${checks.length}`;
  return [...checks, { id: 'others', name, state, result, url: '' }];
}

/** A check run, or a status as older services set it. */
function readCheck(check: Record<string, unknown>): Check {
  const name = asText(check.name) || asText(check.context);
  const url = asText(check.detailsUrl) || asText(check.targetUrl);
  const id = asText(check.id);
  if (check.status !== undefined) {
    const result = asText(check.conclusion);
    const state = check.status !== 'COMPLETED' ? 'pending' : PASSED.has(result) ? 'passed' : 'failed';
    return { id, name, url, state, result: result || asText(check.status) };
  }
  const result = asText(check.state);
  const waits = result === 'PENDING' || result === 'EXPECTED';
  return { id, name, url, result, state: waits ? 'pending' : result === 'SUCCESS' ? 'passed' : 'failed' };
}

/** Anybody may say anything on a public repository; these belong to it. */
const TRUSTED = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

export function isTrusted(association: string): boolean {
  return TRUSTED.has(association);
}

/** Whether an author is listened to: what others say never reaches an agent, and their reviews count for nothing. */
export function isHeard(said: Said, reviewers: readonly string[]): boolean {
  if (said.own || isTrusted(said.association)) return true;
  return reviewers.some((login) => login.toLowerCase() === said.author.toLowerCase());
}
