export { type KnownDone, lostTasks, takeBack, tickedIn, withoutTicks, withTicks } from './boxes.ts';
export { type DesignSection, parseDesign, relevantDesign } from './design.ts';
export { mergedTasks, type TaskTexts } from './merge-tasks.ts';
export { type NamedRequirements, RequirementIndex, sayRequirements } from './named-requirements.ts';
export { type ParsedTasks, type ParseOptions, parseTasks } from './parse-tasks.ts';
export { type Progress, type ProgressEntry, renderProgress, withProgress } from './progress.ts';
export { type PromptParts, promptParts } from './prompt-parts.ts';
export { readSpec, type Spec } from './read-spec.ts';
export { type Criterion, parseRequirements, type Requirement, requirementKey } from './requirements.ts';
export { findTask, type SelectOptions } from './select.ts';
export {
  Assignment,
  type ReadAssignments,
  readAssignments,
  readStateText,
  SpecState,
  STATE_VERSION,
  withSpecState,
} from './state.ts';
export {
  type Box,
  isWork,
  type Mark,
  type Named,
  type SpecProblem,
  type SpecSection,
  type SpecTask,
  withDescendants,
} from './task.ts';
export { identityOf, type TaskIdentity, type Ticked, tick } from './tick.ts';
export { type Unit, type UnitOptions, type Units, unitsOf } from './units.ts';
