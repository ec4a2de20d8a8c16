import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EngineContext, emit } from '../../engine/context.ts';
import { pinnedFor } from '../../engine/pinned-workflow.ts';
import { reportStatus } from '../../engine/status-events.ts';
import { type Findings, sendBack } from '../../model/state/merging.ts';
import type { Ticket } from '../../model/ticket.ts';
import { excerpt } from '../../phases/output.ts';
import type { Fault } from './find-bad-branches.ts';

/** A ticket that a merge has sent back. */
export interface Returned {
  planId: string;
  ticketId: string;
  branch: string;
  /** The phase it continues with; null when a person has to decide. */
  phase: string | null;
  reason: string;
  /** Files that both sides changed, when that was the reason. */
  conflict: string[];
}

/** Sends the ticket of a faulty branch back to work; undefined when the ticket has changed in the meantime. */
export async function returnTicket(
  parts: EngineContext,
  fault: Fault,
  onto: string,
): Promise<Returned | undefined> {
  const { store, now } = parts;
  const { ref, key: branch } = fault.car;
  const before = store.ticket(ref);
  const plan = store.plan(ref.planId);
  const { workflow } = await pinnedFor(parts, before, plan);
  const findings = findingsOf(fault, onto);
  const move = (ticket: Ticket) => sendBack(workflow, ticket, findings, now());
  keepLog(parts, fault, move(before));
  const after = await store.updateTicket(ref, move);
  if (after.rev === before.rev || after.status === 'complete') return undefined;
  const detail = { branch, onto, reason: findings.message };
  emit(parts, { type: 'command', command: 'merge', detail, ...ref });
  reportStatus(parts, before, after);
  if (plan.status === 'complete') {
    // A plan is complete only while all its tickets are.
    const active = await store.updatePlan(plan.id, (latest) =>
      latest.status === 'complete' ? { ...latest, status: 'active', completedAt: null } : latest,
    );
    emit(parts, { type: 'plan:status', planId: plan.id, status: active.status });
  }
  return {
    ...ref,
    branch,
    phase: after.status === 'ready' ? after.currentPhase : null,
    reason: findings.message,
    conflict: 'conflict' in fault ? fault.conflict : [],
  };
}

/** What the agent that fixes it is told: where the others' work is now, and what went wrong. */
export function findingsOf(fault: Fault, onto: string): Findings {
  if ('conflict' in fault) {
    const message = `conflicts with ${onto} in ${fault.conflict.join(', ')}`;
    const output = `This branch ${message}. Merge ${onto} into it, resolve the conflicts, and commit.`;
    return { message, output };
  }
  const { red } = fault;
  const others = fault.with.length > 0 ? `, together with ${fault.with.join(', ')}` : '';
  const message = `${red.message} when merged into ${onto}`;
  const how = `The checks failed once this branch was merged into ${onto}${others}: ${red.message}.`;
  const todo = `Merge ${onto} into this branch, mend what fails, and commit.`;
  return { message, output: `${how} ${todo}\n\n${excerpt(red.tail, 'end')}` };
}

/** `logs` shows it as the output of the entry that sent the ticket back. */
function keepLog(parts: EngineContext, fault: Fault, after: Ticket): void {
  const note = after.phaseHistory.findLast((entry) => entry.error?.class === 'merge');
  if (!note) return;
  const dir = parts.machine.job(fault.car.ref, note);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if ('red' in fault) copyFileSync(fault.red.logFile, join(dir, 'stdout'));
  else writeFileSync(join(dir, 'stdout'), `${note.output ?? ''}\n`, { mode: 0o600 });
}
