import type { Access, AgentAdapter, AgentCapabilities, AgentProgram } from '../model/agent.ts';

/** What an adapter declares, as `doctor --agents` and the docs tell it; null where it declares nothing. */
export interface Supports {
  schema: AgentCapabilities['schema'];
  session: boolean;
  model: Honoured;
  effort: Honoured;
  maxTurns: Honoured;
  /** A cap on dollars of the program's own. */
  budget: boolean | null;
  allowedTools: Honoured;
  cost: boolean | null;
  limitEnd: AgentProgram['limitEnd'] | null;
  access: readonly Access[];
}

/** `told`: the agent finds the value in its environment and does with it what it likes. */
type Honoured = 'yes' | 'no' | 'told';

/** The capabilities of an adapter that has these and no others. */
export function can(
  schema: AgentCapabilities['schema'],
  ...abilities: Exclude<keyof AgentCapabilities, 'schema'>[]
): AgentCapabilities {
  const has = (ability: (typeof abilities)[number]) => abilities.includes(ability);
  return {
    schema,
    resume: has('resume'),
    model: has('model'),
    effort: has('effort'),
    maxTurns: has('maxTurns'),
    allowedTools: has('allowedTools'),
  };
}

const NONE = '–';

export function supportsOf({ capabilities: can, program, access }: AgentAdapter): Supports {
  const honoured = (does: boolean): Honoured => (!does ? 'no' : program ? 'yes' : 'told');
  return {
    schema: can.schema,
    session: can.resume,
    model: honoured(can.model),
    effort: honoured(can.effort),
    maxTurns: honoured(can.maxTurns),
    budget: program?.capsCost ?? null,
    allowedTools: honoured(can.allowedTools),
    cost: program?.tellsCost ?? null,
    limitEnd: program?.limitEnd ?? null,
    access,
  };
}

/** The columns of the tables, with what stands in them. */
export const SUPPORT_COLUMNS: readonly { title: string; of(supports: Supports): string }[] = [
  { title: 'Result by', of: ({ schema }) => (schema === 'native' ? 'schema flag' : 'tagged block') },
  { title: 'Session', of: ({ session }) => yesNo(session) },
  { title: 'Model', of: ({ model }) => model },
  { title: 'Effort', of: ({ effort }) => effort },
  { title: 'Turn cap', of: ({ maxTurns }) => maxTurns },
  { title: 'Budget cap', of: ({ budget }) => yesNo(budget) },
  { title: 'Tool list', of: ({ allowedTools }) => allowedTools },
  { title: 'Cost', of: ({ cost }) => yesNo(cost) },
  { title: 'Limit’s end', of: ({ limitEnd }) => limitEnd ?? NONE },
  { title: 'Access', of: ({ access }) => access.join(', ') },
];

function yesNo(value: boolean | null): string {
  return value === null ? NONE : value ? 'yes' : 'no';
}
