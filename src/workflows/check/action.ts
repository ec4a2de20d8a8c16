import type { Finding } from '../../config/file-problem.ts';
import type { Path } from '../../config/yaml-source.ts';
import { ACTIONS } from '../../model/actions.ts';
import type { PhaseOf } from '../../model/workflow.ts';

type Step = PhaseOf<'action' | 'poll' | 'gate'>;

/** A script or an action, not both, and only inputs that the action has. */
export function checkStep(phase: Step, at: Path): Finding[] {
  const { action, type } = phase;
  const command = type === 'action' ? undefined : phase.command;
  if (action === undefined) return [...checkNothing(phase, at), ...needsAction(phase, at)];
  if (command !== undefined) return [twice('command', at)];
  if (type === 'poll' && phase.args.length > 0) return [twice('args', at)];
  const { inputs: known = [] } = ACTIONS[action];
  return Object.keys(phase.with ?? {})
    .filter((input) => !known.some((name) => name === input))
    .map((input) => ({
      path: [...at, 'with', input],
      on: 'key',
      message: `The action "${action}" has no input "${input}".`,
      hint: known.length > 0 ? `Its inputs: ${known.join(', ')}.` : 'It has no inputs.',
    }));
}

/** A poll looks at something. */
function checkNothing(phase: Step, at: Path): Finding[] {
  if (phase.type !== 'poll' || phase.command !== undefined) return [];
  const hint = 'Write, for example, "command: deployed.sh" or "action: pull-request-poll".';
  return [{ path: at, message: `Poll phase "${phase.id}" names neither a script nor an action.`, hint }];
}

function needsAction(phase: Step, at: Path): Finding[] {
  if (phase.with === undefined) return [];
  return [{ path: [...at, 'with'], on: 'key', message: '"with" needs an "action".', hint: 'Delete it.' }];
}

function twice(key: 'command' | 'args', at: Path): Finding {
  const message = `"${key}" and "action" exclude each other.`;
  return { path: [...at, key], on: 'key', message, hint: 'Delete one of them.' };
}
