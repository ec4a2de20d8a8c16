import {
  asStorageErrorIn,
  isStorageError,
} from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { readJob } from '../machine/jobs/start-and-read-job.ts';
import { stopJob } from '../machine/jobs/stop-job.ts';
import { messageOf, shortageOf } from '../model/errors.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import { actionOf } from '../model/workflow.ts';
import { GitError } from '../workspaces/workspaces.ts';
import { performAgent } from './agent.ts';
import { failureBy } from './judge-agent-attempt.ts';
import type { PhaseContext } from './phase-context.ts';
import { performGate, performPoll } from './poll-and-gate.ts';
import { performStep } from './script-and-action-steps.ts';

export { mayBeDone } from './check-evidence.ts';
export { failureBy } from './judge-agent-attempt.ts';
export type { ActionEnd, ActionRequest, EvidenceRules, PhaseContext, Place } from './phase-context.ts';
export { endAfterReturn } from './restore-shared-tree.ts';

/** Performs one attempt. An exception is a failed attempt like any other; only a state that cannot be written is not. */
export async function perform(context: PhaseContext): Promise<AttemptEnd> {
  try {
    const workspaces = context.workspaces.patient({ signal: context.signal });
    return await execute({ ...context, workspaces });
  } catch (caught) {
    const error = asStorageErrorIn(caught, context.settings.stateDir);
    if (isStorageError(error)) throw error;
    const { state } = readJob(context.jobDir);
    const shortage = shortageOf(error);
    // What the process does or did counts, as soon as it can be seen again.
    if (shortage && state === 'running') throw error;
    // An action that met a shortage begins again in the same attempt.
    const isOpen = state === 'ended' || (state === 'none' && actionOf(context.phase) !== undefined);
    if (shortage && isOpen)
      return { type: 'waiting', gate: false, until: null, reason: shortage, shortSince: context.now() };
    // Whatever else went wrong, the attempt is over: none of its processes may continue.
    if (state === 'running') await stopJob(context.jobDir, 'stopped');
    // Git was busy when the stop came; the worktree is checked again when the ticket continues.
    if (error instanceof GitError && context.signal.aborted)
      return { type: 'interrupted', reason: 'stopped', deliberate: true };
    return failureBy('crash', error, messageOf(error));
  }
}

function execute(context: PhaseContext): Promise<AttemptEnd> {
  const { phase } = context;
  switch (phase.type) {
    case 'agent':
      return performAgent({ ...context, phase });
    case 'script':
    case 'action':
      return performStep({ ...context, phase });
    case 'poll':
      return performPoll({ ...context, phase });
    case 'gate':
      return performGate({ ...context, phase });
    case 'terminal':
      throw new Error(`terminal phase "${phase.id}" cannot be performed`);
  }
}
