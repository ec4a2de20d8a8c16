export { type Problem, sayProblem } from '../config/file-problem.ts';
export {
  type CheckedWorkflow,
  checkAll,
  checkWorkflow,
  type ListedWorkflow,
  listWorkflows,
} from './check/check.ts';
export type { ContentDirs } from './check/templates.ts';
export { findPrompt, findScript, MAX_PROMPT_BYTES, readPrompt, type SearchPath } from './find.ts';
export { drawing, mermaid } from './graph.ts';
export { type LoadedWorkflow, loadWorkflow, type WorkflowSource } from './load.ts';
export {
  type PinnedWorkflow,
  pinWorkflow,
  readPinned,
  renderPhasePrompt,
  scriptOf,
} from './pin.ts';
export { type ResolvedWorkflow, resolveWorkflow } from './resolve.ts';
export { type RenderOptions, renderArg, renderCommand, renderPrompt } from './templates/render.ts';
export {
  feedbackText,
  TEMPLATE_VARIABLES,
  type TemplateInput,
  type TemplateVariable,
  templateVariables,
} from './variables.ts';
