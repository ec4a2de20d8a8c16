import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { update } from './lib/state.mjs';

/**
 * A GitHub that lives in one file. `gh` beside this module is a real executable that reads and writes it (the file is
 * named by GH_FAKE_FILE) and logs the arguments of every call. It knows:
 *   auth status, auth token · repo view · issue view · pr list, view, create, edit, merge, comment, close, ready (all with --json)
 *   api graphql (fields, aliases, fragments, pages) · api rate_limit
 * With `git` set to a bare repository, head commits, conflicts and merges are real.
 */
export interface FakeState {
  /** Default `github.com`. */
  host: string;
  user: string;
  loggedIn: boolean;
  /** The repository of the working directory. */
  current: string;
  repositories: FakeRepository[];
  /** `remaining` null: no limit. At 0 every `api graphql` is refused until a test changes it. */
  rateLimit: { remaining: number | null; resetAt: string };
  /** GraphQL fields that this server does not know, as an older one. */
  unknownFields: string[];
  failures: FakeFailure[];
}

export interface FakeRepository {
  nameWithOwner: string;
  /** Its name before it was renamed; still answers. */
  formerly?: string;
  defaultBranch?: string;
  /** A bare repository that pull requests are merged in. */
  git?: string;
  /** There, but not for this user. */
  hidden?: boolean;
  issues: FakeIssue[];
  pullRequests: FakePullRequest[];
}

export interface FakeIssue {
  number: number;
  title: string;
  body?: string;
  labels?: string[];
  state?: 'OPEN' | 'CLOSED';
  /** `3` of the same repository, or `owner/repo#3`. */
  blockedBy?: (number | string)[];
  parent?: number | string;
  subIssues?: (number | string)[];
  /** Its title; it has the place of its first issue as its number. */
  milestone?: string;
}

export interface FakeReview {
  author: { login: string };
  state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED';
  body: string;
  submittedAt: string;
  authorAssociation?: string;
  /** What was reviewed. */
  commit?: { oid: string };
}

interface FakeComment {
  author: { login: string };
  /** Default `MEMBER`, in GraphQL. */
  authorAssociation?: string;
  body: string;
  createdAt: string;
  url?: string;
}

interface FakeThread {
  id: string;
  isResolved: boolean;
  path: string;
  line: number | null;
  comments: FakeComment[];
}

export interface FakeCheck {
  __typename: 'CheckRun';
  /** Of two runs of one check. */
  id?: string;
  /** What it ran on; without it, on whatever the head is. */
  commit?: string;
  name: string;
  status: 'QUEUED' | 'IN_PROGRESS' | 'COMPLETED';
  conclusion: 'SUCCESS' | 'FAILURE' | 'CANCELLED' | 'TIMED_OUT' | 'SKIPPED' | '' | null;
  detailsUrl?: string;
}

/** As stored; url, review decision, mergeable state and head commit are worked out unless they are set here. */
export interface FakePullRequest {
  number: number;
  title: string;
  body: string;
  state: 'OPEN' | 'CLOSED' | 'MERGED';
  isDraft: boolean;
  headRefName: string;
  baseRefName: string;
  headRefOid: string;
  /** Owner of the fork it comes from; default the repository's own. */
  headOwner?: string;
  author: { login: string };
  createdAt: string;
  updatedAt: string;
  mergedAt: string | null;
  closedAt: string | null;
  mergeCommit: { oid: string } | null;
  labels: { name: string }[];
  reviews: FakeReview[];
  reviewThreads: FakeThread[];
  comments: FakeComment[];
  statusCheckRollup: FakeCheck[];
  /** Its branch is gone; with a git repository, that is looked up. */
  headDeleted?: boolean;
  mergeable?: 'MERGEABLE' | 'CONFLICTING' | 'UNKNOWN';
  mergeStateStatus?: string;
  reviewDecision?: string;
}

/** Makes calls of a kind (`pr create`, `api graphql`) fail. */
export interface FakeFailure {
  call: string;
  /** The first call to fail, counted from 1 (default). */
  from?: number;
  /** How many fail: 1 by default, null for all from then on. */
  times?: number | null;
  exit?: number;
  stdout?: string;
  stderr?: string;
  /** The call does its work and only its answer is lost. */
  after?: boolean;
  /** The call never ends by itself. */
  hang?: boolean;
}

/** What the real gh prints when things go wrong. */
export const ENDINGS = {
  network: {
    stderr:
      'error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com\n',
  },
  badToken: {
    stdout: 'HTTP/2.0 401 Unauthorized\n\r\n{"message":"Bad credentials"}',
    stderr: 'gh: Bad credentials (HTTP 401)\n',
  },
  badGateway: { stdout: 'HTTP/2.0 502 Bad Gateway\n\r\n<html>', stderr: 'gh: HTTP 502\n' },
  noGraphql: { stderr: 'unknown command "graphql" for "gh api"\n' },
} satisfies Record<string, Partial<FakeFailure>>;

export interface FakeCall {
  argv: string[];
  cwd: string;
}

let pipe: string | undefined;

/** The pipe of the one process that answers for all of this worker's tests; both are gone when the worker is. */
function serverPipe(): string {
  if (pipe !== undefined) return pipe;
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-gh-'));
  pipe = join(dir, 'calls');
  execFileSync('mkfifo', [pipe]);
  const serve = fileURLToPath(new URL('./lib/serve.mjs', import.meta.url));
  const server = spawn(process.execPath, [serve, pipe], { stdio: ['pipe', 'ignore', 'ignore'], cwd: dir });
  server.unref();
  (server.stdin as Socket).unref();
  return pipe;
}

export class FakeGh {
  /** The executable; also as `gh` on the PATH of `env`. */
  static readonly command = join(dirname(fileURLToPath(import.meta.url)), 'gh');
  readonly file: string;

  constructor(dir: string, initial: Partial<FakeState> = {}) {
    mkdirSync(dir, { recursive: true });
    this.file = join(dir, 'github.json');
    const state: FakeState = {
      host: 'github.com',
      user: 'octo',
      loggedIn: true,
      current: 'acme/web',
      repositories: [{ nameWithOwner: 'acme/web', issues: [], pullRequests: [] }],
      rateLimit: { remaining: null, resetAt: '2030-01-01T00:00:00Z' },
      unknownFields: [],
      failures: [],
      ...initial,
    };
    writeFileSync(this.file, JSON.stringify(state));
    symlinkSync(serverPipe(), `${this.file}.server`);
  }

  get env(): Record<string, string> {
    return { GH_FAKE_FILE: this.file, PATH: `${dirname(FakeGh.command)}:${process.env.PATH}` };
  }

  read(): FakeState {
    return JSON.parse(readFileSync(this.file, 'utf8')) as FakeState;
  }

  /** Changes the state while no call is under way. */
  change(change: (state: FakeState) => void): void {
    update(this.file, change);
  }

  /** Changes one repository, the current one by default; a new one is made when there is none of that name. */
  repository(change: (repository: FakeRepository) => void, name?: string): void {
    this.change((state) => {
      const wanted = name ?? state.current;
      let found = state.repositories.find((each) => each.nameWithOwner === wanted);
      if (!found) {
        found = { nameWithOwner: wanted, issues: [], pullRequests: [] };
        state.repositories.push(found);
      }
      change(found);
    });
  }

  issues(...issues: FakeIssue[]): this {
    this.repository((repository) => void repository.issues.push(...issues));
    return this;
  }

  pullRequest(number: number, change: (pull: FakePullRequest) => void): void {
    this.repository((repository) => {
      const pull = repository.pullRequests.find((each) => each.number === number);
      if (!pull) throw new Error(`there is no pull request ${number}`);
      change(pull);
    });
  }

  fail(...failures: FakeFailure[]): this {
    this.change((state) => void state.failures.push(...failures));
    return this;
  }

  /** Arguments of all calls so far, or of those of a kind such as `pr create`. */
  calls(kind?: string): FakeCall[] {
    if (!existsSync(`${this.file}.calls`)) return [];
    // Without its end, the last line is still being written.
    const lines = readFileSync(`${this.file}.calls`, 'utf8').split('\n').slice(0, -1);
    const calls = lines.map((line) => JSON.parse(line) as FakeCall);
    return calls.filter(({ argv }) => kind === undefined || argv.slice(0, 2).join(' ') === kind);
  }
}
