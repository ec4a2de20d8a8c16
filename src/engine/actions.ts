import { loadSettings } from '../config/load.ts';
import { MARKER } from '../machine/jobs/job.ts';
import { InputError } from '../model/errors.ts';
import type { TicketRef } from '../model/ids.ts';
import type { ActionEnd, ActionRequest } from '../phases/index.ts';
import type { EngineContext } from './context.ts';

/** Runs an action with what the command line in a script of the phase would have had. */
export async function runAction(
  parts: EngineContext,
  { ref, phase, request }: { ref: TicketRef; phase: string; request: ActionRequest },
): Promise<ActionEnd> {
  const { action, inputs, place, jobDir, signal } = request;
  const run = parts.actions[action];
  if (!run) throw new InputError('action/unknown', `The action "${action}" is not available here.`);
  const { packageDir } = parts.settings;
  const settings = await loadSettings({ cwd: place.worktree, env: request.env, packageDir });
  const own = Object.entries(request.env).filter(([name]) => name.startsWith('SIGNALBOX_'));
  const env = { ...Object.fromEntries(own), [MARKER]: jobDir };
  const workspaces = parts.workspaces.patient({ signal, strict: true, env });
  const end = await run({
    parts: { ...parts, settings, job: jobDir, signal, workspaces },
    ref,
    phase,
    place,
    inputs,
  });
  parts.crash('action:done');
  return end;
}
