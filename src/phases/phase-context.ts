import type { Settings } from '../config/settings-table.ts';
import type { ActionInputs, ActionName } from '../model/actions.ts';
import type { Plan } from '../model/plan.ts';
import type { Attempt, Hold, Ticket, Usage } from '../model/ticket.ts';
import type { Phase } from '../model/workflow.ts';
import type { PinnedWorkflow } from '../workflows/pin-workflow-and-render-prompts.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';

/** Where the ticket's work happens, decided before the attempt. */
export interface Place {
  repo: string;
  branch: string;
  worktree: string;
  /** It is the repository's own checkout. */
  inPlace?: boolean | undefined;
  base: { ref: string; commit: string };
}

/** What else is required of work in a worktree in which other tickets have worked before. */
export interface EvidenceRules {
  /** Files whose change alone is no work, with a name for all of them; null: nothing need change. */
  notWork: { files: readonly string[]; called: string } | null;
  /** The ref that keeps a branch which lost earlier work, before that work is restored. */
  keepAt: string;
}

/** What is left of the budgets that an attempt draws on. */
export interface Allowance {
  /** As the attempt began; null is no limit. */
  usd: number | null;
  /** Called all the time with the attempt's usage so far: why it must end. */
  over(usage: Usage | null): Hold | null;
  /** Called before every process of the attempt after its first, which it counts unless a budget forbids it. */
  launch(): Promise<Hold | null>;
}

/** What an action is asked to do. */
export interface ActionRequest {
  action: ActionName;
  inputs: ActionInputs;
  place: Place;
  jobDir: string;
  /** What a script in its place would get. Programs that the action starts get it, too. */
  env: Record<string, string>;
  /** Once aborted, the action begins nothing more. */
  signal: AbortSignal;
}

/** What an action printed and its exit code, or the command that does the work as a job. */
export type ActionEnd =
  | { exit: number; out?: string | undefined; err?: string | undefined }
  | { job: readonly string[] };

/** Everything an executor may use. It performs one attempt and returns how it ended; it never writes to the store. */
export interface PhaseContext<P extends Phase = Phase> {
  ticket: Ticket;
  plan: Plan;
  pinned: PinnedWorkflow;
  phase: P;
  attempt: Attempt;
  place: Place;
  agentName: string;
  /** It does the work of an agent that is under a usage limit. */
  standsIn?: boolean;
  /** Template variables in addition to those of every ticket. */
  variables?: Record<string, unknown>;
  rules?: EvidenceRules | null;
  /** Repositories and worktrees of other work, which a sandboxed agent must not see. */
  others?: () => Promise<readonly string[]>;
  settings: Settings;
  workspaces: Workspaces;
  /** Runs an action inside the engine. Rejects when it fails, or when it was stopped. */
  act(request: ActionRequest): Promise<ActionEnd>;
  /** Directory of this attempt's job. */
  jobDir: string;
  /** The file with the time until which jobs may run here; undefined: always. */
  lease?: string | undefined;
  /** The attempt was started by an earlier engine: adopt what it left. */
  resumed: boolean;
  /** Aborting stops the attempt's processes; it then ends as interrupted. */
  signal: AbortSignal;
  /** What the attempt may use; null when nothing is limited. */
  allowance?: Allowance | null;
  now(): string;
  env: Record<string, string>;
  /** A process of the attempt was started. Must not throw. */
  onProcess(): void;
  /** As soon as the stream has them. May be called often; must not throw. */
  onSession(sessionId: string): void;
  onUsage(usage: Usage): void;
  onText(text: string): void;
  /** A warning of the agent's CLI. Must not throw. */
  onWarning(message: string): void;
  /** A note about the running attempt, for people. */
  onNote?(note: string): void;
  onTool(name: string, summary: string, done: boolean): void;
}
