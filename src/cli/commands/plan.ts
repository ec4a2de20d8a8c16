import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { repositoryOf } from '../../config/find-config-and-state.ts';
import { flagOfOption } from '../../config/run-flags.ts';
import type { PlanEdit } from '../../features/plans/edit-plan.ts';
import { InputError } from '../../model/errors.ts';
import type { EntryEdit, TicketEdit } from '../../model/plans/edit-rules.ts';
import { planOf, ticketsOf } from '../../model/plans/plans-view.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { oneLine } from '../../report/printable-text.ts';
import { sayProblem } from '../../report/style-and-phrases.ts';
import { table, wrapLines } from '../../report/tables-and-text-wrapping.ts';
import { openAndOnePlan } from '../../store/store-interface.ts';
import { invalid, oneOf, positiveInteger } from '../check-option-values.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { openNamed, planNamed } from '../find-named-plans-and-tickets.ts';
import { answer, type Io, outJson, outWrapped, readStandardInput, saySoon } from '../io.ts';
import {
  type GlobalOptions,
  openEngine,
  openState,
  storeAddress,
} from '../open-settings-store-and-engine.ts';

export async function planList(io: Io, options: GlobalOptions): Promise<void> {
  const { view } = await openState(io, options, (state) => state.view());
  const rows = view.plans.map((plan) => ({
    id: plan.id,
    name: plan.name,
    status: plan.status,
    complete: ticketsOf(view, plan).filter(({ status }) => status === 'complete').length,
    tickets: plan.tickets.length,
  }));
  if (options.json) return outJson(io, rows);
  const body = rows.map((row) => [
    row.id,
    row.status,
    `${row.complete}/${row.tickets}`,
    oneLine(row.name, 60),
  ]);
  const lines = table(['plan', 'status', 'complete', 'name'], body, io.style);
  io.out(body.length > 0 ? wrapLines(lines, io.columns?.()) : 'No plans yet.');
  for (const problem of view.problems) io.err(`${io.style.red('✗')} ${oneLine(sayProblem(problem), 400)}`);
}

export async function planShow(io: Io, options: GlobalOptions, word: string): Promise<void> {
  const { view: shown } = await openState(io, options, (state) => {
    const plan = state.plan(planNamed(io, state, 'plan show', word));
    return { plan, tickets: state.tickets(plan) };
  });
  const { plan, tickets } = shown;
  if (options.json) return outJson(io, { plan, tickets });
  const out = (lines: string[]) => outWrapped(io, lines);
  out([`${oneLine(plan.name) || plan.id} (${plan.id}), ${plan.status}`]);
  const facts = [
    ['repository', plan.repo],
    ['workflow', plan.workflow],
    ['agent', plan.agent],
    ['base', plan.base],
    ['worktrees', plan.worktreeRoot],
  ];
  for (const [name, value] of facts) if (value) out([`  ${`${name}`.padEnd(10)} ${oneLine(value, 400)}`]);
  const rows = plan.tickets.map((entry) => {
    const ticket = tickets.find((each) => each.ticketId === entry.ticketId);
    return [
      String(entry.order),
      entry.ticketId,
      ticket?.status ?? 'unreadable',
      oneLine(entry.blockedBy.join(', '), 60),
      oneLine(ticket?.title ?? '', 60),
    ];
  });
  out(table(['order', 'ticket', 'status', 'after', 'title'], rows, io.style));
}

export async function planCheck(io: Io, options: GlobalOptions, word: string): Promise<void> {
  const { engine, id } = await openNamed(io, options, 'plan check', word);
  const { checkPlan } = await import('../../features/plans/check-plan.ts');
  const problems = await checkPlan(engine, id);
  const ok = problems.every((problem) => problem.severity !== 'error');
  if (!ok) io.exit(1);
  if (options.json) return outJson(io, { plan: id, ok, problems });
  const { planSummary } = await import('../../report/plan-headers-and-summaries.ts');
  const out = (lines: string[]) => outWrapped(io, lines);
  const view = openAndOnePlan(engine.store, id);
  const plan = planOf(view, id);
  if (plan) {
    // A repository or base that is missing is among the problems.
    const from =
      plan.repo === null ? null : engine.workspaces.startsFrom(plan.repo, plan.base).catch(() => null);
    out([...planSummary(plan, view, engine.settings, io.style, await from), '']);
  }
  for (const { severity, ticketId, place, file, message, hint } of problems) {
    const mark = severity === 'error' ? io.style.red('✗') : io.style.yellow('!');
    const where = message.startsWith(file) ? '' : ` ${io.style.dim(`(${oneLine(place)})`)}`;
    out([`${mark} ${oneLine(ticketId ?? id)}: ${oneLine(message, 400)}${where}`]);
    if (hint) out([io.style.dim(`  ${oneLine(hint, 400)}`)]);
  }
  const draft = plan?.status === 'draft' ? ` Approve it with: signalbox plan approve ${id}` : '';
  if (ok) out([`${io.style.green('✓')} Plan ${id} can run.${draft}`]);
}

export async function planApprove(io: Io, options: GlobalOptions, word: string): Promise<void> {
  const { engine, id } = await openNamed(io, options, 'plan approve', word);
  const [{ approvePlan }, { nextStep }] = await Promise.all([
    import('../../features/plans/approve-archive-cancel-delete.ts'),
    import('../../report/next-step-after-command.ts'),
  ]);
  const plan = await approvePlan(engine, id);
  answer(io, options, plan, `Plan ${id} is ${plan.status}.${nextStep(engine, id)}`);
}

export async function planArchive(io: Io, options: GlobalOptions, word: string): Promise<void> {
  const { engine, id } = await openNamed(io, options, 'plan archive', word);
  const { archivePlan } = await import('../../features/plans/approve-archive-cancel-delete.ts');
  const plan = await archivePlan(engine, id);
  answer(io, options, plan, `Plan ${id} is ${plan.status}.`);
}

export async function planDelete(io: Io, options: OptionsOf<'plan delete'>, word: string) {
  const { engine, id } = await openNamed(io, options, 'plan delete', word);
  const { deletePlan } = await import('../../features/plans/approve-archive-cancel-delete.ts');
  await deletePlan(engine, id, options.force === true);
  answer(io, options, { deleted: id }, `Plan ${id} is deleted.`);
}

/** Makes a plan without a model, from a script or by hand. */
export async function planNew(io: Io, flags: Flags, planId: string): Promise<void> {
  const unit = flags.unit === undefined ? undefined : oneOf('--unit', flags.unit, ['parent', 'leaf']);
  const engine = await openEngine(io, flags, 'new');
  const { draftPlan } = await import('../../features/plans/draft-plan-from-issues-files-or-spec.ts');
  const named = await repositoryNamed(io, flags);
  const repo = flags.repo === undefined ? repositoryOf(io.cwd) : (named.repo ?? resolve(io.cwd, flags.repo));
  const { repo: _, ...edit } = planFields(flags, io);
  const said = saySoon(io, flags, 'Reading the issues…');
  const { plan, tickets, notes } = await draftPlan(engine, {
    planId,
    from: flags.from ?? [],
    cwd: io.cwd,
    repo,
    edit,
    ...(unit ? { unit } : {}),
    createdBy: 'signalbox plan new',
  }).finally(said);
  if (flags.json) return outJson(io, { plan, tickets, notes });
  for (const note of notes) outWrapped(io, `! ${note}`);
  const count = plural(tickets.length, 'ticket');
  outWrapped(io, `Plan ${planId} is a draft with ${count}. Check it with: signalbox plan check ${planId}`);
}

export async function planAdd(io: Io, flags: Flags, word: string, ticketId: string): Promise<void> {
  const { title, ...rest } = { ...ticketFields(flags, io), ...(await repositoryNamed(io, flags)) };
  if (title === undefined || title.trim() === '')
    throw new InputError('usage', 'A ticket needs a title.', { hint: 'Add one with --title "…"' });
  const { engine, id: planId } = await openNamed(io, flags, 'plan add', word);
  const { addTicket } = await import('../../features/plans/edit-plan.ts');
  const ticket = await addTicket(engine, { planId, ticketId }, { ...rest, title }, entryFields(flags));
  answer(io, flags, ticket, `${planId} has a ticket ${ticketId}.`);
}

export async function planEdit(io: Io, flags: Flags, word: string, ticketId?: string): Promise<void> {
  refuseMixed(ticketId, flags);
  const { engine, id: planId } = await openNamed(io, flags, 'plan edit', word);
  const { editPlan, editTicket } = await import('../../features/plans/edit-plan.ts');
  const named = await repositoryNamed(io, flags);
  const changed =
    ticketId === undefined
      ? await editPlan(engine, planId, { ...planFields(flags, io), ...named })
      : await editTicket(
          engine,
          { planId, ticketId },
          { ...ticketFields(flags, io), ...named },
          entryFields(flags),
        );
  const what = ticketId === undefined ? `Plan ${planId}` : `${planId}/${ticketId}`;
  answer(io, flags, changed, `${what} is changed.`);
}

export async function planRemove(io: Io, options: GlobalOptions, word: string, ticketId: string) {
  const { engine, id: planId } = await openNamed(io, options, 'plan remove', word);
  const { removeTicket } = await import('../../features/plans/edit-plan.ts');
  await removeTicket(engine, { planId, ticketId });
  answer(io, options, { removed: `${planId}/${ticketId}` }, `${ticketId} is no longer in ${planId}.`);
}

type Flags = OptionsOf<'plan new'> & OptionsOf<'plan edit'>;

const OF_PLANS = ['name', 'base', 'worktreeRoot', 'concurrency'];
const OF_BOTH = ['repo', 'workflow', 'agent', 'workerLabels', 'json', 'config', 'debug'];

/** Refuses flags of tickets if none is named, and flags of the plan if one is. */
function refuseMixed(ticketId: string | undefined, flags: Flags): void {
  const found = Object.keys(flags).find((name) =>
    ticketId === undefined ? ![...OF_PLANS, ...OF_BOTH].includes(name) : OF_PLANS.includes(name),
  );
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
    workerLabels: namesIn(flags.workerLabels),
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
    workerLabels: namesIn(flags.workerLabels),
  });
}

function entryFields({ blockedBy, order }: Flags): EntryEdit {
  if (order !== undefined && !/^-?\d+(\.\d+)?$/.test(order))
    throw invalid('--order', order, 'Must be a number.');
  return given({
    blockedBy: namesIn(blockedBy?.join(',')),
    order: order === undefined ? undefined : Number(order),
  });
}

/** The different names in a list that is separated by commas or spaces. */
function namesIn(text: string | undefined): string[] | undefined {
  return text === undefined ? undefined : [...new Set(text.split(/[\s,]+/))].filter((name) => name !== '');
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

/** On a fleet, a repository may be named by its address or as owner/name: each worker has a clone of its own. */
async function repositoryNamed(io: Io, { repo, ...flags }: Flags): Promise<{ repo?: string }> {
  if (!repo || !storeAddress(io, flags) || existsSync(resolve(io.cwd, repo))) return {};
  const { isNameOfRepository } = await import('../../engine/work-out-workspace-and-repository.ts');
  return isNameOfRepository(repo) ? { repo: repo.replace(/^(https?:\/\/)[^@/]*@/i, '$1') } : {};
}

function descriptionOf({ description, descriptionFile }: Flags, io: Io): string | undefined {
  if (descriptionFile === undefined) return description;
  if (description !== undefined)
    throw new InputError('usage', 'Use --description or --description-file, not both.');
  try {
    if (descriptionFile === '-') return readStandardInput(io);
    return readFileSync(resolve(io.cwd, descriptionFile), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new InputError('usage', `${descriptionFile} cannot be read (${code}).`, {
      hint: 'Check the path given with --description-file.',
      cause: error,
    });
  }
}
