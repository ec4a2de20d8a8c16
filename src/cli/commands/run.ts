import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ResumeInit } from '../../api/run-orchestrator.ts';
import { flagOfOption } from '../../config/run-flags.ts';
import type { Settings } from '../../config/settings-table.ts';
import { startableTickets } from '../../engine/require-preflight-or-hold-plan.ts';
import type { RunOptions, RunResult } from '../../features/issue-runs/request-and-result-types.ts';
import { issueName, storedRun } from '../../features/issue-runs/results/stored-run-time-and-issue-names.ts';
import { InputError } from '../../model/errors.ts';
import type { EngineEvent } from '../../model/events.ts';
import { idProblem } from '../../model/ids-and-branch-names.ts';
import { namedPlans } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { entryOf } from '../../model/plans/plans-view.ts';
import { cleanLine, quoted } from '../../model/text/clean-escape-quote-plural.ts';
import { nearest } from '../../model/text/nearest-word.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { planHeader, runHeader, summary } from '../../report/plan-headers-and-summaries.ts';
import { safeJson } from '../../report/printable-text.ts';
import { ticketsAsGitHasThem } from '../../report/status-text.ts';
import { readableTicket, type Store } from '../../store/store-interface.ts';
import { baseCheckFlag, positiveInteger } from '../check-option-values.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { type Io, outJson, outWrapped, readStandardInput } from '../io.ts';
import {
  type GlobalOptions,
  limitsOf,
  openLiveStore,
  openPlan,
  openRunner,
  openSettings,
  storeAddress,
  trusted,
} from '../open-settings-store-and-engine.ts';
import { eventView, signalCode, untilStopped } from '../show-events-until-stopped.ts';
import { continueInBackground } from './daemon-and-tick.ts';

interface Options extends IssueOptions {
  plan?: string;
}

/** Runs the plan of that name if there is one, unless the name could be an issue as well. */
export async function run(io: Io, given: Options, what: string[]): Promise<void> {
  const { plan, ...options } = given;
  const isFleet = storeAddress(io, options) !== undefined;
  positiveInteger('--concurrency', options.concurrency);
  if (plan !== undefined) return runTickets(plan, what, planOptions(plan, options, isFleet), io);
  const [first, ...rest] = what;
  if (first === undefined) {
    if (!options.batch?.length && !options.task?.length)
      throw new InputError('usage', 'Name a plan, or one or more issues.', {
        hint: 'Or say what is to be done: signalbox run --task "Fix the typo in README"',
      });
    return runIssues(what, options, io);
  }
  if (rest.length === 0 && isSpec(resolve(io.cwd, first))) return runAsSpec(first, options, io);
  // Other plans may be many, or broken.
  const { settings, store, plan: known } = await openPlan(io, options, first);
  if (known === undefined) {
    trusted(settings);
    if (/\s/.test(first.trim()) && !existsSync(resolve(io.cwd, first)))
      throw new InputError('usage', `${quoted(first)} is neither a plan nor an issue.`, {
        hint: `As a task: signalbox run --task ${shellWord(cleanLine(first))}`,
      });
    await refuseUnknown(first, () => store.view().plans, io);
    await closeIfFleet(store);
    return runIssues(what, options, io);
  }
  if (/^#?\d+$/.test(first) || existsSync(resolve(io.cwd, first)))
    throw new InputError(
      'usage',
      `"${first}" is a plan and could be an issue. Use --plan ${first}, or ${/^\d+$/.test(first) ? `'#${first}'` : `./${first}`}.`,
    );
  await closeIfFleet(store);
  const asked = planOptions(first, options, isFleet);
  const isPlain = asked.concurrency === undefined && !asked.agent && !asked.verbose && !asked.dryRun;
  // An issue run continues as it began, unless other options are given.
  if (known?.kind === 'run' && known.status === 'active' && isPlain && rest.length === 0)
    return resumeIssues(first, asked, io);
  return runTickets(first, rest, asked, io);
}

/** What follows opens the store anew, and a command needs few connections to a database. */
async function closeIfFleet(store: Store): Promise<void> {
  if (store.fleet) await store.close();
}

/** Refuses a name that is neither a plan nor an issue, and shows the plans. */
async function refuseUnknown(text: string, plans: () => readonly { id: string }[], io: Io): Promise<void> {
  if (idProblem(text) !== undefined || /\.md$/i.test(text)) return;
  const { parseReference } = await import('../../issues/issue-references.ts');
  try {
    parseReference(text, { cwd: io.cwd });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const ids = plans().map(({ id }) => id);
    const near = nearest(text, ids);
    const file = ['', 'issues/', 'docs/issues/']
      .map((dir) => `${dir}${text}.md`)
      .find((path) => existsSync(resolve(io.cwd, path)));
    const said = `${quoted(text)} is neither a plan nor an issue reference.`;
    const other = file ? said : error.message.replace('is not an issue', 'is neither a plan nor an issue');
    const message = near === undefined ? other : `${said} Did you mean the plan ${quoted(near)}?`;
    const known = file ? `Did you mean: signalbox run ${shellWord(file)}` : namedPlans(ids);
    throw new InputError(error.code, message, { hint: `${known}\n${error.hint}`, cause: error });
  }
}

/** A directory with a task list is a spec, which has options of its own. */
function isSpec(path: string): boolean {
  return ['tasks.md', 'Tasks.md', 'TASKS.md'].some((name) => existsSync(join(path, name)));
}

async function runAsSpec(dir: string, options: IssueOptions, io: Io): Promise<void> {
  const other = otherThan([...FOR_PLANS, 'detach', 'dryRun', 'base'], options);
  if (other)
    throw new InputError('usage', `${flagOfOption(other)} is for runs of issues; ${dir} is a spec.`, {
      hint: `See: signalbox spec --help`,
    });
  const { agent, base, ...rest } = options;
  const { runSpec } = await import('./run-spec.ts');
  const more = { ...(agent ? { backend: agent } : {}), ...(base ? { base } : {}) };
  return runSpec(dir, { ...(rest as GlobalOptions), ...more }, {}, io);
}

const FOR_PLANS = ['agent', 'baseCheck', 'verbose', 'plain', 'json', 'config', 'debug'];

/** The first option that is given although it is none of these. */
function otherThan(known: readonly string[], options: IssueOptions): string | undefined {
  return Object.entries(options).find(([key, value]) => !known.includes(key) && value !== undefined)?.[0];
}

/** The file of a plan decides the rest, so any other option is refused. */
function planOptions(planId: string, options: IssueOptions, isFleet: boolean): IssueOptions {
  if (options.task?.length)
    throw new InputError('usage', `Tasks are runs of their own; "${planId}" is a plan.`, {
      hint: `Add a ticket to the plan: signalbox plan add ${planId} <ticket> --title ${shellWord(cleanLine(options.task[0] ?? ''))}`,
    });
  const other = otherThan([...FOR_PLANS, 'concurrency', 'dryRun'], options);
  if (other === 'detach' && isFleet)
    throw new InputError(
      'usage',
      '--detach is for runs of issues; the workers of the fleet run all active plans already.',
      { hint: `Watch it with: signalbox status --plan ${planId}` },
    );
  if (other === 'detach')
    throw new InputError('usage', '--detach is for runs of issues; a daemon runs all active plans.', {
      hint: 'Start one with: signalbox daemon --detach',
    });
  if (other)
    throw new InputError(
      'usage',
      `${flagOfOption(other)} is for runs of issues; for a plan, set it in plan.json.`,
    );
  return options;
}

async function runTickets(planId: string, ticketIds: string[], options: IssueOptions, io: Io): Promise<void> {
  const flags = {
    ...(options.agent ? { defaultAgent: options.agent } : {}),
    ...(options.concurrency === undefined ? {} : { maxConcurrency: options.concurrency }),
    ...baseCheckFlag(options),
  };
  if (options.dryRun) return previewTickets(planId, ticketIds, { ...options, flags }, io);
  const view = await eventView(io, { ...options, withPlan: false });
  const scope = { planId, ...(ticketIds.length > 0 ? { ticketIds } : {}) };
  // The header comes with the first event: before it, the run may be refused.
  let begun = !view.live;
  const listen = (event: EngineEvent) => {
    if (!begun) view.out(planHeader(engine.store.glance(), scope, io.style));
    begun = true;
    view.listen(event);
  };
  io.keepHeapSmall();
  const engine = await openRunner(io, options, 'run', { flags, listen });
  view.watch(engine, scope);
  const { runPlan } = await import('../../engine/run-plan.ts');
  const began = performance.now();
  const { stateDir } = engine.settings;
  await untilStopped(io, { view, what: 'the agents', stateDir }, async (signal) => {
    const limits = limitsOf(engine.settings);
    let result = await runPlan(engine, { ...scope, ...limits, signal });
    while (await view.answered(signal))
      result = await runPlan(engine, { ...scope, ...limits, signal, isReady: true });
    view.close();
    const { plan, problems, ok } = result;
    const tickets = await ticketsAsGitHasThem(plan, result.tickets, engine.workspaces);
    const [ms, stopped] = [performance.now() - began, signal.aborted];
    if (options.json)
      io.out(
        safeJson({
          type: 'result',
          ok,
          stopped,
          planId,
          plan: plan.status,
          problems,
          tickets: result.tickets,
        }),
      );
    else io.out(summary({ ...result, tickets, ms, stopped }, io.style, io.columns?.()));
    await (await import('./stats-and-report.ts')).reportAtEnd(io, { ...options, engine }, planId);
    io.exit(stopped ? signalCode(signal.reason) : ok ? 0 : 1);
  });
}

/** What `run` would do with a plan, or with some of its tickets. Refuses what `run` refuses. */
async function previewTickets(
  planId: string,
  ticketIds: string[],
  { flags, ...options }: GlobalOptions & { flags: Record<string, unknown> },
  io: Io,
): Promise<void> {
  const engine = await openRunner(io, options, 'run', { flags });
  const [{ checkRunnable }, { forecast }, { workspaceFor }, { dryRunLines, forecastLines }] =
    await Promise.all([
      import('../../engine/run-plan.ts'),
      import('../../features/preflight/find-start-problems-and-forecast.ts'),
      import('../../engine/work-out-workspace-and-repository.ts'),
      import('../../report/issue-runs/summary-and-dry-run.ts'),
    ]);
  const { store, settings } = engine;
  const named = ticketIds.length > 0 ? ticketIds : undefined;
  checkRunnable(engine, planId, named);
  const plan = store.plan(planId);
  const tickets = store.tickets(plan).filter(({ ticketId }) => named?.includes(ticketId) !== false);
  const ahead = await forecast(engine, { plan, tickets: startableTickets(tickets) });
  const planned = tickets.map((ticket) => {
    const { branch, path } = workspaceFor(ticket, plan, settings, store.glance());
    const after = (entryOf(plan, ticket)?.blockedBy ?? []).map(String);
    return {
      issue: ticket.ticketId,
      issueNumber: 0,
      title: ticket.title,
      done: ticket.status === 'complete',
      phases: ahead.phases[ticket.ticketId] ?? [],
      after,
      afterNames: after,
      batch: null,
      branch,
      worktree: path,
    };
  });
  if (options.json) return outJson(io, { dryRun: planned, planId, forecast: ahead });
  outWrapped(io, [...dryRunLines(planned, []), ...forecastLines(ahead)]);
}

interface IssueOptions extends GlobalOptions, RunOptions {
  plain?: boolean;
  baseCheck?: boolean | undefined;
  debug?: boolean;
}

/** Runs issues, files or tracker keys: the same call that a library user makes, with output. */
async function runIssues(what: readonly string[], given: IssueOptions, io: Io): Promise<void> {
  const { config, json, debug: _debug, plain, baseCheck, store, ...options } = given;
  const globals = {
    ...(config ? { config } : {}),
    ...(json ? { json } : {}),
    ...(plain ? { plain } : {}),
    ...(store ? { store } : {}),
  };
  const settings = await openSettings(io, globals, baseCheckFlag({ baseCheck }));
  trusted(settings);
  const { task } = options;
  if (task) options.task = tasksOf(task, io);
  const { RunOrchestrator } = await import('../../api/run-orchestrator.ts');
  const { verbose = false, quiet = false, detach = false } = options;
  const view = { ...globals, verbose, quiet, detach };
  await watched(io, settings, view, (init) => RunOrchestrator.run({ ...init, options, named: 'flag' }, what));
}

/** Standard input can be read once. */
function tasksOf(texts: readonly string[], io: Io): string[] {
  if (texts.filter((text) => text === '-').length > 1)
    throw new InputError('usage', '--task - is given twice; standard input is one task.');
  if (texts.includes('-') && io.stdin.isTTY()) io.err('Type the task, then press Ctrl-D.');
  return texts.map((text) => (text === '-' ? readStandardInput(io) : text));
}

/** Continues an issue run with its own mode and output. */
export async function resumeIssues(planId: string, globals: OptionsOf<'resume'>, io: Io): Promise<void> {
  const settings = await openSettings(io, globals);
  trusted(settings);
  const [{ RunOrchestrator }, store] = await Promise.all([
    import('../../api/run-orchestrator.ts'),
    openLiveStore(io, globals, settings),
  ]);
  const config = storedRun(store.plan(planId))?.config;
  await closeIfFleet(store);
  const view = { ...globals, verbose: config?.verbose ?? false, quiet: config?.quiet ?? false };
  await watched(io, settings, view, (init) => RunOrchestrator.resume(init, planId));
}

interface ViewOptions extends GlobalOptions {
  plain?: boolean;
  verbose: boolean;
  quiet: boolean;
  detach?: boolean;
}

/** Shows a run and its result, and sets the exit code. */
async function watched(
  io: Io,
  settings: Settings,
  options: ViewOptions,
  work: (init: ResumeInit) => Promise<RunResult>,
): Promise<void> {
  const { json = false, plain = false, verbose } = options;
  const quiet = options.quiet || options.detach === true;
  const [{ runOutput }, store] = await Promise.all([
    import('../../report/issue-runs/summary-and-dry-run.ts'),
    openLiveStore(io, options, settings),
  ]);
  let planId = '';
  const called = (ticketId: string) => {
    const ticket = readableTicket(store, { planId, ticketId });
    return ticket && issueName(ticket);
  };
  const view = await eventView(io, {
    json,
    plain,
    quiet: options.quiet,
    verbose,
    withPlan: false,
    called,
    silent: true,
  });
  const { live, out } = view;
  const lines = runOutput({ store, out, live, verbose, quiet, style: io.style, columns: io.columns });
  const listen = (event: EngineEvent) => {
    const isFirst = event.type === 'plan:status' && planId === '';
    if (isFirst) {
      planId = event.planId;
      view.watch({ store, settings, now: () => new Date().toISOString() }, { planId });
    }
    if (json) return view.listen(event);
    if (live && !quiet && isFirst) out(runHeader(store, planId, io.style));
    else if (live && !quiet) view.listen(event);
    lines.listen(event);
  };
  const closing = {
    err: view.err,
    close() {
      lines.close();
      view.close();
    },
  };
  const { stateDir } = settings;
  await untilStopped(io, { view: closing, what: 'the agents', stateDir }, async (signal) => {
    const { cwd, env } = io;
    const own = { settings, cwd, env, signal, onEvent: listen, door: 'cli' as const };
    const init = { ...own, ...(store.fleet ? { store } : {}) };
    let result = await work(init);
    while (await view.answered(signal)) {
      const { RunOrchestrator } = await import('../../api/run-orchestrator.ts');
      result = await RunOrchestrator.resume(init, planId);
    }
    closing.close();
    io.exit(result.exitCode === 130 ? signalCode(signal.reason) : result.exitCode);
    // Stopped while issues were still being read: there is no run to show.
    if (signal.aborted && result.planId === null && !json) return io.err('Stopped before anything started.');
    const run = result.detached ? result.planId : null;
    const { fleet } = store;
    const left = run === null ? undefined : await continueInBackground(io, options, run, { fleet });
    if (json) io.out(resultLine(result, left?.daemon));
    else if (left) io.out(left.text);
    else lines.end(result);
    if (result.planId === null || result.detached || result.dryRun) return;
    await closeIfFleet(store);
    await (await import('./stats-and-report.ts')).reportAtEnd(io, options, result.planId);
  });
}

function resultLine(result: RunResult, daemon: number | null = null): string {
  const { planId, detached, results, logPath, exitCode, config, wallClockDurationSeconds } = result;
  const { dryRun, forecast, cancelled } = result;
  const facts = { planId, exitCode, logPath, wallClockDurationSeconds, config, results };
  const more = {
    ...(dryRun ? { dryRun, forecast } : {}),
    ...(detached ? { detached, daemon } : {}),
    ...(cancelled ? { cancelled } : {}),
  };
  return safeJson({ type: 'result', ok: exitCode === 0, ...facts, ...more });
}
