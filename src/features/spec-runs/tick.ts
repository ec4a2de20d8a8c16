import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ActionCall, EngineContext, StepEnd } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/ticket-defaults.ts';
import {
  type KnownDone,
  lostTasks,
  type TaskIdentity,
  takeBack,
  tick,
  tickedIn,
  withTicks,
} from '../../kiro/tick.ts';
import { writeAtomic } from '../../machine/files/atomic.ts';
import { EXIT } from '../../model/actions.ts';
import { explained, IllegalMoveError, InputError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import { openAttempt, type Ticket } from '../../model/ticket.ts';
import { bringPending, placeOfFile, realOf } from './tree.ts';
import { engineTicks } from './unit.ts';

export interface TickedUnit {
  file: string;
  ticked: string[];
  already: string[];
  /** Tasks without a box. */
  boxless: string[];
  commit: string | null;
}

/** Ticks a unit's boxes for a phase or for a person. A box that cannot be ticked stays so: a phase is refused. */
export async function tickStep({
  parts,
  ref,
  phase,
  inPhase,
}: Pick<ActionCall, 'parts' | 'ref'> & { phase: string | undefined; inPhase: boolean }): Promise<StepEnd> {
  try {
    const data = await tickUnit(parts, ref, { phase });
    const all = [...data.ticked, ...data.already];
    const boxless = data.boxless.length > 0 ? ` ${data.boxless.join(', ')} has no box.` : '';
    const out = `${all.length > 0 ? `Ticked ${all.join(', ')} in ${data.file}.` : ''}${boxless}`.trim();
    return { exit: EXIT.done, out, data };
  } catch (error) {
    if (!inPhase || !(error instanceof InputError)) throw error;
    return { exit: EXIT.refused, err: `❌ ${explained(error)}`, data: null };
  }
}

/**
 * Ticks the boxes of a unit that is done: in the tree, committed where git has the file, else at its own place too.
 * Boxes that neither the engine nor the user ticked are opened again. Calling it again changes nothing more.
 */
export async function tickUnit(
  parts: EngineContext,
  ref: TicketRef,
  { phase }: { phase?: string | undefined } = {},
): Promise<TickedUnit> {
  const { store, settings, workspaces } = parts;
  const ticket = store.ticket(ref);
  const unit = ticket.unit;
  if (unit) refuseUndone(ticket, phase);
  if (unit) refuseTreeless(parts, ticket);
  if (unit) refuseVanished(parts, ticket, unit.id);
  if (unit) refuseNoFile(parts, ticket, unit.id);
  if (unit) await putListBack(parts, ticket);
  if (unit) await bringFitting(parts, ticket, unit.tasks);
  const plan = store.plan(ref.planId);
  const kept = plan.spec;
  if (!kept || !unit)
    throw new InputError('spec/none', `${refKey(ref)} is no unit of a spec.`, {
      hint: 'Only tickets of a run of a spec have boxes to tick.',
    });
  const spec = workspaceFor(ticket, plan, settings, store.view());
  const name = join(kept.inTree, kept.files.tasks);
  const original = join(kept.dir, kept.files.tasks);
  const list = placeOfFile(spec.path, name, original);
  const own = realOf(original) ?? original;
  const { file } = list;
  const outside = !kept.tracked && own !== file;
  const commitAs = async (message: string) =>
    kept.tracked ? workspaces.commitPaths({ path: spec.path, files: [list.name], message }) : null;
  const found = readFileSync(file, 'utf8');
  const others = ticketsOf(store.view(), plan);
  const users = own !== file && existsSync(own) ? readFileSync(own, 'utf8') : kept.text;
  const known = { engine: [...engineTicks(plan, others), ...unit.tasks], person: tickedIn(users) };
  const whole = own === file ? found : wholeList(found, kept.text, known, unit.tasks);
  const cleared = users === '' ? found : takeBack(whole, known, { file }).text;
  // Both are looked at before either is written.
  const changes = await Promise.all(
    [file, ...(outside ? [own] : [])].map(async (path) => {
      const text = path === file ? cleared : users;
      try {
        return { path, done: tick(text, unit.tasks, { file: path }) };
      } catch (error) {
        if (cleared !== found) writeAtomic(file, cleared, 0o644);
        if (cleared !== found) await commitAs(`Take back ticks in the tasks of ${kept.name}`);
        throw error;
      }
    }),
  );
  parts.crash('tick:ready');
  for (const { path, done } of changes)
    if (done.text !== (path === file ? found : users)) writeAtomic(path, done.text, 0o644);
  parts.crash('tick:written');
  const commit = await commitAs(`Tick ${unit.id} of ${kept.name}`);
  parts.crash('tick:done');
  const last = changes.at(-1)?.done ?? { ticked: [], already: [], boxless: [] };
  const { ticked, already, boxless } = last;
  return { file: outside ? original : file, ticked, already, boxless, commit };
}

/**
 * Only what is complete, or has come to its tick, is ticked. `phase` is the one in whose script this is called: a workflow
 * may call its own as it likes, but no agent has a say in it.
 */
function refuseUndone(ticket: Ticket, phase: string | undefined): void {
  const open = openAttempt(ticket);
  const isCalled = open !== undefined && open.phase === phase && open.agent === null;
  if (ticket.status === 'complete' || ticket.currentPhase === 'tick' || isCalled) return;
  const where = ticket.currentPhase ? `${ticket.status}, at ${ticket.currentPhase}` : ticket.status;
  throw new IllegalMoveError('spec/not-done', `${refKey(ticket)} is not done: it is ${where}.`, {
    hint: 'Its workflow ticks it when it is done. Tick a task that you have done yourself in your own tasks.md.',
    details: { status: ticket.status, phase: ticket.currentPhase },
  });
}

/** Once all of a spec is complete its tree is given back, and there is nothing to write in. */
function refuseTreeless({ store, settings }: EngineContext, ticket: Ticket): void {
  const plan = store.plan(ticket.planId);
  const { path } = workspaceFor(ticket, plan, settings, store.view());
  if (existsSync(join(path, '.git'))) return;
  const kept = plan.spec;
  const own = kept && !kept.tracked ? join(kept.dir, kept.files.tasks) : null;
  throw new IllegalMoveError('spec/no-tree', `${refKey(ticket)} cannot be ticked: ${path} is gone.`, {
    hint: own
      ? `What was ticked is in ${own}, which git does not have.`
      : `What was ticked is on the branch ${ticket.branch}.`,
    details: { path },
  });
}

/** A list that git does not have is the only one that keeps its ticks: where it is gone, they would be lost with the tree. */
function refuseVanished({ store, settings }: EngineContext, ticket: Ticket, id: string): void {
  const plan = store.plan(ticket.planId);
  const kept = plan.spec;
  if (!kept || kept.tracked) return;
  const original = join(kept.dir, kept.files.tasks);
  const { path } = workspaceFor(ticket, plan, settings, store.view());
  const copy = join(path, kept.inTree, kept.files.tasks);
  if (original === copy || existsSync(original)) return;
  const from = existsSync(copy) ? ` A copy with the ticks so far is ${copy}.` : '';
  throw new InputError('spec/changed', `${original} is not there any more: unit ${id} cannot be ticked.`, {
    hint: `Put it back at its place, then run the spec again.${from}`,
    details: { file: original, copy },
  });
}

/** Something else may have come to the place of a list, such as a directory of its name. */
function refuseNoFile({ store, settings }: EngineContext, ticket: Ticket, id: string): void {
  const plan = store.plan(ticket.planId);
  const kept = plan.spec;
  if (!kept) return;
  const { path } = workspaceFor(ticket, plan, settings, store.view());
  for (const dir of [join(path, kept.inTree), kept.dir]) {
    const file = join(dir, kept.files.tasks);
    if (statSync(file, { throwIfNoEntry: false })?.isFile() ?? true) continue;
    throw new InputError('spec/changed', `${file} is no file any more: unit ${id} cannot be ticked.`, {
      hint: 'Move away what is there and put the task list back, then run the spec again.',
      details: { file },
    });
  }
}

/** A list that was edited while the unit's work lay in the tree comes to the branch with its tick, unless it knows other tasks. */
async function bringFitting(
  parts: EngineContext,
  ticket: Ticket,
  wanted: readonly TaskIdentity[],
): Promise<void> {
  const plan = parts.store.plan(ticket.planId);
  const kept = plan.spec;
  if (kept?.pending === undefined || !fits(kept.pending, wanted)) return;
  const spec = workspaceFor(ticket, plan, parts.settings, parts.store.view());
  const found = readFileSync(join(spec.path, kept.inTree, kept.files.tasks), 'utf8');
  try {
    await bringPending(parts, plan, spec);
  } catch (error) {
    // Lists that cannot be brought together are the next unit's trouble where this one can be ticked without.
    if (!(error instanceof InputError) || !fits(found, wanted)) throw error;
  }
}

function fits(text: string, wanted: readonly TaskIdentity[]): boolean {
  try {
    tick(text, wanted);
    return true;
  } catch (error) {
    if (error instanceof InputError) return false;
    throw error;
  }
}

/** A list that an agent has deleted is there again as it was, with the ticks of what is complete. */
async function putListBack({ store, settings, workspaces }: EngineContext, ticket: Ticket): Promise<void> {
  const plan = store.plan(ticket.planId);
  const kept = plan.spec;
  if (!kept || kept.text === '') return;
  const view = store.view();
  const { path } = workspaceFor(ticket, plan, settings, view);
  const name = join(kept.inTree, kept.files.tasks);
  if (existsSync(join(path, name))) return;
  const own = ticketsOf(view, plan);
  const list = placeOfFile(path, name, join(kept.dir, kept.files.tasks));
  mkdirSync(dirname(list.file), { recursive: true });
  writeAtomic(list.file, withTicks(kept.text, { engine: engineTicks(plan, own) }), 0o644);
  const message = `Put back the tasks of ${kept.name}`;
  if (kept.tracked) await workspaces.commitPaths({ path, files: [list.name], message });
}

/** A list on the branch from which an agent took tasks, or gave its own another name, is what it was before. */
function wholeList(
  found: string,
  brought: string,
  known: KnownDone,
  wanted: readonly TaskIdentity[],
): string {
  if (brought === '') return found;
  const isCut = lostTasks(brought, found).length > 0;
  const isRenamed = !fits(found, wanted) && fits(brought, wanted);
  return isCut || isRenamed ? withTicks(brought, known) : found;
}
