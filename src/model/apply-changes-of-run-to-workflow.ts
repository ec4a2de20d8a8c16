import type { Json } from './ticket.ts';
import type { Phase, Workflow } from './workflow.ts';

/** What one run asks of a workflow, beyond what its file says. */
export interface WorkflowChanges {
  /** By phase; `*` is every agent phase that has none of its own. */
  models: Record<string, string>;
  efforts: Record<string, string>;
  /** Wall-clock limit of agent phases. */
  timeoutSeconds: number | null;
  /** False: never retry, and no turn that repairs a result. */
  retry: boolean;
  /** Maximum number of visits of a phase in a loop; 1: no loop. */
  loops: { phase: string; visits: number } | null;
  /** False: gates ask a person and run no script or action. */
  gatesPoll?: boolean;
}

/** The workflow as this run wants it. It is pinned like any other, so it stays what it was when the run is resumed. */
export function applyChanges(workflow: Workflow, changes: WorkflowChanges): Workflow {
  return { ...workflow, phases: workflow.phases.map((phase) => adapt(phase, changes)) };
}

function adapt(phase: Phase, changes: WorkflowChanges): Phase {
  const visits = changes.loops?.phase === phase.id ? { maxVisits: changes.loops.visits } : {};
  if (phase.type === 'terminal') return phase;
  if (phase.type === 'gate') {
    const nowhere = { command: undefined, args: undefined, action: undefined, with: undefined };
    return changes.gatesPoll === false ? { ...phase, ...nowhere, intervalSeconds: undefined } : phase;
  }
  const once = changes.retry ? {} : { retry: undefined, maxRetries: undefined };
  if (phase.type === 'script' || phase.type === 'action')
    return { ...phase, ...once, ...(changes.retry ? {} : { waits: false }), ...visits };
  if (phase.type !== 'agent') return { ...phase, ...once, ...visits };
  const model = changes.models[phase.id] ?? changes.models['*'];
  const effort = (changes.efforts[phase.id] ?? changes.efforts['*']) as typeof phase.effort;
  return {
    ...phase,
    ...once,
    ...(changes.retry ? {} : { repair: false }),
    ...visits,
    ...(model ? { model } : {}),
    ...(effort ? { effort } : {}),
    ...(changes.timeoutSeconds ? { timeoutSeconds: changes.timeoutSeconds } : {}),
  };
}

interface SpecWorkflowChanges {
  /** Agent of the phase `assign`; null: the agent of the other phases. */
  assignAgent: string | null;
  /** Names that a unit may be assigned to. */
  owners: readonly string[];
  /** Ids of units that are asked for together with the ticket's own. */
  together?: readonly string[];
  /** Most attempts at one unit. */
  maxAttempts: number;
  /** Wall-clock limit of agents; null: that of the phase, else `usualSeconds`. */
  timeoutSeconds: number | null;
  usualSeconds: number;
}

/** The workflow as a run of a spec wants it: known owners, and as many attempts as were asked for. */
export function specialiseSpec(workflow: Workflow, changes: SpecWorkflowChanges): Workflow {
  return { ...workflow, phases: workflow.phases.map((phase) => adaptForSpec(phase, changes)) };
}

function adaptForSpec(phase: Phase, changes: SpecWorkflowChanges): Phase {
  if (phase.type !== 'agent') return phase;
  const { maxAttempts: most, output } = phase;
  const attempts = most === undefined ? {} : { maxAttempts: changes.maxAttempts };
  const usual = phase.timeoutSeconds ?? changes.usualSeconds;
  const wanted = changes.timeoutSeconds ?? usual;
  if (phase.id !== 'assign') return { ...phase, ...attempts, timeoutSeconds: wanted };
  const asksNone = (changes.together ?? []).length === 0;
  const captured = Object.entries(phase.capture ?? {}).filter(([, source]) => !asksNone || source !== OTHERS);
  const agent = changes.assignAgent === null ? {} : { agent: changes.assignAgent };
  return {
    ...phase,
    ...attempts,
    ...agent,
    timeoutSeconds: Math.min(usual, wanted),
    ...(output ? { output: withOthers(withOwners(output, changes.owners), changes) } : {}),
    ...(phase.capture ? { capture: Object.fromEntries(captured) } : {}),
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

/** The schema requires an answer for every requested unit, and for no other. */
function withOthers(
  output: Record<string, Json>,
  { together = [], owners }: SpecWorkflowChanges,
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

function withOwners(output: Record<string, Json>, owners: readonly string[]): Record<string, Json> {
  const properties = output.properties as Record<string, Json> | undefined;
  const owner = properties?.owner;
  if (typeof owner !== 'object' || owner === null || Array.isArray(owner)) return output;
  return { ...output, properties: { ...properties, owner: { ...owner, enum: [...owners] } } };
}
