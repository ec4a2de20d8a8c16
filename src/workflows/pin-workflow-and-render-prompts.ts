import { createHash } from 'node:crypto';
import { InputError, messageOf } from '../model/errors.ts';
import { type PhaseOf, Workflow } from '../model/workflow.ts';
import { renderPrompt } from './templates/render-template.ts';

/** A workflow with everything it names: what a ticket keeps from its start to its end. */
export interface PinnedWorkflow {
  workflow: Workflow;
  /** Texts of all prompts by name, included ones too. */
  prompts: Record<string, string>;
  /** Absolute paths of all scripts by name. */
  scripts: Record<string, string>;
}

/** The text to keep and its hash. Equal content gives the equal hash, however its file is written. */
export function pinWorkflow(pinned: PinnedWorkflow): { hash: string; text: string } {
  const { workflow, prompts, scripts } = pinned;
  const text = JSON.stringify({
    v: 1,
    workflow: Workflow.parse(workflow),
    prompts: sorted(prompts),
    scripts: sorted(scripts),
  });
  return { hash: createHash('sha256').update(text).digest('hex'), text };
}

/** Reads back what pinWorkflow wrote. */
export function readPinned(text: string): PinnedWorkflow {
  try {
    const data = JSON.parse(text) as PinnedWorkflow & { v: number };
    if (data.v !== 1) throw new Error(`version ${data.v} is not known`);
    return {
      workflow: Workflow.parse(data.workflow),
      prompts: { ...data.prompts },
      scripts: { ...data.scripts },
    };
  } catch (error) {
    throw new InputError('workflow/pinned', `A stored workflow cannot be read: ${messageOf(error)}.`, {
      hint: 'Retry the ticket with the present workflow.',
      cause: error,
    });
  }
}

/** The prompt of an agent phase, rendered from what was pinned and from nothing else. */
export async function renderPhasePrompt(
  pinned: PinnedWorkflow,
  phase: PhaseOf<'agent'>,
  variables: Readonly<Record<string, unknown>>,
): Promise<string> {
  const name = phase.promptTemplate;
  const text = phase.prompt ?? (name === undefined ? undefined : pinned.prompts[name]);
  if (text === undefined) {
    throw new InputError('prompt/missing', `Phase "${phase.id}" has no prompt${name ? ` "${name}"` : ''}.`, {
      hint: '`signalbox workflow check` shows what is missing.',
    });
  }
  const label = name ? `prompt "${name}"` : `the prompt of phase "${phase.id}"`;
  return await renderPrompt(text, variables, { prompts: pinned.prompts, name: label });
}

function sorted(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
