import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { repositoryOf } from '../../config/paths.ts';
import { flagOfOption } from '../../config/run-flags.ts';
import type { PlanEdit } from '../../features/plans/edit.ts';
import { InputError } from '../../model/errors.ts';
import type { EntryEdit, TicketEdit } from '../../model/plans/plan-edits.ts';
import { plural } from '../../model/text/plural.ts';
import { answer, type Io, outJson } from '../io.ts';
import { type GlobalOptions, invalid, oneOf, openEngine, positiveInteger } from '../open.ts';

/** Makes a plan without a model, from a script or by hand. */
export async function planNew(io: Io, flags: Flags, planId: string): Promise<void> {
  const unit = flags.unit === undefined ? undefined : oneOf('--unit', flags.unit, ['parent', 'leaf']);
  const parts = await openEngine(io, flags, 'new');
  const { draftPlan } = await import('../../features/plans/draft.ts');
  const repo = flags.repo === undefined ? repositoryOf(io.cwd) : resolve(io.cwd, flags.repo);
  const { repo: _, ...edit } = planFields(flags, io);
  const { plan, tickets, notes } = await draftPlan(parts, {
    planId,
    from: flags.from ?? [],
    cwd: io.cwd,
    repo,
    edit,
    ...(unit ? { unit } : {}),
    createdBy: 'signalbox plan new',
  });
  if (flags.json) return outJson(io, { plan, tickets, notes });
  for (const note of notes) io.out(`! ${note}`);
  const count = plural(tickets.length, 'ticket');
  io.out(`Plan ${planId} is a draft with ${count}. Look at it with: signalbox plan check ${planId}`);
}

export async function planAdd(io: Io, flags: Flags, planId: string, ticketId: string): Promise<void> {
  const { title, ...rest } = ticketFields(flags, io);
  if (title === undefined || title.trim() === '')
    throw new InputError('usage', 'A ticket needs a title.', { hint: 'Say it with --title "…"' });
  const parts = await openEngine(io, flags, 'add');
  const { addTicket } = await import('../../features/plans/edit.ts');
  const ticket = await addTicket(parts, { planId, ticketId }, { ...rest, title }, entryFields(flags));
  answer(io, flags, ticket, `${planId} has a ticket ${ticketId}.`);
}

export async function planEdit(io: Io, flags: Flags, planId: string, ticketId?: string): Promise<void> {
  refuseMixed(ticketId, flags);
  const parts = await openEngine(io, flags, 'edit');
  const { editPlan, editTicket } = await import('../../features/plans/edit.ts');
  const changed =
    ticketId === undefined
      ? await editPlan(parts, planId, planFields(flags, io))
      : await editTicket(parts, { planId, ticketId }, ticketFields(flags, io), entryFields(flags));
  const what = ticketId === undefined ? `Plan ${planId}` : `${planId}/${ticketId}`;
  answer(io, flags, changed, `${what} is changed.`);
}

export async function planRemove(io: Io, options: GlobalOptions, planId: string, ticketId: string) {
  const parts = await openEngine(io, options, 'remove');
  const { removeTicket } = await import('../../features/plans/edit.ts');
  await removeTicket(parts, { planId, ticketId });
  answer(io, options, { removed: `${planId}/${ticketId}` }, `${ticketId} is no longer in ${planId}.`);
}

interface Flags extends GlobalOptions {
  from?: string[];
  unit?: string;
  name?: string;
  base?: string;
  worktreeRoot?: string;
  concurrency?: string;
  title?: string;
  description?: string;
  descriptionFile?: string;
  criteria?: string[];
  blockedBy?: string[];
  path?: string[];
  url?: string;
  order?: string;
  repo?: string;
  workflow?: string;
  agent?: string;
  branch?: string;
  worktree?: string;
}

const OF_PLANS = ['name', 'base', 'worktreeRoot', 'concurrency'] as const;
const OF_TICKETS = [
  'title',
  'description',
  'descriptionFile',
  'criteria',
  'blockedBy',
  'path',
  'branch',
  'worktree',
  'url',
  'order',
] as const;

function refuseMixed(ticketId: string | undefined, flags: Flags): void {
  const wrong = ticketId === undefined ? OF_TICKETS : OF_PLANS;
  const found = wrong.find((name) => flags[name] !== undefined);
  if (!found) return;
  const whose = ticketId === undefined ? 'a ticket, and none is named' : 'the plan, and a ticket is named';
  throw new InputError('usage', `${flagOfOption(found)} is of ${whose}.`, {
    hint: ticketId === undefined ? 'signalbox plan edit <plan> <ticket> …' : 'signalbox plan edit <plan> …',
  });
}

function planFields(flags: Flags, io: Io): PlanEdit {
  const { name, repo, workflow, agent, base, worktreeRoot } = flags;
  return given({
    name,
    repo: pathOrNull(repo, io),
    workflow: orNull(workflow),
    agent: orNull(agent),
    base: orNull(base),
    worktreeRoot: pathOrNull(worktreeRoot, io),
    concurrency: flags.concurrency === '' ? null : positiveInteger('--concurrency', flags.concurrency),
  });
}

function ticketFields(flags: Flags, io: Io): TicketEdit {
  const { title, criteria, path, url, repo, workflow, agent, branch, worktree } = flags;
  return given({
    title,
    description: descriptionOf(flags, io),
    acceptanceCriteria: criteria?.filter((text) => text.trim() !== ''),
    paths: path?.filter((text) => text.trim() !== ''),
    linearUrl: orNull(url),
    repo: pathOrNull(repo, io),
    workflow: orNull(workflow),
    agent: orNull(agent),
    branch: orNull(branch),
    worktree: pathOrNull(worktree, io),
  });
}

function entryFields({ blockedBy, order }: Flags): EntryEdit {
  const ids = blockedBy?.flatMap((text) => text.split(/[\s,]+/)).filter((id) => id !== '');
  if (order !== undefined && !/^-?\d+(\.\d+)?$/.test(order))
    throw invalid('--order', order, 'Must be a number.');
  return given({
    blockedBy: ids && [...new Set(ids)],
    order: order === undefined ? undefined : Number(order),
  });
}

/** Without the fields that no flag names. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** An empty text removes the value, so that the default counts again. */
function orNull(text: string | undefined): string | null | undefined {
  return text === '' ? null : text;
}

/** Paths are made absolute, since plans are read from any directory. */
function pathOrNull(path: string | undefined, io: Io): string | null | undefined {
  return path && !path.startsWith('~/') ? resolve(io.cwd, path) : orNull(path);
}

function descriptionOf({ description, descriptionFile }: Flags, io: Io): string | undefined {
  if (descriptionFile === undefined) return description;
  if (description !== undefined)
    throw new InputError('usage', 'Say --description or --description-file, not both.');
  try {
    return readFileSync(descriptionFile === '-' ? io.stdin.fd : resolve(io.cwd, descriptionFile), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new InputError('usage', `${descriptionFile} cannot be read (${code}).`, {
      hint: 'Check the path given with --description-file.',
      cause: error,
    });
  }
}
