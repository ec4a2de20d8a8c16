import { createHash } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import {
  type Assignment,
  readAssignments,
  readStateText,
  renderProgress,
  withProgress,
  withSpecState,
} from '../../kiro/state-files.ts';
import { writeAtomic } from '../../machine/files/atomic.ts';
import { InputError, messageOf } from '../../model/errors.ts';
import type { EngineEvent } from '../../model/events.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import { giveOwners, strangerIn } from './assignments.ts';
import { unlockSpec } from './lock.ts';
import { assignmentOf, progressOf, specRests, stateOf } from './state.ts';
import { PROGRESS_FILE, STATE_FILE } from './tree.ts';
import { besideSpec, ownersOf } from './unit.ts';

const TOLD: ReadonlySet<EngineEvent['type']> = new Set([
  'attempt:start',
  'attempt:end',
  'ticket:status',
  'plan:status',
  'command',
]);

/**
 * Keeps the two files beside a spec true while anything happens to its plan. They are only ever written; whoever deletes
 * or breaks one gets it again with the next event.
 */
export class SpecFiles {
  readonly #parts: EngineContext;
  readonly #waiting = new Set<string>();
  /** Plans that are no specs; they never become one. */
  readonly #others = new Set<string>();
  #work: Promise<void> = Promise.resolve();
  #told = false;

  constructor(parts: EngineContext) {
    this.#parts = parts;
  }

  listen(event: EngineEvent): void {
    if (!TOLD.has(event.type) || this.#waiting.has(event.planId) || this.#others.has(event.planId)) return;
    this.#waiting.add(event.planId);
    this.#work = this.#work.then(() => this.#write(event.planId));
  }

  /** Resolves when everything that has happened so far is written. */
  async flush(planId?: string): Promise<void> {
    if (planId !== undefined) this.listen({ type: 'plan:status', planId, status: '' });
    await this.#work;
  }

  async #write(planId: string): Promise<void> {
    this.#waiting.delete(planId);
    try {
      const { store } = this.#parts;
      if (!store.hasPlan(planId)) return;
      const plan = store.plan(planId);
      if (!plan.spec) this.#others.add(planId);
      if (!plan.spec || plan.status === 'archived') return;
      const view = store.view();
      const tickets = ticketsOf(view, plan);
      await writeSpecFiles(this.#parts, plan, tickets);
      if (plan.claim === null && specRests(plan, tickets)) unlockSpec(this.#parts, planId);
    } catch (error) {
      // The work goes on whatever becomes of files that only show it.
      if (this.#told) return;
      this.#told = true;
      const message = `${STATE_FILE} and ${PROGRESS_FILE} cannot be written: ${messageOf(error)}`;
      this.#parts.listen({ type: 'problem', planId, ticketId: null, message, path: null });
    }
  }
}

async function writeSpecFiles(parts: EngineContext, plan: Plan, found: readonly Ticket[]): Promise<void> {
  const kept = plan.spec;
  const place = kept && besideSpec(kept);
  if (!place || !existsSync(place)) return;
  const key = createHash('sha256').update(place).digest('hex').slice(0, 16);
  await parts.machine.lock(`spec-files-${key}`, async () => {
    const stated = statedIn(join(place, STATE_FILE), kept.name);
    const tickets = await giveOwners(parts, found, stated);
    for (const ticket of tickets) {
      const own = found.includes(ticket) ? undefined : assignmentOf(ticket);
      const { planId, ticketId } = ticket;
      const owners = ownersOf(parts.settings);
      for (const message of own ? strangerIn(join(place, STATE_FILE), ticketId, own, owners) : [])
        parts.listen({ type: 'problem', planId, ticketId, message, path: null });
    }
    const state = stateOf(plan, kept, tickets, parts.now());
    replace(join(place, STATE_FILE), (text) => withSpecState(text, kept.name, state));
    const part = renderProgress(progressOf(plan, kept, tickets));
    replace(join(place, PROGRESS_FILE), (text) => withProgress(text, kept.name, part));
  });
}

/** What a person may have written since; a file that cannot be read is put aside when it is written. */
function statedIn(file: string, name: string): ReadonlyMap<string, Assignment> {
  if (!existsSync(file)) return new Map();
  try {
    const { assignments, unnamed } = readAssignments(readStateText(file), name, file);
    return unnamed ? new Map() : assignments;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return new Map();
  }
}

function replace(file: string, change: (text: string | null) => string): void {
  const { before, next } = changed(file, change);
  if (next !== before) writeAtomic(file, next, 0o644);
}

/** A file that nobody can read is put aside, so that the run can go on telling. */
function changed(
  file: string,
  change: (text: string | null) => string,
): { before: string | null; next: string } {
  try {
    const before = existsSync(file) ? readStateText(file) : null;
    return { before, next: change(before) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    let number = 1;
    while (existsSync(`${file}.broken-${number}`)) number += 1;
    renameSync(file, `${file}.broken-${number}`);
    return { before: null, next: change(null) };
  }
}
