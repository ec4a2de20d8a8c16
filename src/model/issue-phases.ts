/** Phases of the `issue` workflow, in its order. */
export const ISSUE_PHASES = ['spec', 'testgen', 'exec', 'security_review', 'qa'] as const;
export type IssuePhase = (typeof ISSUE_PHASES)[number];

/** The phase that does the work. Other issues cannot build on an issue without it. */
export const WORK_PHASE: IssuePhase = 'exec';

/** Phases that run by default. */
export const DEFAULT_PHASES: readonly IssuePhase[] = ['spec', 'exec', 'qa'];
/** Phases that an option or a label adds. */
export const OPTIONAL_PHASES = ['testgen', 'security_review'] as const;

/** The phase a text names, `security-review` for `security_review` too; undefined for any other text. */
export function issuePhase(text: string): IssuePhase | undefined {
  const name = text.trim().replaceAll('-', '_');
  return ISSUE_PHASES.find((phase) => phase === name);
}

export function inWorkflowOrder(phases: Iterable<IssuePhase>): IssuePhase[] {
  const wanted = new Set(phases);
  return ISSUE_PHASES.filter((phase) => wanted.has(phase));
}
