import { EFFORTS } from '../../../model/agent-and-adapter-types.ts';
import { InputError } from '../../../model/errors.ts';
import { ISSUE_PHASES, type IssuePhase, inWorkflowOrder, issuePhase } from '../../../model/issue-phases.ts';
import type { ExecutionConfig, PhasePolicy } from '../../../model/plan-schema.ts';
import { didYouMean } from '../../../model/text/nearest-word.ts';

type PhasePolicies = ExecutionConfig['phasePolicies'];

/** `spec,exec,qa` in the order of the workflow; unknown and doubled names are refused. */
export function parsePhases(text: string): IssuePhase[] {
  const names = text.split(',').map((name) => known(name, '--phases'));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new InputError('run/phases', `--phases names ${twice} twice.`, { hint: 'Name each phase once.' });
  return inWorkflowOrder(names);
}

function known(name: string, flag: string): IssuePhase {
  const phase = issuePhase(name);
  if (phase !== undefined) return phase;
  const text = `${flag}: there is no phase ${JSON.stringify(name.trim())}.${didYouMean(name.trim(), ISSUE_PHASES)}`;
  throw new InputError('run/phases', text, { hint: `Phases: ${ISSUE_PHASES.join(', ')}.` });
}

/** `--models` and `--efforts`: one value for all phases, or `phase=value` by commas. */
function parseByPhase(text: string, flag: '--models' | '--efforts'): Partial<Record<IssuePhase, string>> {
  const bad = (why: string) =>
    new InputError('run/policies', `${flag} ${text}: ${why}.`, {
      hint: `Give one value for all phases (${flag} x), or some by name (${flag} spec=x,exec=y).`,
    });
  const parts = text.split(',').map((part) => part.trim());
  if (parts.includes('')) throw bad('a value is missing');
  const bare = parts.filter((part) => !part.includes('='));
  if (bare.length > 1) throw bad('there is more than one value for all phases');
  if (bare.length > 0 && parts.length > 1)
    throw bad('a value for all phases cannot be combined with one for a phase');
  const values: Partial<Record<IssuePhase, string>> = {};
  for (const [name, value] of parts.flatMap(pairs)) {
    const phase = known(name, flag);
    if (value === '') throw bad(`${phase} has no value`);
    if (value.startsWith('-')) throw bad(`${JSON.stringify(value)} looks like a flag`);
    if (flag === '--efforts' && !(EFFORTS as readonly string[]).includes(value))
      throw bad(`${JSON.stringify(value)} is none of ${EFFORTS.join(', ')}`);
    if (values[phase] !== undefined) throw bad(`${phase} is named twice`);
    values[phase] = value;
  }
  return values;
}

function pairs(part: string): [string, string][] {
  const cut = part.indexOf('=');
  if (cut < 0) return ISSUE_PHASES.map((phase) => [phase, part]);
  return [[part.slice(0, cut), part.slice(cut + 1).trim()]];
}

/** Flags override settings, phase by phase. */
export function phasePolicies(
  settings: Record<string, PhasePolicy>,
  { models, efforts }: { models?: string | undefined; efforts?: string | undefined },
): PhasePolicies {
  const policies: PhasePolicies = {};
  const add = (name: string, policy: PhasePolicy) => {
    const phase = known(name, 'run.phases');
    policies[phase] = { ...policies[phase], ...policy };
  };
  for (const [name, policy] of Object.entries(settings)) add(name, policy);
  if (models !== undefined)
    for (const [name, model] of Object.entries(parseByPhase(models, '--models'))) add(name, { model });
  if (efforts !== undefined)
    for (const [name, effort] of Object.entries(parseByPhase(efforts, '--efforts')))
      add(name, { effort } as PhasePolicy);
  return policies;
}
