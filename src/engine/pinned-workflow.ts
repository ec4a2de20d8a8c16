import type { Settings } from '../config/settings-table.ts';
import { remembered } from '../model/group-and-remember.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';
import { resolveWorkflow } from '../workflows/find-and-check-workflow.ts';
import { type PinnedWorkflow, readPinned } from '../workflows/pin-workflow-and-render-prompts.ts';
import type { EngineContext } from './context.ts';

export interface Pinned extends PinnedWorkflow {
  hash: string;
}

const byHash = new WeakMap<EngineContext, Map<string, Pinned>>();

const cacheOf = (engine: EngineContext) => remembered(byHash, engine, () => new Map<string, Pinned>());

/** The workflow that a ticket started with; undefined before its start. */
export function knownPinned(engine: EngineContext, { workflowHash }: Ticket): Pinned | undefined {
  if (!workflowHash) return undefined;
  const cache = cacheOf(engine);
  const known = cache.get(workflowHash);
  if (known) return known;
  const text = engine.store.pinned(workflowHash);
  if (!text) return undefined;
  const pinned = { ...readPinned(text), hash: workflowHash };
  cache.set(workflowHash, pinned);
  return pinned;
}

/** The workflow that a ticket started with; before its start the present one, which is then stored by its hash. */
export async function pinnedFor(engine: EngineContext, ticket: Ticket, plan: Plan): Promise<Pinned> {
  const { store, settings } = engine;
  const known = knownPinned(engine, ticket);
  if (known) return known;
  const cache = cacheOf(engine);
  const resolved = await resolveWorkflow(workflowNameOf(ticket, plan, settings), settings.searchPath);
  const { hash, text } = resolved;
  if (!cache.has(hash)) await store.pin(hash, text);
  const pinned = cache.get(hash) ?? { ...resolved, hash };
  cache.set(hash, pinned);
  return pinned;
}

export function workflowNameOf(ticket: Ticket, plan: Plan, settings: Settings): string {
  return ticket.workflow ?? plan.workflow ?? settings.defaultWorkflow;
}
