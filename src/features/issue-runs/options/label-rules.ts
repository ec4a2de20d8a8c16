import type { RunSettings } from '../../../config/settings-table.ts';
import { type IssuePhase, inWorkflowOrder, issuePhase } from '../../../model/issue-phases.ts';

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
