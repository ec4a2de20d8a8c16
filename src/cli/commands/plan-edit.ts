import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { PlanEdit } from '../../features/plans/edit.ts';
import { InputError } from '../../model/errors.ts';
import type { EntryEdit, TicketEdit } from '../../model/plans/plan-edits.ts';
import { plural } from '../../model/text/plural.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, positiveInteger } from '../open.ts';

const again = (value: string, before: string[] = []) => [...before, value];

/** `plan new`, `add`, `edit` and `remove`: plans without a model, from a script or by hand. */
export function registerEdits(plan: Command, io: Io): void {
  shared(plan.command('new').argument('<plan>', 'id of the new plan'))
    .description('make a draft plan from issues, Markdown files or a spec directory')
    .option('--from <what...>', 'issues, files and spec directories; without it the plan is empty')
    .option('--unit <kind>', 'of a spec: parent or leaf')
    .option('--name <text>', 'for people')
    .option('--base <branch>', 'branch that work starts from')
    .option('--worktree-root <dir>', 'where worktrees go')
    .option('-c, --concurrency <n>', 'at most this many tickets at once')
    .option('--json', 'print the plan and its tickets as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox plan new sprint-12 --from 100 101 docs/issues/cache.md\n  $ signalbox plan new limits --from .kiro/specs/rate-limits --workflow local',
    )
    .action(async (id: string, _options: unknown, command: Command) =>
      make(id, command.optsWithGlobals(), io),
    );
  ticketFlags(shared(plan.command('add').argument('<plan>').argument('<ticket>', 'id of the new ticket')))
    .description('add a ticket to a plan')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox plan add sprint-12 cache --title "Cache answers" --criteria "a second call does not fetch" --blocked-by 100',
    )
    .action(async (id: string, ticket: string, _options: unknown, command: Command) =>
      add(id, ticket, command.optsWithGlobals(), io),
    );
  ticketFlags(
    shared(plan.command('edit').argument('<plan>').argument('[ticket]', 'default: the plan itself')),
  )
    .description('change a ticket that is not running, or a plan')
    .option('--name <text>', 'of the plan, for people')
    .option('--base <branch>', 'of the plan: branch that work starts from')
    .option('--worktree-root <dir>', 'of the plan: where worktrees go')
    .option('-c, --concurrency <n>', 'of the plan: at most this many tickets at once')
    .addHelpText(
      'after',
      '\nA list replaces the one before; an empty text takes a value out.\n\nExamples:\n  $ signalbox plan edit sprint-12 cache --title "Cache answers for a minute"\n  $ signalbox plan edit sprint-12 cache --blocked-by ""\n  $ signalbox plan edit sprint-12 --workflow local',
    )
    .action(async (id: string, ticket: string | undefined, _options: unknown, command: Command) =>
      edit(id, ticket, command.optsWithGlobals(), io),
    );
  plan
    .command('remove')
    .argument('<plan>')
    .argument('<ticket>')
    .description('take a ticket that has not begun out of its plan')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox plan remove sprint-12 cache')
    .action(async (id: string, ticket: string, _options: unknown, command: Command) =>
      remove(id, ticket, command.optsWithGlobals(), io),
    );
}

function shared(command: Command): Command {
  return command
    .option('--repo <path>', 'git repository')
    .option('-w, --workflow <name>', 'workflow')
    .option('-a, --agent <name>', 'agent of phases that name none');
}

function ticketFlags(command: Command): Command {
  return command
    .option('-t, --title <text>', 'one line')
    .option('-d, --description <text>', 'what is to be done')
    .option('--description-file <file>', 'read the description from a file; - is standard input')
    .option('--criteria <text>', 'how one can tell that it is done; may be given several times', again)
    .option('--blocked-by <ids>', 'tickets that must be complete first, by commas or several times', again)
    .option(
      '--path <path>',
      'a file, directory or pattern that it will change; may be given several times',
      again,
    )
    .option('--branch <name>', 'its branch')
    .option('--worktree <dir>', 'its worktree')
    .option('--url <url>', 'link to the tracker')
    .option('--order <n>', 'lower starts first')
    .option('--json', 'print JSON');
}

async function make(planId: string, flags: Flags, io: Io): Promise<void> {
  if (flags.unit !== undefined && flags.unit !== 'parent' && flags.unit !== 'leaf')
    throw new InputError('usage', `Invalid --unit value: ${flags.unit}. Must be parent or leaf.`);
  const parts = await openEngine(io, flags, 'new');
  const [{ draftPlan }, { repositoryOf }] = await Promise.all([
    import('../../features/plans/draft.ts'),
    import('../../config/paths.ts'),
  ]);
  const repo = flags.repo === undefined ? repositoryOf(io.cwd) : resolve(io.cwd, flags.repo);
  const { repo: _, ...rest } = planEdit(flags, io);
  const { plan, tickets, notes } = await draftPlan(parts, {
    planId,
    from: flags.from ?? [],
    cwd: io.cwd,
    repo,
    edit: rest,
    ...(flags.unit ? { unit: flags.unit } : {}),
    createdBy: 'signalbox plan new',
  });
  if (flags.json) return outJson(io, { plan, tickets, notes });
  for (const note of notes) io.out(`! ${note}`);
  const count = plural(tickets.length, 'ticket');
  io.out(`Plan ${planId} is a draft with ${count}. Look at it with: signalbox plan check ${planId}`);
}

async function add(planId: string, ticketId: string, flags: Flags, io: Io): Promise<void> {
  const { title, ...rest } = ticketEdit(flags, io);
  if (title === undefined || title.trim() === '')
    throw new InputError('usage', 'A ticket needs a title.', { hint: 'Say it with --title "…"' });
  const parts = await openEngine(io, flags, 'add');
  const { addTicket } = await import('../../features/plans/edit.ts');
  const ticket = await addTicket(parts, { planId, ticketId }, { ...rest, title }, entryEdit(flags));
  if (flags.json) outJson(io, ticket);
  else io.out(`${planId} has a ticket ${ticketId}.`);
}

async function edit(planId: string, ticketId: string | undefined, flags: Flags, io: Io): Promise<void> {
  refuseMixed(ticketId, flags);
  const parts = await openEngine(io, flags, 'edit');
  const { editPlan, editTicket } = await import('../../features/plans/edit.ts');
  const changed =
    ticketId === undefined
      ? await editPlan(parts, planId, planEdit(flags, io))
      : await editTicket(parts, { planId, ticketId }, ticketEdit(flags, io), entryEdit(flags));
  if (flags.json) outJson(io, changed);
  else io.out(`${ticketId === undefined ? `Plan ${planId}` : `${planId}/${ticketId}`} is changed.`);
}

async function remove(planId: string, ticketId: string, options: GlobalOptions, io: Io): Promise<void> {
  const parts = await openEngine(io, options, 'remove');
  const { removeTicket } = await import('../../features/plans/edit.ts');
  await removeTicket(parts, { planId, ticketId });
  if (options.json) outJson(io, { removed: `${planId}/${ticketId}` });
  else io.out(`${ticketId} is no longer in ${planId}.`);
}

interface Flags extends GlobalOptions {
  from?: string[];
  unit?: 'parent' | 'leaf';
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
  const flag = `--${found.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const whose = ticketId === undefined ? 'a ticket, and none is named' : 'the plan, and a ticket is named';
  throw new InputError('usage', `${flag} is of ${whose}.`, {
    hint: ticketId === undefined ? 'signalbox plan edit <plan> <ticket> …' : 'signalbox plan edit <plan> …',
  });
}

/** An empty text takes a value out, so that the default counts again. */
function orNull(text: string): string | null {
  return text === '' ? null : text;
}

function planEdit(flags: Flags, io: Io): PlanEdit {
  const { name, repo, workflow, agent, base, worktreeRoot } = flags;
  const concurrency = flags.concurrency === '' ? null : positiveInteger('--concurrency', flags.concurrency);
  return {
    ...(name === undefined ? {} : { name }),
    ...(repo === undefined ? {} : { repo: repoPath(repo, io) }),
    ...(workflow === undefined ? {} : { workflow: orNull(workflow) }),
    ...(agent === undefined ? {} : { agent: orNull(agent) }),
    ...(base === undefined ? {} : { base: orNull(base) }),
    ...(worktreeRoot === undefined ? {} : { worktreeRoot: repoPath(worktreeRoot, io) }),
    ...(concurrency === undefined ? {} : { concurrency }),
  };
}

function ticketEdit(flags: Flags, io: Io): TicketEdit {
  const { title, criteria, path, url, repo, workflow, agent, branch, worktree } = flags;
  const description = descriptionOf(flags, io);
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(criteria === undefined ? {} : { acceptanceCriteria: criteria.filter((text) => text.trim() !== '') }),
    ...(path === undefined ? {} : { paths: path.filter((text) => text.trim() !== '') }),
    ...(url === undefined ? {} : { linearUrl: orNull(url) }),
    ...(repo === undefined ? {} : { repo: repoPath(repo, io) }),
    ...(workflow === undefined ? {} : { workflow: orNull(workflow) }),
    ...(agent === undefined ? {} : { agent: orNull(agent) }),
    ...(branch === undefined ? {} : { branch: orNull(branch) }),
    ...(worktree === undefined ? {} : { worktree: repoPath(worktree, io) }),
  };
}

function entryEdit({ blockedBy, order }: Flags): EntryEdit {
  const ids = blockedBy?.flatMap((text) => text.split(/[\s,]+/)).filter((id) => id !== '');
  if (order !== undefined && !/^-?\d+(\.\d+)?$/.test(order))
    throw new InputError('usage', `Invalid --order value: ${order}. Must be a number.`);
  return {
    ...(ids === undefined ? {} : { blockedBy: [...new Set(ids)] }),
    ...(order === undefined ? {} : { order: Number(order) }),
  };
}

/** Plans are read from anywhere, so that a path of this directory must be whole. */
function repoPath(path: string, io: Io): string | null {
  if (path === '') return null;
  return path.startsWith('~/') ? path : resolve(io.cwd, path);
}

function descriptionOf({ description, descriptionFile }: Flags, io: Io): string | undefined {
  if (descriptionFile === undefined) return description;
  if (description !== undefined)
    throw new InputError('usage', 'Say --description or --description-file, not both.');
  try {
    return readFileSync(descriptionFile === '-' ? io.stdin.fd : resolve(io.cwd, descriptionFile), 'utf8');
  } catch (error) {
    throw new InputError(
      'usage',
      `${descriptionFile} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
      {
        hint: 'Check the path given with --description-file.',
        cause: error,
      },
    );
  }
}
