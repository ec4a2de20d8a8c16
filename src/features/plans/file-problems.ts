import type { EngineContext } from '../../engine/context.ts';
import { idProblem } from '../../model/ids.ts';
import { planOf } from '../../model/plans/view.ts';
import { inspectState } from '../../store/inspect.ts';
import type { StoreView } from '../../store/port.ts';
import type { Problem } from './problem.ts';

/** What makes files unreadable, all of it with its place, and fields that look like slips. */
export function fileProblems(parts: EngineContext, planId: string, view: StoreView): Problem[] {
  const { store } = parts;
  const found: Problem[] = [];
  const inspected = (ticketId: string | null, file: string) => {
    const issues = inspectState(store, { planId, ticketId });
    for (const { path, message, severity } of issues)
      found.push({ ticketId, place: path ?? file, file, path, message: said(file, path, message), severity });
    return issues.some(({ severity }) => severity === 'error');
  };
  const told = new Set<string>();
  for (const { ticketId, path, message, planId: of } of view.problems) {
    if (of !== planId) continue;
    told.add(path);
    const isOwn = [planId, ticketId ?? planId].every((id) => idProblem(id) === undefined);
    // A problem of a directory is told as it is.
    if (!isOwn || store.location({ planId, ticketId }) !== path || !inspected(ticketId, path))
      found.push({ ticketId, place: path, file: path, path: null, message, severity: 'error' });
  }
  const plan = planOf(view, planId);
  const others = [...(plan ? [null] : []), ...(plan?.tickets ?? []).map(({ ticketId }) => ticketId)];
  for (const ticketId of others) {
    const file = store.location({ planId, ticketId });
    if (!told.has(file)) inspected(ticketId, file);
  }
  return found;
}

function said(file: string, path: string | null, message: string): string {
  return path === null ? `${file}: ${message}` : message;
}
