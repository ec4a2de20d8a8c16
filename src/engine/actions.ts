import { loadSettings } from '../config/load.ts';
import { MARKER } from '../machine/jobs/job.ts';
import { InputError } from '../model/errors.ts';
import type { TicketRef } from '../model/ids.ts';
import type { ActionEnd, ActionRequest } from '../phases/index.ts';
import { createWorkspaces } from '../workspaces/index.ts';
import type { EngineContext } from './context.ts';

/** Runs an action with what the command line in a script of the phase would have had. */
export async function runAction(
  parts: EngineContext,
  { ref, phase, request }: { ref: TicketRef; phase: string; request: ActionRequest },
): Promise<ActionEnd> {
  const { action, inputs, place, jobDir, signal } = request;
  const run = parts.actions[action];
  if (!run) throw new InputError('action/unknown', `The action "${action}" is not available here.`);
  const env = { ...request.env, [MARKER]: jobDir };
  const { packageDir } = parts.settings;
  const settings = await loadSettings({ cwd: place.worktree, env, packageDir });
  const walls = Object.values(settings.agents).some(({ sandbox }) => sandbox === 'bwrap');
  const workspaces = createWorkspaces({ env, memory: parts.machine.repositories, walls });
  const own = {
    ...parts,
    settings,
    job: jobDir,
    signal,
    workspaces: workspaces.patient({ signal, strict: true }),
  };
  const end = await run({ parts: own, ref, phase, place, inputs });
  parts.crash('action:done');
  return end;
}
