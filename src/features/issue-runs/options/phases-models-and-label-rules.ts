import type { RunSettings } from '../../../config/settings-table.ts';
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

export type LabelRule = RunSettings['rules'][number];

/** What an issue with these labels goes through. Without `autoDetectPhases` labels change nothing. */
export function applyRules(
  base: {
    phases: readonly IssuePhase[];
    qualityLoop: boolean;
    autoDetectPhases: boolean;
    rules: readonly LabelRule[];
  },
  labels: readonly string[],
): { phases: IssuePhase[]; qualityLoop: boolean } {
  const has = new Set(labels.map((label) => label.toLowerCase()));
  const hit = base.autoDetectPhases
    ? base.rules.filter((rule) => rule.labels.some((label) => has.has(label.toLowerCase())))
    : [];
  const added = hit.flatMap((rule) => rule.phases ?? []).flatMap((name) => issuePhase(name) ?? []);
  return {
    phases: inWorkflowOrder([...base.phases, ...added]),
    qualityLoop: base.qualityLoop || hit.some((rule) => rule.qualityLoop === true),
  };
}

/** The labels that change what an issue goes through, and what they add; undefined if none does. */
export function addedByLabels(
  base: Parameters<typeof applyRules>[0],
  labels: readonly string[],
): { labels: string[]; phases: string[] } | undefined {
  const addedBy = (some: readonly string[]) => {
    const { phases, qualityLoop } = applyRules(base, some);
    const loop = qualityLoop && !base.qualityLoop ? ['the quality loop'] : [];
    return [...phases.filter((phase) => !base.phases.includes(phase)), ...loop];
  };
  const adding = labels.filter((label) => addedBy([label]).length > 0);
  return adding.length > 0 ? { labels: adding, phases: addedBy(adding) } : undefined;
}

/** Label rules without the phases that this run switches off. */
export function rulesWithout(
  rules: readonly LabelRule[],
  no: { phases: readonly IssuePhase[]; qualityLoop: boolean },
): LabelRule[] {
  return rules.flatMap(({ labels, phases = [], qualityLoop = false }) => {
    const left = phases.filter((name) => !no.phases.some((phase) => phase === issuePhase(name)));
    const loop = qualityLoop && !no.qualityLoop;
    if (left.length === 0 && !loop) return [];
    return [{ labels, ...(left.length > 0 ? { phases: left } : {}), ...(loop ? { qualityLoop: true } : {}) }];
  });
}
