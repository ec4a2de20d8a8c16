import type { EngineEvent } from '../model/events.ts';
import type { CommonPlan, Plan } from '../model/plan.ts';
import type { Hold, Ticket } from '../model/ticket.ts';
import type { EvidenceRules } from '../phases/perform-phase.ts';
import type { TicketWorkspace } from './work-out-workspace-and-repository.ts';

/**
 * What plans of one kind do differently. Every hook is optional; a plan that a person wrote needs none of them.
 *
 *     claimed ─► mayDrive ──► startFrom ─► handOver ─► catchUp ─► variables, evidence ─► attempt ─┐
 *                   │                                     ▲                                       │
 *                   │ Hold: released until then           └──────────── next attempt ◄────────────┤
 *                   ▼                                                                             ▼
 *                 waiting                                                     left ─► released
 *
 * Up to `left` an error concerns one ticket: an InputError from `mayDrive` holds it back with the message, an error from
 * `startFrom`, `handOver` or `catchUp` fails the attempt. After a crash these hooks are called again and must come to the
 * same result.
 */
export interface PlanHooks<P extends CommonPlan = Plan> {
  /** The agent for phases that name none; goes before the ticket's and the plan's. */
  agent?(plan: P, ticket: Ticket): string | undefined;
  /**
   * Other agents that such a phase may get, as long as that is not decided, with the setting that names each. They are checked before
   * work starts, too.
   */
  possibleAgents?(plan: P, ticket: Ticket): { agent: string; setting: string }[];
  /** Called after the ticket is claimed. A hold releases the ticket until the hold ends. */
  mayDrive?(plan: P, ticket: Ticket, workspace: TicketWorkspace): Promise<Hold | null>;
  /** Called before a worktree is created: the worktree with another starting point, or null to leave it as it is. */
  startFrom?(plan: P, ticket: Ticket, workspace: TicketWorkspace): Promise<TicketWorkspace | null>;
  /** Called when a shared worktree passes from one ticket to this one. Returns true if the hook committed something to it. */
  handOver?(plan: P, ticket: Ticket, workspace: TicketWorkspace): Promise<boolean>;
  /** Called before every attempt, in the ticket's worktree. */
  catchUp?(plan: P, ticket: Ticket, workspace: TicketWorkspace): Promise<void>;
  /** Template variables in addition to those of every ticket. */
  variables?(plan: P, ticket: Ticket): Record<string, unknown>;
  /** What counts as work; null: only what the phase expects. */
  evidence?(plan: P, ticket: Ticket): EvidenceRules | null;
  /** Called before this ticket is released, whatever its status. If its engine was killed meanwhile, the next engine calls it again. */
  left?(plan: P, ticket: Ticket, workspace: TicketWorkspace): Promise<void>;
  /** Called before this process gives up its claim on a whole plan, of any kind. Must not throw. */
  released?(planId: string): void;
  /** ISO times at which an unfinished plan stopped, in addition to its pauses. `resume` continues the latest one. */
  stoppedAt?(plan: P, tickets: readonly Ticket[]): string[];
  /** Every event of every plan, in order. Must not throw. */
  listen?(event: EngineEvent): void;
  /** Resolves when the effects of all events so far are written; with a plan, that plan's are written now. */
  flush?(planId?: string): Promise<void>;
}
