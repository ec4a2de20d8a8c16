import type { Json } from './ticket.ts';
import type { Phase, Workflow } from './workflow.ts';

interface SpecWishes {
  /** Agent of the phase `assign`; null is whoever does the rest. */
  assignAgent: string | null;
  /** Names that a unit may be assigned to. */
  owners: readonly string[];
  /** Ids of units that are asked for together with the ticket's own. */
  together?: readonly string[];
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
  const asksNone = (wishes.together ?? []).length === 0;
  const agent = wishes.assignAgent === null ? {} : { agent: wishes.assignAgent };
  return {
    ...phase,
    ...attempts,
    ...agent,
    ...(output ? { output: withOthers(withOwners(output, wishes.owners), wishes) } : {}),
    ...(phase.capture ? { capture: without(phase.capture, (source) => asksNone && source === OTHERS) } : {}),
  };
}

const OTHERS = 'result.others';

/** Whether the workflow can ask for several units at once. */
export function canAskForOthers({ phases }: Workflow): boolean {
  const assign = phases.find(({ id }) => id === 'assign');
  if (assign?.type !== 'agent') return false;
  const { others } = (assign.output?.properties ?? {}) as Record<string, Json>;
  return others !== undefined && Object.values(assign.capture ?? {}).includes(OTHERS);
}

/** Every unit that is asked for has to be answered for, and no other one may be. */
function withOthers(
  output: Record<string, Json>,
  { together = [], owners }: SpecWishes,
): Record<string, Json> {
  const { others, ...properties } = (output.properties ?? {}) as Record<string, Json>;
  if (others === undefined) return output;
  if (together.length === 0) return { ...output, properties };
  const form = (others as { additionalProperties?: Record<string, Json> }).additionalProperties ?? {};
  const each = withOwners(form, owners);
  const all = {
    ...(others as object),
    additionalProperties: false,
    required: [...together],
    properties: Object.fromEntries(together.map((id) => [id, each])),
  };
  const required = [...((output.required ?? []) as string[]), 'others'];
  return { ...output, required, properties: { ...properties, others: all } };
}

function without<T>(record: Record<string, T>, isOut: (value: T) => boolean): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => !isOut(value)));
}

function withOwners(output: Record<string, Json>, owners: readonly string[]): Record<string, Json> {
  const properties = output.properties as Record<string, Json> | undefined;
  const owner = properties?.owner;
  if (typeof owner !== 'object' || owner === null || Array.isArray(owner)) return output;
  return { ...output, properties: { ...properties, owner: { ...owner, enum: [...owners] } } };
}
