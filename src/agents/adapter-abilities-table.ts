import { ACCESS, type AgentAdapter } from '../model/agent-and-adapter-types.ts';

/** `passed on`: the agent gets it in its environment and may ignore it. */
type Honoured = 'yes' | 'no' | 'passed on';

const NONE = '–';

type Supports = ReturnType<typeof supportsOf>;

/** The abilities of an adapter, as `doctor --agents` and the docs show them; null: not declared. */
export function supportsOf({ capabilities: can, program, access = ACCESS }: AgentAdapter) {
  const honoured = (does: boolean): Honoured => (!does ? 'no' : program ? 'yes' : 'passed on');
  return {
    schema: can.schema,
    session: can.resume,
    model: honoured(can.model),
    effort: honoured(can.effort),
    maxTurns: honoured(can.maxTurns),
    /** A cap on dollars of the program's own. */
    budget: program?.capsCost ?? null,
    allowedTools: honoured(can.allowedTools),
    cost: program?.reportsCost ?? null,
    limitEnd: program?.limitEnd ?? null,
    access,
  };
}

/** The columns of the tables, with the text of their cells. */
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
