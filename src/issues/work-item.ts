import type { RepositoryName } from '../github/gh/repository-name.ts';
import type { GhOptions } from '../github/gh/run-gh.ts';
import { messageOf, orError, SignalboxError } from '../model/errors.ts';
import type { Reference } from './issue-references.ts';

/** One piece of work as its tracker describes it. All text in it is data: never a template, never a command. */
export interface WorkItem {
  /** Stable across runs: `github:owner/repo#12`, `linear:ENG-12`, `markdown:/abs/path.md`, `markdown:<id>`, `task:<id>`. */
  key: string;
  /** Ticket id: `12`, `repo-12` for another repository, `ENG-12`, front-matter id, file slug or slug of a task. */
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
  /** Why a person has to act before it may begin. */
  blocked?: string;
}

/** `#12` for numbered issues, the id otherwise. */
export function sayItem(item: Pick<WorkItem, 'id' | 'number'>): string {
  return item.number !== null && String(item.number) === item.id ? `#${item.number}` : item.id;
}

/** The same for an issue that could not be read: only what was typed is known. */
export function sayReference(reference: string): string {
  return /^\d+$/.test(reference) ? `#${reference}` : reference;
}

/** An issue of another repository than the one we are in. */
export function isForeign(item: Pick<WorkItem, 'id' | 'number' | 'repository'>): boolean {
  return item.repository !== null && item.number !== null && item.id !== String(item.number);
}

/** What a ticket has of its issue. */
export function ticketFields({ id, title, body, acceptanceCriteria, ...item }: WorkItem) {
  const { key, number, labels, url, repository } = item;
  const source = { key, number, labels, url, repository };
  return { ticketId: id, title, description: body, acceptanceCriteria, linearUrl: url, source };
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

export interface SourceContext extends GhOptions {
  /** The GitHub repository of the working directory; found once, and only when something needs it. */
  ownRepository(): Promise<RepositoryName>;
}

/** What a Markdown file waits for, as written: meant to be an id of the same call before anything else. */
export interface Wait {
  text: string;
  place: string;
}

export interface Sourced {
  reference: Reference;
  item: WorkItem;
  /** Dependencies that only the whole call can resolve. */
  waits?: Wait[];
}

/** What a tracker gave. A reference that cannot be had is a problem, never a rejection. */
export interface Fetched {
  found: Sourced[];
  problems: SourceProblem[];
}

export function problemOf(reference: string, error: SignalboxError): SourceProblem {
  const { resetAt } = error.details;
  return {
    reference,
    message: messageOf(error),
    hint: error.hint,
    code: error.code,
    ...(typeof resetAt === 'string' ? { resetAt } : {}),
  };
}

/** Does the work for each item at once; an error for people becomes a problem of what the item is called. */
export async function orProblems<T, R>(
  items: readonly T[],
  nameOf: (item: T) => string,
  work: (item: T) => R | Promise<R>,
): Promise<{ found: R[]; problems: SourceProblem[] }> {
  const found: R[] = [];
  const problems: SourceProblem[] = [];
  const results = await Promise.all(items.map((item) => orError(SignalboxError, () => work(item))));
  for (const [index, item] of items.entries()) {
    const result = results[index];
    if (result instanceof SignalboxError) problems.push(problemOf(nameOf(item), result));
    else found.push(result as R);
  }
  return { found, problems };
}

/** Which issues of a tracker are wanted; all conditions together. */
export interface ListFilter {
  state: 'open' | 'closed' | 'all';
  /** An issue must have all of them. */
  labels: readonly string[];
  milestone?: string | undefined;
  limit: number;
}

export interface Listed {
  items: WorkItem[];
  problems: SourceProblem[];
  /** There are more than the limit let through. */
  more: boolean;
}

export type ListOptions = GhOptions & { filter: ListFilter };

/** Trackers ignore case in names of labels. */
export function hasLabels(labels: readonly string[], wanted: readonly string[]): boolean {
  const own = new Set(labels.map((label) => label.toLowerCase()));
  return wanted.every((label) => own.has(label.toLowerCase()));
}
