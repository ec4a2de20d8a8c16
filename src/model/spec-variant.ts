import type { Json } from './ticket.ts';
import type { Phase, Workflow } from './workflow.ts';

export interface SpecWishes {
  /** Agent of the phase `assign`; null is whoever does the rest. */
  assignAgent: string | null;
  /** Names that a unit may be assigned to. */
  owners: readonly string[];
  /** Most attempts at one unit. */
  maxAttempts: number;
}

/** The workflow as a run of a spec wants it: known owners, and as many attempts as were asked for. */
export function specialiseSpec(workflow: Workflow, wishes: SpecWishes): Workflow {
  return { ...workflow, phases: workflow.phases.map((phase) => adapt(phase, wishes)) };
}

function adapt(phase: Phase, wishes: SpecWishes): Phase {
  if (phase.type !== 'agent') return phase;
  const { maxAttempts: most, output } = phase;
  const attempts = most === undefined ? {} : { maxAttempts: wishes.maxAttempts };
  if (phase.id !== 'assign') return { ...phase, ...attempts };
  const agent = wishes.assignAgent === null ? {} : { agent: wishes.assignAgent };
  return {
    ...phase,
    ...attempts,
    ...agent,
    ...(output ? { output: withOwners(output, wishes.owners) } : {}),
  };
}

function withOwners(output: Record<string, Json>, owners: readonly string[]): Record<string, Json> {
  const properties = output.properties as Record<string, Json> | undefined;
  const owner = properties?.owner;
  if (typeof owner !== 'object' || owner === null || Array.isArray(owner)) return output;
  return { ...output, properties: { ...properties, owner: { ...owner, enum: [...owners] } } };
}
