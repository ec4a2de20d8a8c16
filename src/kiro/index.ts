export { parseTasks } from './parse-tasks.ts';
export { promptParts } from './prompt-parts.ts';
export { readSpec, type Spec } from './read-spec.ts';
export { parseRequirements, RequirementIndex, requirementKey, sayRequirements } from './requirements.ts';
export {
  Assignment,
  type Progress,
  type ProgressEntry,
  readAssignments,
  readStateText,
  renderProgress,
  SpecState,
  withProgress,
  withSpecState,
} from './state-files.ts';
export { isWork, type SpecProblem, type SpecTask, withDescendants } from './task.ts';
export {
  identityOf,
  type KnownDone,
  lostTasks,
  mergedTasks,
  type TaskIdentity,
  takeBack,
  tick,
  tickedIn,
  withTicks,
} from './tick.ts';
export { type Unit, type UnitOptions, type Units, unitsOf } from './units.ts';
