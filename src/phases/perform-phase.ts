import {
  asStorageErrorIn,
  fullDisk,
  isStorageError,
} from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { readJob } from '../machine/jobs/start-and-read-job.ts';
import { stopJob } from '../machine/jobs/stop-job.ts';
import { messageOf, shortageOf } from '../model/errors.ts';
import type { AttemptEnd } from '../model/state/attempt-end-types-and-waits.ts';
import { runsProgram } from '../model/workflow.ts';
import { GitError } from '../workspaces/workspaces.ts';
import { performAgent } from './agent.ts';
import { failure, failureBy } from './judge-agent-attempt.ts';
import type { PhaseContext } from './phase-context.ts';
import { performGate, performPoll } from './poll-and-gate.ts';
import { performStep } from './script-and-action-steps.ts';

export { hasCommitted, mayBeDone } from './check-evidence.ts';
export { failure, failureBy } from './judge-agent-attempt.ts';
export type { ActionEnd, ActionRequest, EvidenceRules, PhaseContext, Place } from './phase-context.ts';
export { endAfterReturn } from './restore-shared-tree.ts';

/** Performs one attempt. An exception counts as a failed attempt, but a storage error is thrown: its result could not be recorded. */
export async function perform(context: PhaseContext): Promise<AttemptEnd> {
  try {
    const workspaces = context.workspaces.patient({ signal: context.signal });
    return orFullDisk(context, await execute({ ...context, workspaces }));
  } catch (caught) {
    const error = asStorageErrorIn(caught, context.settings.stateDir);
    if (isStorageError(error)) throw error;
    const { state } = readJob(context.jobDir);
    const shortage = shortageOf(error);
    // What the process does or did counts, as soon as it can be seen again.
    if (shortage && state === 'running') throw error;
    // What has not begun begins later, in the same attempt.
    if (shortage && (state === 'ended' || state === 'none'))
      return { type: 'waiting', gate: false, until: null, reason: shortage, shortSince: context.now() };
    // Whatever else went wrong, the attempt is over: none of its processes may continue.
    if (state === 'running') await stopJob(context.jobDir, 'stopped');
    // Git was busy when the stop came; the worktree is checked again when the ticket continues.
    if (error instanceof GitError && context.signal.aborted)
      return { type: 'interrupted', reason: 'stopped', deliberate: true };
    return failureBy('crash', error, messageOf(error));
  }
}

/** Errors of programs that may only mean that there was no room for what they wanted to write. */
const POSSIBLE_ON_FULL_DISK: ReadonlySet<string> = new Set([
  'exit',
  'crash',
  'protocol',
  'evidence',
  'timeout',
  'idle',
]);

/** An agent or script that failed on a full disk runs again when there is room, and no attempt is consumed. */
function orFullDisk({ phase, place }: PhaseContext, end: AttemptEnd): AttemptEnd {
  const failed = end.type === 'failed' && POSSIBLE_ON_FULL_DISK.has(end.error.class) ? end.error : undefined;
  const message = failed?.message ?? (end.type === 'interrupted' && end.died ? end.reason : undefined);
  const full = runsProgram(phase) && message !== undefined ? fullDisk(place.worktree, place.repo) : undefined;
  if (!full) return end;
  const { sessionId = null, usage = null, output = null } = end;
  return { ...failure('shortage', `${full}; ${phase.id}: ${message}`), sessionId, usage, output };
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
