import { type IssuePhase, inOrder, issuePhase } from './issue-phases.ts';
import type { RunSettings } from './settings.ts';

export type LabelRule = RunSettings['rules'][number];

export interface Shape {
  phases: readonly IssuePhase[];
  qualityLoop: boolean;
}

/** What an issue with these labels goes through. Without `autoDetectPhases` labels change nothing. */
export function applyRules(
  base: Shape & { autoDetectPhases: boolean; rules: readonly LabelRule[] },
  labels: readonly string[],
): { phases: IssuePhase[]; qualityLoop: boolean } {
  const has = new Set(labels.map((label) => label.toLowerCase()));
  const hit = base.autoDetectPhases
    ? base.rules.filter((rule) => rule.labels.some((label) => has.has(label.toLowerCase())))
    : [];
  const added = hit.flatMap((rule) => rule.phases ?? []).flatMap((name) => issuePhase(name) ?? []);
  return {
    phases: inOrder([...base.phases, ...added]),
    qualityLoop: base.qualityLoop || hit.some((rule) => rule.qualityLoop === true),
  };
}

/** Rules without what somebody has said no to for this run. */
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
