import type { WorkItem } from '../../issues/item.ts';
import type { IssueRunPlan } from '../../model/plan.ts';
import type { Ticket } from '../../model/ticket.ts';
import type { ExecutionConfig } from './options/execution-config.ts';

export interface IssueRunRequest {
  cwd: string;
  references: readonly string[];
  /** References by group. */
  batches: readonly (readonly string[])[] | null;
  /** Items that the caller has already: they are not fetched. */
  known?: readonly WorkItem[] | undefined;
  config: ExecutionConfig;
  /** Installs the dependencies of worktrees; null: the lock files decide. */
  packageManager: string | null;
  /** Stored with the plan, for `resume` and for logs. */
  run: Record<string, unknown>;
  signal?: AbortSignal | undefined;
}

/** Why an issue is not run, though it was asked for. */
export interface Refused {
  reference: string;
  item: WorkItem | null;
  reason: string;
  hint?: string | undefined;
  /** Who has it, when another engine does. */
  locked?: { pid: number; hostname: string; startedAt: string; command: string };
  /** It waits for approval in an earlier run. */
  waiting?: boolean;
  /** It could be run, but not after what comes before it. */
  notStarted?: boolean;
}

export interface PreparedRun {
  plan: IssueRunPlan;
  tickets: Ticket[];
  items: WorkItem[];
  refused: Refused[];
  /** Every variant of the workflow that a ticket uses. */
  workflows: { hash: string; text: string }[];
  /** Phases that are ahead of each ticket when all goes well, by its id. */
  phases: Map<string, string[]>;
  /** Notes to report when the run begins, by ticket id. */
  notes: Map<string, string>;
}
