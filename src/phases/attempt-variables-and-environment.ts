import { ownVariables } from '../agents/directories-and-variables-of-clis.ts';
import type { AgentConfig } from '../model/agent-and-adapter-types.ts';
import { allowedEnvironment } from '../model/text/allowed-environment.ts';
import type { Attempt, Ticket } from '../model/ticket.ts';
import { firstPhase, type PhaseOf } from '../model/workflow.ts';
import type { PinnedWorkflow } from '../workflows/pin-workflow-and-render-prompts.ts';
import { templateVariables } from '../workflows/template-variables.ts';
import type { PhaseContext } from './phase-context.ts';

/** Template variables of this attempt. */
export function variablesOf(context: PhaseContext): Record<string, unknown> {
  const { ticket, plan, pinned, phase, attempt, place, agentName } = context;
  const variables = templateVariables({
    ticket,
    plan,
    workflow: pinned.workflow,
    phase,
    visit: attempt.visit,
    attempt: attempt.attempt,
    previousError: previousError(pinned, ticket, attempt),
    feedback: feedbackFor(pinned, ticket, attempt),
    facts: { ...place, agent: agentName },
  });
  return { ...variables, ...context.variables };
}

function entriesBefore(ticket: Ticket, attempt: Attempt): Attempt[] {
  const index = ticket.phaseHistory.indexOf(attempt);
  return index < 0 ? ticket.phaseHistory.slice(0, -1) : ticket.phaseHistory.slice(0, index);
}

function previousError(pinned: PinnedWorkflow, ticket: Ticket, attempt: Attempt): string | null {
  const before = entriesBefore(ticket, attempt);
  const own = before.filter((entry) => entry.phase === attempt.phase && entry.visit === attempt.visit);
  const failed = own.findLast((entry) => entry.status === 'failure') ?? sentBackBy(pinned, before, attempt);
  const reasons = [failed?.error?.message, cutShortBy(ticket, attempt)].filter(Boolean);
  return reasons.length === 0 ? null : reasons.join('\n\n');
}

/** What interrupted the attempt before this one, unless a person did. */
export function cutShortBy(ticket: Ticket, attempt: Attempt): string | null {
  const last = entriesBefore(ticket, attempt).at(-1);
  if (last?.phase !== attempt.phase || last.visit !== attempt.visit) return null;
  return last.status === 'interrupted' && last.error?.class === 'interrupted' ? last.error.message : null;
}

/** The output of the phase that sent the ticket here. */
function feedbackFor(pinned: PinnedWorkflow, ticket: Ticket, attempt: Attempt): string | null {
  const sender = sentBackBy(pinned, entriesBefore(ticket, attempt), attempt);
  return sender ? (sender.output ?? sender.error?.message ?? null) : null;
}

/**
 * The last attempt of another visit, unless it succeeded. The outcome of a first phase that only reads is a choice, not a
 * problem to fix.
 */
function sentBackBy({ workflow }: PinnedWorkflow, before: Attempt[], attempt: Attempt): Attempt | undefined {
  const last = before.findLast((entry) => entry.phase !== attempt.phase || entry.visit !== attempt.visit);
  const positive = last?.outcome === 'success' || last?.outcome === null;
  const first = firstPhase(workflow);
  const decides = first.id === last?.phase && first.type === 'agent' && first.access === 'read';
  return positive || (decides && last.status === 'success') ? undefined : last;
}

/** The environment of an agent: no token of a forge or tracker, unless its config or the phase names it. */
export function agentEnvironment(
  context: PhaseContext<PhaseOf<'agent'>>,
  agent: AgentConfig,
  promptFile: string,
): Record<string, string> {
  const asked = [...ownVariables(agent.adapter), ...(agent.envAllow ?? []), ...(context.phase.env ?? [])];
  const env = allowedEnvironment(context.env, asked);
  return { ...phaseEnvironment({ ...context, env }, promptFile), ...agent.env };
}

/** Variables every agent and script gets. */
export function phaseEnvironment(
  { ticket, phase, attempt, place, settings, env, jobDir }: PhaseContext,
  promptFile = `${jobDir}/prompt.md`,
): Record<string, string> {
  return {
    ...env,
    SIGNALBOX_PLAN: ticket.planId,
    SIGNALBOX_TICKET: ticket.ticketId,
    SIGNALBOX_PHASE: phase.id,
    SIGNALBOX_VISIT: String(attempt.visit),
    SIGNALBOX_ATTEMPT: String(attempt.attempt),
    SIGNALBOX_WORKTREE: place.worktree,
    SIGNALBOX_BRANCH: place.branch,
    SIGNALBOX_BASE: place.base.commit,
    SIGNALBOX_PROMPT_FILE: promptFile,
    SIGNALBOX_STATE_DIR: settings.stateDir,
    ...(settings.configFile ? { SIGNALBOX_CONFIG: settings.configFile } : {}),
    SIGNALBOX_NODE: process.execPath,
    SIGNALBOX_CLI: `${settings.packageDir}/dist/cli.cjs`,
  };
}
