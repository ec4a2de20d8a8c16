import { z } from 'zod';
import { ACTION_NAMES, ACTIONS, ActionInputs, type ActionName } from './actions.ts';
import { ACCESS, EFFORTS } from './agent-and-adapter-types.ts';
import { Budget, OptionalFlag, OptionalText, OptionalTexts } from './ticket-schema.ts';

const PhaseId = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
    'a phase id starts with a letter and holds letters, digits, "_" and "-"',
  )
  // Counters are kept by phase id in plain objects.
  .refine((id) => !(id in Object.prototype), 'a phase id must not be a word of JavaScript objects');
/** Ten years. Much longer times are out of range for dates. */
const MAX_SECONDS = 315_360_000;
const Seconds = z.number().positive().max(MAX_SECONDS);
const Name = z.string().min(1);
const Repetitions = z.number().int().min(0).max(20);
const UpTo100 = z.number().int().positive().max(100).optional();
const IfTrue = z.literal(true).optional();

export const Retry = z.strictObject({
  max: Repetitions.describe('How often a failed attempt is repeated before the failure edge'),
  delaySeconds: z.number().min(0).default(0).describe('Wait before the first repetition'),
  factor: z.number().min(1).default(2).describe('Each further wait is this many times as long'),
  maxDelaySeconds: Seconds.default(600).describe('No wait is longer than this'),
});

export const Expect = z.strictObject({
  commits: z
    .union([z.literal(true), z.number().int().positive()])
    .optional()
    .describe('At least this many commits ahead of the base'),
  own: IfTrue.describe('Commits of earlier phases do not count; those of earlier visits of this phase do'),
  clean: IfTrue.describe('No uncommitted or untracked file'),
  files: z.array(z.string()).min(1).optional().describe('Each pattern matches a file changed since the base'),
});
export type Expect = z.infer<typeof Expect>;

const edges = {
  onSuccess: PhaseId.optional().describe('Next phase after success; none completes the ticket'),
  onFailure: PhaseId.optional().describe('Next phase after the last failed attempt; none fails the ticket'),
  on: z
    .record(z.string(), PhaseId)
    .optional()
    .describe('Next phase by outcome; onSuccess and onFailure are short for two of them'),
};
const common = {
  id: PhaseId.describe('Unique in the workflow'),
  description: OptionalText.describe('For people'),
  workerLabels: OptionalTexts.describe(
    'On a fleet: labels that the worker must have, from the start of the ticket on',
  ),
  maxVisits: UpTo100.describe('How often the ticket may enter this phase; then its failure edge is taken'),
};
const attempts = {
  maxRetries: Repetitions.optional().describe('Short for retry: {max: n}'),
  retry: Retry.optional().describe('Repetitions with backoff'),
  maxAttempts: UpTo100.describe(
    'Most attempts in all visits together; then the failure edge is taken. A halt does not count',
  ),
  timeoutSeconds: Seconds.optional().describe('Wall-clock limit of one attempt'),
  capture: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a captured name holds letters, digits and "_"'),
      Name,
    )
    .optional()
    .describe('Context values: `stdout`, `result.<field>`, or a shell command'),
};
const command = Name.describe('Script file, looked up in scriptDir and then among the bundled ones');
const args = z.array(z.string()).describe('Templates, passed as arguments without a shell');
/** An action that this type of phase may name, and the inputs of those. */
function actionFor(type: 'action' | 'poll' | 'gate') {
  const names = ACTION_NAMES.filter((name) => (ACTIONS[name].in ?? ['action']).includes(type));
  const inputs = new Set(names.flatMap((name) => ACTIONS[name].inputs ?? []));
  const shape = Object.fromEntries([...inputs].map((name) => [name, ActionInputs.shape[name]]));
  return {
    action: z
      .enum(names as [ActionName, ...ActionName[]])
      .describe('Bundled step that runs inside the engine; a script of its name in scriptDir runs instead'),
    with: (z.strictObject(shape) as z.ZodType<ActionInputs>).optional().describe('Inputs of the action'),
  };
}
const outsideAction = { poll: actionFor('poll'), gate: actionFor('gate') };
const waits = OptionalFlag.describe(
  'Whether “not now”, exit code 75 of a script, is waited out; default yes',
);

export const ScriptPhase = z.strictObject({
  ...common,
  type: z.literal('script'),
  command,
  args: args.default([]),
  ...attempts,
  idleSeconds: Seconds.optional().describe('Stop when nothing was printed for this long'),
  waits,
  ...edges,
});
export const ActionPhase = z.strictObject({
  ...common,
  type: z.literal('action'),
  ...actionFor('action'),
  ...attempts,
  waits,
  ...edges,
});
export const AgentPhase = z.strictObject({
  ...common,
  type: z.literal('agent'),
  promptTemplate: Name.optional().describe(
    'Prompt file, looked up in promptDir and then among the bundled ones',
  ),
  prompt: Name.optional().describe('The prompt itself, instead of promptTemplate'),
  agent: Name.optional().describe('Overrides the agent of ticket, plan and default'),
  model: Name.optional().describe('Model name, as the agent’s CLI spells it'),
  effort: z.enum(EFFORTS).optional().describe('Reasoning effort'),
  access: z
    .enum(ACCESS)
    .optional()
    .describe('What the agent may do: read the tree, write in it, or anything'),
  session: z
    .enum(['fresh', 'continue', 'keep'])
    .default('fresh')
    .describe(
      'Start a new session, or continue the last one of this phase; `keep`: continue it if the agent can',
    ),
  allowedTools: z.array(Name).optional().describe('Tools the agent may use without asking'),
  maxTurns: z.number().int().positive().optional().describe('Most model turns in one attempt'),
  budget: Budget.optional().describe(
    'What all attempts at this phase of a ticket may use; overrides the setting budgets.phase',
  ),
  fallback: OptionalFlag.describe(
    'Whether the agent’s `fallback` may take over while it is under a usage limit; default yes, unless the phase names its agent or model or continues a session',
  ),
  env: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a variable holds letters, digits and "_"'))
    .optional()
    .describe('Variables of Signalbox’s own environment that the agent gets, such as GH_TOKEN'),
  output: z
    .record(z.string(), z.json())
    .optional()
    .describe('JSON Schema of the result the agent must return'),
  criteria: z
    .strictObject({ met: z.array(Name).describe('Outcomes that say that every criterion is met') })
    .optional()
    .describe(
      'The result’s `criteria` (`criterion`, `met`, `evidence`) must judge every acceptance criterion of the ticket and not contradict its outcome',
    ),
  repair: OptionalFlag.describe(
    'Whether a result that does not fit gets one more turn to be corrected; default yes',
  ),
  signals: IfTrue.describe(
    'The final message must say `<promise>TASK_DONE</promise>` or `<promise>HALT</promise>` on a line of its own; a halt takes the edge `halt`',
  ),
  expect: Expect.optional().describe('Evidence the engine checks after the agent has ended'),
  idleSeconds: Seconds.optional().describe('Stop when nothing was printed for this long'),
  ...attempts,
  ...edges,
});
export const PollPhase = z.strictObject({
  ...common,
  type: z.literal('poll'),
  command: command.optional(),
  args: args.default([]),
  action: outsideAction.poll.action.optional(),
  with: outsideAction.poll.with,
  intervalSeconds: Seconds.optional().describe('Polling interval; default pollInterval'),
  timeoutSeconds: Seconds.optional().describe('Longest wait in all; default one day'),
  notify: OptionalFlag.describe(
    'true: it waits for something that a person has to do, and notifies them once; default no',
  ),
  maxRetries: attempts.maxRetries,
  retry: attempts.retry,
  capture: attempts.capture,
  ...edges,
});
export const GatePhase = z.strictObject({
  ...common,
  type: z.literal('gate'),
  prompt: OptionalText.describe('What the person is asked; a template'),
  command: Name.optional().describe(
    'Script that checks for an answer given elsewhere: exit code 0 with the decision in its first line, 1 for not yet',
  ),
  args: args.optional(),
  action: outsideAction.gate.action.optional(),
  with: outsideAction.gate.with,
  intervalSeconds: Seconds.optional().describe('Polling interval; default pollInterval'),
  timeoutSeconds: Seconds.optional().describe('Take the failure edge when there was no answer for this long'),
  onFailure: edges.onFailure,
  on: z.record(z.string(), PhaseId).describe('Next phase by decision'),
  found: OptionalTexts.describe(
    'Decisions of `on` that only the script or action can report; a person cannot answer with them',
  ),
});
export const TerminalPhase = z.strictObject({
  id: common.id,
  description: common.description,
  type: z.literal('terminal'),
  notify: z
    .boolean()
    .default(false)
    .describe('true: a person must check it (needs_attention); false: complete'),
});

export const Phase = z.discriminatedUnion('type', [
  ScriptPhase,
  ActionPhase,
  AgentPhase,
  PollPhase,
  GatePhase,
  TerminalPhase,
]);
export type Phase = z.infer<typeof Phase>;
export type PhaseOf<T extends Phase['type']> = Extract<Phase, { type: T }>;

export const Workflow = z.strictObject({
  $schema: OptionalText.describe('Where the schema of this file is, for editors'),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'a workflow name holds letters, digits, "_" and "-"')
    .describe('The name that tickets use'),
  description: z.string().default('').describe('For people'),
  tags: z.array(z.string()).default([]).describe('For people'),
  phases: z.array(Phase).min(1).describe('The first one is where a ticket starts'),
});
export type Workflow = z.infer<typeof Workflow>;

export function phaseOf(workflow: Workflow, id: string): Phase | undefined {
  return workflow.phases.find((phase) => phase.id === id);
}

export function firstPhase(workflow: Workflow): Phase {
  return workflow.phases[0] as Phase;
}

/** All edges of a phase with the sugar resolved: outcome → phase id. */
export function edgesOf(phase: Phase): Record<string, string> {
  if (phase.type === 'terminal') return {};
  const all: Record<string, string> = { ...phase.on };
  if ('onSuccess' in phase && phase.onSuccess) all.success = phase.onSuccess;
  if (phase.onFailure) all.failure = phase.onFailure;
  return all;
}

/** Outcomes by exit code. */
export const EXIT_OUTCOMES = ['success', 'failure', 'timeout'];

/** Trying again would change nothing: exit code 65 of a script. Without an edge of its own it is a failure. */
export const REFUSED = 'refused';

/** The outcomes of a poll that its script or action has to name. */
export function ownOutcomes(phase: PhaseOf<'poll'>): string[] {
  return Object.keys(phase.on ?? {}).filter((outcome) => !EXIT_OUTCOMES.includes(outcome));
}

/** Where a phase leads when it goes well: its success edge, else the first outcome it names. */
export function positiveEdge(phase: Phase): string | undefined {
  const edges = edgesOf(phase);
  const first = phase.type === 'terminal' ? undefined : Object.values(phase.on ?? {})[0];
  return edges.success ?? first;
}

/** Phases that work goes through when all goes well. */
export function phasesAhead(workflow: Workflow, skipped: readonly string[]): string[] {
  const ahead = new Set<string>();
  for (
    let phase: Phase | undefined = workflow.phases[0];
    phase && phase.type !== 'terminal' && !ahead.has(phase.id);
    phase = phaseOf(workflow, positiveEdge(phase) ?? '')
  )
    ahead.add(phase.id);
  return [...ahead].filter((id) => !skipped.includes(id));
}

export function retryOf(phase: Phase): z.infer<typeof Retry> {
  const none = { max: 0, delaySeconds: 0, factor: 2, maxDelaySeconds: 600 };
  if (phase.type === 'gate' || phase.type === 'terminal') return none;
  if (phase.retry) return phase.retry;
  return { ...none, max: phase.maxRetries ?? 0 };
}

/** The script of a phase; undefined for phases without one. */
export function commandOf(phase: Phase): string | undefined {
  return 'command' in phase ? phase.command : undefined;
}

/** The action of a phase; undefined for phases without one. */
export function actionOf(phase: Phase): ActionName | undefined {
  return 'action' in phase ? phase.action : undefined;
}

/** Whether a program does the work of a phase, which fails if it cannot write. An action in the engine says itself what it lacks. */
export function runsProgram(phase: Phase): boolean {
  const action = phase.type === 'action' ? actionOf(phase) : undefined;
  return phase.type === 'agent' || phase.type === 'script' || (action && ACTIONS[action].isJob) === true;
}

/** Whether a phase gets its answer from a script or an action that checks something outside. */
export function hasCheck(phase: Phase): boolean {
  return commandOf(phase) !== undefined || actionOf(phase) !== undefined;
}

/** What a person may answer. */
export function decisionsOf({ on, found = [] }: PhaseOf<'gate'>): string[] {
  return Object.keys(on).filter((decision) => !found.includes(decision));
}

/** Names a phase captures into the context, gates included: they leave their decision and message. */
export function capturesOf(phase: Phase): string[] {
  if (phase.type === 'gate') return [`${phase.id}_decision`, `${phase.id}_message`];
  if (phase.type === 'terminal') return [];
  const halts = phase.type === 'agent' && phase.signals ? ['halt_reason'] : [];
  return [...Object.keys(phase.capture ?? {}), ...halts];
}

/** The result schema an agent phase asks for, with `outcome` filled in from its edges where it branches. */
export function resultSchemaOf(phase: PhaseOf<'agent'>): Record<string, unknown> | undefined {
  if (!phase.output) return undefined;
  const properties = (phase.output.properties ?? {}) as Record<string, unknown>;
  const required = Array.isArray(phase.output.required) ? (phase.output.required as string[]) : [];
  if (properties.outcome) return { ...phase.output, required: [...new Set([...required, 'outcome'])] };
  const named = Object.keys(edgesOf(phase)).filter((key) => key !== 'success' && key !== 'failure');
  const outcomes = named.length > 0 ? Object.keys(edgesOf(phase)) : ['success', 'failure'];
  return {
    ...phase.output,
    type: 'object',
    properties: { outcome: { type: 'string', enum: outcomes }, ...properties },
    required: [...new Set(['outcome', ...required])],
  };
}
