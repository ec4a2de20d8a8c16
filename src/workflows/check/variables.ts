import { didYouMean } from '../../model/text/near.ts';
import { capturesOf, type Phase, type Workflow } from '../../model/workflow.ts';
import type { TemplateFault, TemplateUse } from '../templates/inspect.ts';
import { TEMPLATE_VARIABLES } from '../variables.ts';

/** Uses of variables that will have no value in a phase. `visible` are the names captured on a way to it. */
export function unknownUses(
  uses: readonly TemplateUse[],
  workflow: Workflow,
  phase: Phase,
  visible: ReadonlySet<string>,
): TemplateFault[] {
  const optional = new Set(
    uses.filter((use) => use.optional && use.root === 'context').map((use) => use.field),
  );
  const faults: TemplateFault[] = [];
  for (const use of uses) {
    const fault = faultOf(use, workflow, phase, visible);
    // A ticket may bring context along that no phase captures; then the template must allow for its absence.
    if (!fault || (use.root === 'context' && optional.has(use.field))) continue;
    const { line, column, file } = use;
    faults.push({ ...(file === undefined ? {} : { file }), line, column, ...fault });
  }
  return faults;
}

type Plain = 'list' | 'text' | 'number';

/** The members that the template language itself gives to values that are no objects, and what they are. */
const MEMBERS: Readonly<Record<Plain, Readonly<Record<string, Plain>>>> = {
  list: { size: 'number', first: 'text', last: 'text' },
  text: { size: 'number' },
  number: {},
};

function memberFault(
  { root, field, member }: TemplateUse,
  type: string,
): { message: string; hint?: string } | undefined {
  let kind: Plain = type.startsWith('list') ? 'list' : type === 'number' ? 'number' : 'text';
  let name = root;
  for (const word of [field, member]) {
    if (word === undefined) return undefined;
    const members = MEMBERS[kind];
    const next = memberOf(kind, word);
    if (next === undefined) {
      const message = `"${name}" is a ${kind} and has no "${word}".${didYouMean(word, Object.keys(members))}`;
      const hint = `It has ${Object.keys(members).join(', ')}.`;
      return kind === 'number' ? { message } : { message, hint };
    }
    name = `${name}.${word}`;
    kind = next;
  }
  return undefined;
}

function memberOf(kind: Plain, word: string): Plain | undefined {
  if (kind !== 'number' && /^-?\d+$/.test(word)) return 'text';
  // The library knows JavaScript's word for it, too.
  const name = word === 'length' ? 'size' : word;
  return Object.hasOwn(MEMBERS[kind], name) ? MEMBERS[kind][name] : undefined;
}

function faultOf(
  use: TemplateUse,
  workflow: Workflow,
  phase: Phase,
  visible: ReadonlySet<string>,
): { message: string; hint?: string } | undefined {
  const variable = TEMPLATE_VARIABLES.find(({ name }) => name === use.root);
  if (variable && variable.name !== 'context') {
    if (use.field === undefined) return undefined;
    if (!variable.fields) return memberFault(use, variable.type);
    if (Object.hasOwn(variable.fields, use.field)) return undefined;
    const fields = Object.keys(variable.fields);
    return {
      message: `"${use.root}" has no "${use.field}".${didYouMean(use.field, fields)}`,
      hint: `It has ${fields.join(', ')}.`,
    };
  }
  const name = variable ? use.field : use.root;
  if (name === undefined || visible.has(name)) return undefined;
  const by = workflow.phases
    .filter((other) => capturesOf(other).includes(name))
    .map((other) => `"${other.id}"`);
  if (by.length > 0) {
    return {
      message: `"${name}" is captured by ${by.join(' and ')}, which never comes before "${phase.id}".`,
    };
  }
  if (variable) {
    return {
      message: `No phase captures "${name}".${didYouMean(name, visible)}`,
      hint: `If tickets bring it along, allow for its absence: {{ context.${name} | default: "" }}.`,
    };
  }
  const known = [...TEMPLATE_VARIABLES.map((known) => known.name), ...visible];
  return {
    message: `Unknown variable "${name}".${didYouMean(name, known)}`,
    hint: 'Variables are those of the ticket, the plan and the phase, and what earlier phases capture; see docs/prompts.md.',
  };
}
