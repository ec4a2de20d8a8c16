export type { Settings } from '../config/index.ts';
export { loadSettings } from '../config/index.ts';
export { type RunOptions, type RunResult, runPlan } from '../engine/foreground.ts';
export { openParts } from '../engine/open.ts';
export { SignalboxError } from '../model/errors.ts';
export type { EngineEvent, StoredEvent } from '../model/events.ts';
export type { Plan } from '../model/plan.ts';
export type { Ticket } from '../model/ticket.ts';
export type { Workflow } from '../model/workflow.ts';
