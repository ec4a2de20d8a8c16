import type { FetchOptions, SourceProblem, WorkItem } from './item.ts';

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

export type ListOptions = FetchOptions & { filter: ListFilter };

/** Trackers do not tell upper from lower case in names of labels. */
export function hasLabels(labels: readonly string[], wanted: readonly string[]): boolean {
  const own = new Set(labels.map((label) => label.toLowerCase()));
  return wanted.every((label) => own.has(label.toLowerCase()));
}
