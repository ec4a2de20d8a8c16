import type { Finding } from '../config/file-problem.ts';
import { found } from '../config/kinds.ts';
import type { Path } from '../config/yaml-source.ts';
import { didYouMean } from '../model/text/near.ts';
import {
  ActionPhase,
  AgentPhase,
  GatePhase,
  type Phase,
  PollPhase,
  ScriptPhase,
  TerminalPhase,
} from '../model/workflow.ts';
import { isMapping, issueFinding } from './schema-words.ts';

export const PHASE_SCHEMAS = {
  script: ScriptPhase,
  action: ActionPhase,
  agent: AgentPhase,
  poll: PollPhase,
  gate: GatePhase,
  terminal: TerminalPhase,
} as const;
type PhaseType = keyof typeof PHASE_SCHEMAS;
const PHASE_TYPES = Object.keys(PHASE_SCHEMAS) as PhaseType[];

/** One entry of `phases`: the phase, or what is wrong with its form. */
export function readPhase(data: unknown, index: number): { phase: Phase | undefined; findings: Finding[] } {
  const at: Path = ['phases', index];
  const wrong = (...findings: Finding[]) => ({ phase: undefined, findings });
  if (!isMapping(data))
    return wrong({ path: at, message: `A phase must be a mapping; found ${found(data)}.` });
  const { type } = data;
  const hint = `Types: ${PHASE_TYPES.join(', ')}.`;
  if (type === undefined || type === null)
    return wrong({ path: at, message: 'The phase has no type.', hint });
  if (!isPhaseType(type)) {
    const message = `Unknown phase type ${JSON.stringify(type)}.${didYouMean(String(type), PHASE_TYPES)}`;
    return wrong({ path: [...at, 'type'], message, hint });
  }
  const result = PHASE_SCHEMAS[type].safeParse(data);
  if (result.success) return { phase: result.data, findings: [] };
  const findings = result.error.issues.flatMap((issue): Finding[] => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(type, issue.path, key));
    return [issueFinding(issue, data, `${article(type, true)} phase`)];
  });
  return wrong(...findings.map((finding) => ({ ...finding, path: [...at, ...finding.path] })));
}

/** A key that another type has is no slip of the pen; it has to go. */
function unknownKey(type: PhaseType, inside: readonly PropertyKey[], key: string): Finding {
  const path = [...inside.map(String), key];
  if (inside.length > 0) {
    const keys = nestedKeys(type, inside);
    const where = `"${inside.join('.')}"`;
    const message = `Unknown key "${key}" in ${where}.${didYouMean(key, keys)}`;
    return { path, on: 'key', message, hint: `Keys of ${where}: ${keys.join(', ')}.` };
  }
  const own = Object.keys(PHASE_SCHEMAS[type].shape);
  const owners = PHASE_TYPES.filter((other) => Object.hasOwn(PHASE_SCHEMAS[other].shape, key));
  if (owners.length === 0) {
    const hint = `Keys of ${article(type)} phase: ${own.join(', ')}.`;
    return { path, on: 'key', message: `Unknown key "${key}".${didYouMean(key, own)}`, hint };
  }
  const message = `"${key}" is not allowed on ${article(type)} phase.`;
  return { path, on: 'key', message, hint: `It belongs to ${owners.join(', ')} phases.` };
}

/** Keys of a nested mapping such as `retry`. */
function nestedKeys(type: PhaseType, inside: readonly PropertyKey[]): string[] {
  const shape: Record<string, unknown> = PHASE_SCHEMAS[type].shape;
  const field = shape[String(inside[0])] as { unwrap?(): { shape?: object } } | undefined;
  return Object.keys(field?.unwrap?.().shape ?? {});
}

function isPhaseType(value: unknown): value is PhaseType {
  return typeof value === 'string' && Object.hasOwn(PHASE_SCHEMAS, value);
}

export function article(type: string, capital = false): string {
  const word = /^[aeiou]/.test(type) ? 'an' : 'a';
  return `${capital ? word.charAt(0).toUpperCase() + word.slice(1) : word} ${type}`;
}
