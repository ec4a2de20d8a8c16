import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ActionCall, EngineContext, StepEnd } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import {
  type KnownDone,
  lostTasks,
  type TaskIdentity,
  takeBack,
  tick,
  tickedIn,
  withTicks,
} from '../../kiro/tick-and-merge-tasks.ts';
import { realOf } from '../../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { EXIT } from '../../model/actions.ts';
import { explained, IllegalMoveError, InputError, ifUsable } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Plan, PlanSpec } from '../../model/plan.ts';
import { openAttempt, saysStatus, type Ticket } from '../../model/ticket.ts';
import type { TicketUnit } from '../../model/ticket-schema.ts';
import type { WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { bringPending, placeOfFile, tickMessage } from './bring-spec-into-worktree.ts';
import { engineTicks } from './run-request-ticks-and-halt.ts';

/** Ticks a unit's boxes for a phase or for a person. If a box cannot be ticked, a phase ends as refused. */
export async function tickStep({
  engine,
  ref,
  phase,
  inPhase,
}: Pick<ActionCall, 'engine' | 'ref'> & { phase: string | undefined; inPhase: boolean }): Promise<StepEnd> {
  try {
    const data = await tickUnit(engine, ref, { phase });
    const all = [...data.ticked, ...data.already];
    const boxless = data.boxless.length > 0 ? ` ${data.boxless.join(', ')} has no box.` : '';
    const out = `${all.length > 0 ? `Ticked ${all.join(', ')} in ${data.file}.` : ''}${boxless}`.trim();
    return { exit: EXIT.done, out, data };
  } catch (error) {
    if (!inPhase || !(error instanceof InputError)) throw error;
    return { exit: EXIT.refused, err: `❌ ${explained(error)}`, data: null };
  }
}

/** A unit of a spec, and where its task list is. */
interface UnitPlace {
  ticket: Ticket;
  unit: TicketUnit;
  plan: Plan;
  kept: PlanSpec;
  workspace: WorkspaceSpec;
  /** The list in the worktree, from its top. */
  name: string;
  /** The list in the worktree. */
  copy: string;
  /** The user's list. */
  original: string;
}

function placeOf({ store, settings }: EngineContext, ref: TicketRef): UnitPlace {
  const ticket = store.ticket(ref);
  const plan = store.plan(ref.planId);
  const { unit } = ticket;
  const kept = plan.spec;
  if (!kept || !unit)
    throw new InputError('spec/none', `${refKey(ref)} is not a unit of a spec.`, {
      hint: 'Only tickets of a run of a spec have boxes to tick.',
    });
  const workspace = workspaceFor(ticket, plan, settings, store.glance());
  const name = join(kept.inTree, kept.files.tasks);
  const copy = join(workspace.path, name);
  return { ticket, unit, plan, kept, workspace, name, copy, original: join(kept.dir, kept.files.tasks) };
}

/**
 * Ticks the boxes of a unit that is done: in the tree, committed where git has the file, else at its own place too.
 * Boxes that neither the engine nor the user ticked are opened again. Calling it again changes nothing more.
 */
export async function tickUnit(
  engine: EngineContext,
  ref: TicketRef,
  { phase }: { phase?: string | undefined } = {},
) {
  const before = placeOf(engine, ref);
  refuseUndone(before.ticket, phase);
  refuseNoTree(before);
  refuseNoList(before);
  await putListBack(engine, before);
  await bringFitting(engine, before);
  const { unit, plan, kept, workspace, name, original } = placeOf(engine, ref);
  const list = placeOfFile(workspace.path, name, original);
  const own = realOf(original) ?? original;
  const { file } = list;
  const outside = !kept.tracked && own !== file;
  const commitAs = async (message: string) =>
    kept.tracked
      ? engine.workspaces.commitPaths({ path: workspace.path, files: [list.name], message })
      : null;
  const found = readFileSync(file, 'utf8');
  const users = own !== file && existsSync(own) ? readFileSync(own, 'utf8') : kept.text;
  const ticks = engineTicks(plan, engine.store.tickets(plan));
  const known = { engine: [...ticks, ...unit.tasks], person: tickedIn(users) };
  const whole = own === file ? found : wholeList(found, kept.text, known, unit.tasks);
  const cleared = users === '' ? found : takeBack(whole, known);
  const lists = [{ path: file, before: found, text: cleared }];
  if (outside) lists.push({ path: own, before: users, text: users });
  if (cleared !== found && !lists.every(({ text }) => fits(text, unit.tasks))) {
    writeAtomic(file, cleared, 0o644);
    await commitAs(`Take back ticks in the tasks of ${kept.name}`);
  }
  // All lists are ticked before one is written: tick() throws where a task has changed.
  const done = lists.map(({ path, before, text }) => ({
    ...tick(text, unit.tasks, path),
    path,
    before,
  }));
  engine.crash('tick:ready');
  for (const { path, before, text } of done) if (text !== before) writeAtomic(path, text, 0o644);
  engine.crash('tick:written');
  const commit = await commitAs(tickMessage(unit.id, kept.name));
  engine.crash('tick:done');
  const { ticked = [], already = [], boxless = [] } = done.at(-1) ?? {};
  return { file: outside ? original : file, ticked, already, boxless, commit };
}

/**
 * Refuses a unit that is neither complete nor at its tick phase. `phase` is the one in whose script this is called: a
 * workflow may tick in another phase of its own, but an agent may not.
 */
function refuseUndone(ticket: Ticket, phase: string | undefined): void {
  const open = openAttempt(ticket);
  const isCalled = open !== undefined && open.phase === phase && open.agent === null;
  if (ticket.status === 'complete' || ticket.currentPhase === 'tick' || isCalled) return;
  const at = ticket.currentPhase ? `, at ${ticket.currentPhase}` : '';
  throw new IllegalMoveError(
    'spec/not-done',
    `${refKey(ticket)} is not done: it ${saysStatus(ticket)}${at}.`,
    {
      hint: 'Its workflow ticks it when it is done. Tick a task that you have done yourself in your own tasks.md.',
      details: { status: ticket.status, phase: ticket.currentPhase },
    },
  );
}

/** Refuses a unit without a worktree: it is released once the whole spec is complete. */
function refuseNoTree({ ticket, kept, workspace: { path }, original }: UnitPlace): void {
  if (existsSync(join(path, '.git'))) return;
  throw new IllegalMoveError('spec/no-tree', `${refKey(ticket)} cannot be ticked: ${path} is gone.`, {
    hint: kept.tracked
      ? `What was ticked is on the branch ${ticket.branch}.`
      : `What was ticked is in ${original}, which is not in git.`,
    details: { path },
  });
}

/** Refuses a task list that is gone or is not a file. A list that git has is restored from the branch instead. */
function refuseNoList({ unit: { id }, kept, original, copy }: UnitPlace): void {
  if (!kept.tracked && original !== copy && !existsSync(original)) {
    const from = existsSync(copy) ? ` A copy with the ticks so far is ${copy}.` : '';
    throw new InputError('spec/changed', `${original} no longer exists: unit ${id} cannot be ticked.`, {
      hint: `Put it back at its place, then run the spec again.${from}`,
      details: { file: original, copy },
    });
  }
  for (const file of [copy, original]) {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() ?? true) continue;
    throw new InputError('spec/changed', `${file} is no longer a file: unit ${id} cannot be ticked.`, {
      hint: 'Move away what is there and put the task list back, then run the spec again.',
      details: { file },
    });
  }
}

/** Writes a list that an agent has deleted again as it was, with the ticks of what is complete. */
async function putListBack(
  { store, workspaces }: EngineContext,
  { plan, kept, workspace: { path }, name, copy, original }: UnitPlace,
): Promise<void> {
  if (kept.text === '' || existsSync(copy)) return;
  const list = placeOfFile(path, name, original);
  mkdirSync(dirname(list.file), { recursive: true });
  const engine = engineTicks(plan, store.tickets(plan));
  writeAtomic(list.file, withTicks(kept.text, { engine }), 0o644);
  const message = `Put back the tasks of ${kept.name}`;
  if (kept.tracked) await workspaces.commitPaths({ path, files: [list.name], message });
}

/** Brings a list that was edited while the unit's work was in the tree to the branch, unless it has other tasks. */
async function bringFitting(
  engine: EngineContext,
  { unit, plan, kept, workspace, copy }: UnitPlace,
): Promise<void> {
  if (kept.pending === undefined || !fits(kept.pending, unit.tasks)) return;
  const found = readFileSync(copy, 'utf8');
  try {
    await bringPending(engine, plan, workspace);
  } catch (error) {
    // Two lists that cannot be merged stop the next unit, if this one can be ticked without.
    if (!(error instanceof InputError) || !fits(found, unit.tasks)) throw error;
  }
}

function fits(text: string, wanted: readonly TaskIdentity[]): boolean {
  return ifUsable(() => tick(text, wanted)) !== undefined;
}

/** The list on the branch; where an agent removed tasks from it or renamed its own, the list as it was before. */
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
