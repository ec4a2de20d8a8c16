import type { PhaseContext } from './context.ts';

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
    SIGNALBOX_CLI: `${settings.packageDir}/dist/cli.js`,
  };
}
