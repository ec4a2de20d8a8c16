import { ownVariables } from '../agents/index.ts';
import type { AgentConfig } from '../model/agent.ts';
import { allowedEnvironment } from '../model/text/environment.ts';
import type { PhaseOf } from '../model/workflow.ts';
import type { PhaseContext } from './context.ts';

/** What an agent gets of our own environment: no token of forge or tracker, unless its config or the phase names it. */
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
export function phaseEnvironment(context: PhaseContext, promptFile: string): Record<string, string> {
  const { ticket, phase, attempt, place, settings, env } = context;
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
