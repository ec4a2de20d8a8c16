import type { EngineContext, StepEnd } from '../../engine/context.ts';
import { refuseInsideAgent } from '../../engine/control-tickets-and-plans.ts';
import { diffTicket, ensureFor, releaseFor } from '../../engine/create-release-and-diff-ticket-workspace.ts';
import { InputError } from '../../model/errors.ts';
import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import { answerCommands } from '../../model/state/explain-ticket.ts';
import { NO_CHECKS, NO_RELATED_TESTS_RAN } from '../../model/verdict-criteria-and-missing-checks.ts';
import { mergeCommand, ticketsAsGitHasThem, whereWorkIs } from '../../report/status-text.ts';
import type { Style } from '../../report/style-and-phrases.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { ticketNamed } from '../find-named-plans-and-tickets.ts';
import { answer, type Io, outJson } from '../io.ts';
import type { GlobalOptions } from '../open-settings-store-and-engine.ts';
import { openEngine, openSettings } from '../open-settings-store-and-engine.ts';
import { pageLines } from '../show-in-pager-or-browser.ts';

export async function checks(io: Io, options: OptionsOf<'checks'>): Promise<void> {
  const cwd = io.env.SIGNALBOX_WORKTREE ?? io.cwd;
  const { runChecks, reportChecks } = await import('../../features/checks/find-and-run-checks.ts');
  const found = options.related ? await relatedChecks(cwd, io) : await allChecks(options, cwd, io);
  const { notes } = found;
  const stderr = io.stderr.fd;
  if (options.json) {
    const done = await reportChecks(found.checks, { cwd, env: io.env, stdout: stderr, stderr, notes });
    const ok = done.results.every(({ code }) => code === 0);
    outJson(io, options.related ? { ok, ...done } : { ok, results: done.results });
    if (!ok) io.exit(1);
  } else if (found.checks.length === 0) io.out(options.related ? [...notes, NO_RELATED_TESTS_RAN] : notes);
  else {
    const streams = { stdout: io.stdout.fd, stderr };
    const isRelated = options.related;
    io.exit(await runChecks(found.checks, { cwd, env: io.env, notes, isRelated, ...streams }));
  }
}

async function allChecks(options: GlobalOptions, cwd: string, io: Io) {
  const settings = await openSettings(io, options);
  const { checksOf } = await import('../../features/checks/find-and-run-checks.ts');
  const checks = await checksOf(settings.checks, cwd);
  return { checks, notes: checks.length === 0 ? [NO_CHECKS] : [] };
}

async function relatedChecks(cwd: string, { env }: Io) {
  const [{ relatedTests }, { createWorkspaces }] = await Promise.all([
    import('../../features/checks/related-tests.ts'),
    import('../../workspaces/workspaces.ts'),
  ]);
  const base = (env.SIGNALBOX_WORKTREE !== undefined && env.SIGNALBOX_BASE) || null;
  return relatedTests(createWorkspaces({ env }), cwd, base);
}

export async function integrate(io: Io, options: GlobalOptions, plan?: string, ticket?: string) {
  const engine = await openEngine(io, options, 'integrate');
  const isNamed = plan !== undefined && !inPhase(io);
  const ref = isNamed
    ? ticketNamed(io, engine.store, 'integrate', [plan, ticket]).ref
    : ticketHere(io, plan, ticket);
  refuseInsideAgent(engine);
  const { integrateStep } = await import('../../features/integrate/integrate-ticket.ts');
  outStep(io, options, await integrateStep({ engine, ref, inPhase: inPhase(io) }));
}

/** Whether a script of a phase made this call. It gets exit codes that the engine understands. */
export function inPhase({ env }: Io): boolean {
  return env.SIGNALBOX_JOB !== undefined;
}

/** Shows how a step ended. */
export function outStep(io: Io, { json }: GlobalOptions, { exit, out, err, data }: StepEnd): void {
  if (json && data !== null) outJson(io, data);
  else if (out) io.out(out.split('\n'));
  if (err && !(json && data !== null)) io.err(err.split('\n'));
  if (exit !== 0) io.exit(exit);
}

/** The ticket named on the command line, or the one whose phase this runs in. */
export function ticketHere(
  io: Io,
  planId: string | undefined,
  ticketId: string | undefined,
): { planId: string; ticketId: string } {
  const plan = planId ?? io.env.SIGNALBOX_PLAN;
  const ticket = ticketId ?? io.env.SIGNALBOX_TICKET;
  if (plan && ticket) return { planId: plan, ticketId: ticket };
  throw new InputError('ticket/none', 'Which ticket?', {
    hint: 'Name a plan and a ticket, or call this from a phase.',
  });
}

type Done = Awaited<ReturnType<typeof ensureFor>> | Awaited<ReturnType<typeof releaseFor>>;

/** Creates a worktree by hand, or for the setup script of a workflow. */
export async function workspaceEnsure(io: Io, options: GlobalOptions, plan?: string, ticket?: string) {
  const ref = ticketHere(io, plan, ticket);
  report(io, options, await ensureFor(await openEngine(io, options, 'workspace'), ref));
}

export async function workspaceRelease(io: Io, options: GlobalOptions, plan?: string, ticket?: string) {
  const ref = ticketHere(io, plan, ticket);
  report(io, options, await releaseFor(await openEngine(io, options, 'workspace'), ref, inPhase(io)));
}

function report(io: Io, options: GlobalOptions, done: Done): void {
  answer(io, options, done, done.message.split('\n'));
  if (!done.ok) io.exit(1);
}

export async function diff(
  io: Io,
  options: OptionsOf<'diff'>,
  ...words: (string | undefined)[]
): Promise<void> {
  const engine = await openEngine(io, options, 'diff');
  const { planId, ticketId } = ticketNamed(io, engine.store, 'diff', words).ref;
  // A program gets the patch as it is, so that `git apply` takes it.
  const as = options.stat ? 'stat' : options.json || io.tty ? undefined : 'patch';
  const changes = await diffTicket(engine, { planId, ticketId }, as);
  const { text } = changes;
  if (text !== '' && io.tty && !options.json) {
    const lines = text.trimEnd().split('\n');
    await pageLines(io, options.stat ? lines : coloured(lines, io.style));
    io.out(await whatNext(engine, { planId, ticketId }));
  } else if (!options.json && text === '') io.err(`${planId}/${ticketId} has changed nothing yet.`);
  else if (as === 'patch') io.stdout.write(Buffer.from(text, 'latin1'));
  else answer(io, options, changes, text.trimEnd().split('\n'));
}

const HEADER =
  /^(diff|index|old mode|new mode|new file|deleted file|similarity|rename|copy|Binary|---|\+\+\+) /;

/** A diff in the colours that git has by default. */
function coloured(lines: readonly string[], colors: Style): string[] {
  let inHunk = false;
  return lines.map((line) => {
    if (line.startsWith('diff ')) inHunk = false;
    const [hunk] = /^@@ .* @@/.exec(line) ?? [];
    if (hunk !== undefined) {
      inHunk = true;
      return `${colors.cyan(hunk)}${line.slice(hunk.length)}`;
    }
    if (!inHunk) return HEADER.test(line) ? colors.bold(line) : line;
    if (line.startsWith('+')) return colors.green(line);
    return line.startsWith('-') ? colors.red(line) : line;
  });
}

/** How to continue with the work that a diff has shown. */
async function whatNext({ store, workspaces }: EngineContext, ref: TicketRef): Promise<string[]> {
  const plan = store.plan(ref.planId);
  const recorded = store.ticket(ref);
  const [ticket = recorded] = await ticketsAsGitHasThem(plan, [recorded], workspaces);
  const names = `${ref.planId} ${ref.ticketId}`;
  const work = whereWorkIs(ticket);
  if (work && work.kind !== 'branch')
    return [`The work is ${work.kind === 'merged' ? '' : 'in '}${work.text}`];
  if (ticket.status === 'complete') {
    const isAlone = plan.status === 'archived' || (plan.workspace && plan.kind !== 'spec');
    const merge = isAlone ? `signalbox integrate ${names}` : mergeCommand(plan);
    return merge ? [`Merge: ${merge}`] : [];
  }
  if (ticket.hold?.kind === 'gate') return answerCommands(ticket, plan).map((each) => `Decide: ${each}`);
  const isOpen = ticket.status === 'failed' || ticket.status === 'needs_attention';
  return [...(isOpen ? [`Retry: signalbox retry ${names}`] : []), `Reject: signalbox cancel ${names}`];
}
