import type { RepositoryName } from '../github/gh/repository-name.ts';
import type { Env } from '../machine/environment.ts';
import type { Reference } from './reference.ts';

/** One piece of work as its tracker tells it. All text in it is data: never a template, never a command. */
export interface WorkItem {
  /** Stable across runs: `github:owner/repo#12`, `linear:ENG-12`, `markdown:/abs/path.md` or `markdown:<id>`. */
  key: string;
  /** Ticket id: `12`, `repo-12` for another repository, `ENG-12`, front-matter id or file slug. */
  id: string;
  /** The number of a GitHub issue. */
  number: number | null;
  title: string;
  /** At most 200,000 characters; what was cut is said in its last line. */
  body: string;
  labels: string[];
  /** Items of the "Acceptance Criteria" section, in order; markers such as `AC-1:` are kept. */
  acceptanceCriteria: string[];
  url: string | null;
  state: 'open' | 'closed';
  /** Keys of what must be done before, whether or not they were asked for too. */
  dependsOn: string[];
  /** `owner/repo` on GitHub, `host/owner/repo` on an Enterprise host. */
  repository: string | null;
  /** Key of the issue this is a sub-issue of. */
  parent?: string | null;
  /** Keys of its sub-issues, in their order. */
  subIssues?: string[];
  milestone?: string | null;
  /** Files that it says it will change. */
  paths?: string[];
}

/** Why one reference gave no item. */
export interface SourceProblem {
  reference: string;
  message: string;
  hint?: string | undefined;
  /** `gh/rate-limited`, `linear/auth`, `markdown/front-matter`… */
  code?: string | undefined;
  /** When to ask again, where the tracker said so (ISO time). */
  resetAt?: string | undefined;
}

export interface FetchOptions {
  cwd: string;
  env: Env;
  /** The GitHub CLI: a name on PATH or a path. */
  gh: string;
  signal?: AbortSignal | undefined;
  /** For one call to a tracker; 30 s by default. */
  timeoutMs?: number | undefined;
  now?: (() => Date) | undefined;
}

export interface SourceContext extends FetchOptions {
  /** The GitHub repository of the working directory; found once, and only when something needs it. */
  ownRepository(): Promise<RepositoryName>;
}

/** What a Markdown file waits for, as written: meant to be an id of the same call before anything else. */
export interface Wait {
  text: string;
  place: string;
}

export interface Sourced<R extends Reference = Reference> {
  reference: R;
  item: WorkItem;
  /** Dependencies that only the whole call can resolve. */
  waits?: Wait[];
}

export interface Fetched<R extends Reference = Reference> {
  found: Sourced<R>[];
  problems: SourceProblem[];
}

/** Where work comes from. `fetch` never rejects for a reference that cannot be had: that is a problem in its answer. */
export interface Source<R extends Reference> {
  readonly kind: R['kind'];
  fetch(references: readonly R[], context: SourceContext): Promise<Fetched<R>>;
}
