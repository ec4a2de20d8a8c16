import { clean as cleanUp, type Stale } from '../../features/cleanup/find-and-remove-leftovers.ts';
import type { Remains } from '../../features/plans/approve-archive-cancel-delete.ts';
import { InputError } from '../../model/errors.ts';
import { groupBy } from '../../model/group-and-remember.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import { firstOf, plural } from '../../model/text/clean-escape-quote-plural.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { isCancelled } from '../../model/ticket.ts';
import { oneLine } from '../../report/printable-text.ts';
import { ticketsAsGitHasThem, workLine } from '../../report/status-text.ts';
import type { Style } from '../../report/style-and-phrases.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { planOrTicketNamed } from '../find-named-plans-and-tickets.ts';
import { answer, confirmed, type Io, outJson, outWrapped } from '../io.ts';
import { openEngine, openRunner } from '../open-settings-store-and-engine.ts';

/** Maximum number of ignored files to name; there may be thousands. */
const MAX_NAMED_FILES = 5;

type Options = OptionsOf<'clean'>;

/** Gives up a plan, or a ticket of one. */
export async function cancel(
  io: Io,
  options: OptionsOf<'cancel'>,
  first: string | undefined,
  second: string | undefined,
): Promise<void> {
  const engine = await openEngine(io, options, 'cancel');
  const { store } = engine;
  const { planId, ticketId } = planOrTicketNamed(io, store, 'cancel', [first, second]);
  const named = ticketId === undefined ? undefined : { planId, ticketId };
  const { cancelPlan, cancelTicket, isLastTicket, refuseComplete, refuseDraftOrComplete } = await import(
    '../../features/plans/approve-archive-cancel-delete.ts'
  );
  const ref = named && isLastTicket(engine, named) ? undefined : named;
  const open = store.tickets(planId).filter((ticket) => ticket.status !== 'complete' && !isCancelled(ticket));
  const running = open.filter(({ status }) => status === 'running').length;
  const what = ref
    ? refKey(ref)
    : `plan ${planId}, ${plural(open.length, 'open ticket')}, ${running} running`;
  if (named) refuseComplete(engine, named);
  if (!ref) refuseDraftOrComplete(engine, planId);
  if (!options.yes && io.tty) io.out('Uncommitted work is kept on a ref; branches and pull requests stay.');
  if (!options.yes && !confirmed(io, `Cancel ${what}?`))
    throw new InputError('usage', `Nothing was cancelled: ${what}.`, {
      hint: `Cancel with: signalbox cancel ${ref ? `${planId} ${ref.ticketId}` : planId} --yes`,
    });
  const tickets = named ? await cancelTicket(engine, named) : (await cancelPlan(engine, planId)).tickets;
  const plan = store.plan(planId);
  const done = ref ? `${refKey(ref)} is cancelled.` : `Plan ${planId} is cancelled and archived.`;
  const kept = store.tickets(plan).filter(({ status }) => status === 'complete').length;
  const shared =
    plan.workspace === 'shared' && kept > 0 ? tickets.find(({ branch }) => branch)?.branch : null;
  const also = shared
    ? [`  Branch ${shared} also has ${plural(kept, 'complete ticket')}.`]
    : ref
      ? []
      : workLine(plan, await ticketsAsGitHasThem(plan, store.tickets(plan), engine.workspaces)).map(
          (line) => `  ${line}`,
        );
  const lines = [done, ...also, ...remainLines(planId, tickets, !ref)];
  answer(io, options, { plan, tickets }, lines);
}

/** What is still there, each with the command that deletes it. */
function remainLines(planId: string, tickets: readonly Remains[], wholePlan: boolean): string[] {
  const lines: string[] = [];
  for (const { ticketId, keptAt, repo } of tickets)
    for (const ref of keptAt) {
      lines.push(`  ${ticketId}: uncommitted work is kept at ${ref}`);
      lines.push(`    Look at it: git -C ${shellWord(repo ?? '.')} show ${ref}`);
    }
  for (const { worktree, ticketId } of tickets)
    if (worktree) lines.push(`  ${ticketId}: kept the worktree ${worktree.path}: ${worktree.reason}`);
  const ways = [...groupBy(tickets, ({ repo }) => repo ?? '')].flatMap(([repo, own]) => {
    const git = `git -C ${shellWord(repo)}`;
    const branches = [...new Set(own.flatMap(({ branch }) => branch ?? []))];
    const kept = own.flatMap(({ keptAt }) => keptAt);
    return [
      ...(branches.length > 0 ? [`${git} branch -D ${branches.map(shellWord).join(' ')}`] : []),
      ...kept.map((ref) => `${git} update-ref -d ${ref}`),
    ];
  });
  const pulls = tickets.flatMap(({ pullRequest }) => pullRequest ?? []);
  ways.push(...pulls.map((url) => `gh pr close ${shellWord(url)}`));
  if (wholePlan) ways.push(`signalbox plan delete ${planId} --force`);
  if (ways.length > 0) lines.push('Still there; to delete for good:', ...ways.map((way) => `  ${way}`));
  const back = tickets.length > 1 ? '<ticket>' : tickets[0]?.ticketId;
  if (back === undefined) return lines;
  return [
    ...lines,
    `To bring ${tickets.length > 1 ? 'a ticket' : 'it'} back: signalbox retry ${planId} ${back}`,
  ];
}

export async function clean(io: Io, options: Options): Promise<void> {
  const remove = options.yes === true;
  const parts = await (remove ? openRunner : openEngine)(io, options, 'clean');
  const { all = false } = options;
  const { items, notes, others } = await cleanUp(parts, { cwd: io.cwd, remove, all });
  if (options.json) return outJson(io, { items, notes, others });
  for (const note of notes) io.err(`! ${note}`);
  const named = (files: readonly string[]) =>
    firstOf(
      files.map((file) => oneLine(file, 80)),
      MAX_NAMED_FILES,
    );
  const out = (text: string) => outWrapped(io, text);
  // Things of no repository come last.
  const sorted = items.toSorted((a, b) => Number(a.repo === null) - Number(b.repo === null));
  for (const [repo, group] of groupBy(sorted, (item) => item.repo)) {
    if (repo !== null) io.out(`${io.style.dim('In')} ${repo}`);
    for (const item of group) out(line(item, io.style, named));
  }
  const isOpen = parts.store.glance().plans.some(({ status }) => status === 'active' || status === 'paused');
  out(conclusion(items, remove, all ? ' --all' : ''));
  if (isOpen) out('Open plans keep their worktrees; to give one up: signalbox cancel <plan>');
  if (others.length > 0)
    out(
      `${plural(others.length, 'other repository', 'other repositories')} not checked: signalbox clean --all`,
    );
}

type Named = (files: readonly string[]) => string;

function line(item: Stale, colors: Style, named: Named): string {
  const mark = item.keep === null ? colors.green('✓') : colors.yellow('!');
  const did = item.removed ? 'removed ' : item.keep === null ? '' : 'kept ';
  const lost = loss(item, named);
  // For things that are kept, only a known loss is shown: the absence of one was not checked.
  const known = item.keep === null || item.loses.files + item.loses.commits > 0;
  const about = [
    item.keep === null ? item.why : `${item.why}, but ${item.keep}`,
    ...(known ? [lost] : []),
  ].join('; ');
  return `${mark} ${did}${item.kind} ${colors.bold(item.name)}: ${about}`;
}

function loss({ loses, bytes, ignored, removed }: Stale, named: Named): string {
  const files = loses.files > 0 ? [plural(loses.files, 'uncommitted file')] : [];
  const commits = loses.commits > 0 ? [plural(loses.commits, 'commit')] : [];
  const lost = [...files, ...commits];
  if (lost.length > 0) return `deleting it would lose ${lost.join(' and ')}`;
  if (bytes !== null) return `${removed ? 'freed' : 'deleting it frees'} ${megabytes(bytes)}`;
  const nothing = removed ? 'nothing was lost' : 'deleting it loses nothing';
  return ignored.length > 0 ? `${nothing} but ignored files: ${named(ignored)}` : nothing;
}

function conclusion(items: readonly Stale[], remove: boolean, flags: string): string {
  const kept = items.filter(({ keep }) => keep !== null).length;
  const safe = items.length - kept;
  if (items.length === 0) return 'There is nothing to clean up.';
  if (remove) return `${safe} removed, ${kept} kept.`;
  const next = safe > 0 ? ` Remove them: signalbox clean${flags} --yes` : '';
  return `${safe} can be removed, ${kept} will be kept.${next}`;
}

function megabytes(bytes: number): string {
  return bytes < 100_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
