import type { ResumeInit } from '../../api/run-orchestrator.ts';
import type { Settings } from '../../config/settings.ts';
import type { RunOptions } from '../../features/issue-runs/options/types.ts';
import { storedRun } from '../../features/issue-runs/results/stored-run.ts';
import { issueName } from '../../features/issue-runs/results/ticket-facts.ts';
import type { RunResult } from '../../features/issue-runs/types.ts';
import type { EngineEvent } from '../../model/events.ts';
import { ticketOf } from '../../model/plans/view.ts';
import { runHeader } from '../../report/header.ts';
import { style } from '../../report/style.ts';
import { eventView, signalCode, untilStopped } from '../event-view.ts';
import type { Io } from '../io.ts';
import { type GlobalOptions, openSettings, trusted } from '../open.ts';
import { handedOver, handOver } from './daemon.ts';

export interface IssueOptions extends GlobalOptions, RunOptions {
  plain?: boolean;
}

/** Runs issues, files or tracker keys: the same call that a library user makes, with a view on it. */
export async function runIssues(what: readonly string[], given: IssueOptions, io: Io): Promise<void> {
  const { config, json, debug: _debug, plain, ...options } = given as IssueOptions & { debug?: boolean };
  const globals = { ...(config ? { config } : {}), ...(json ? { json } : {}), ...(plain ? { plain } : {}) };
  const settings = await openSettings(io, globals);
  trusted(settings);
  const { RunOrchestrator } = await import('../../api/run-orchestrator.ts');
  const { verbose = false, quiet = options.detach ?? false } = options;
  const view = { ...globals, verbose, quiet };
  await watched(io, settings, view, (init) => RunOrchestrator.run({ ...init, options, named: 'flag' }, what));
}

/** Continues an issue run with its own mode and output. */
export async function resumeIssues(
  planId: string,
  globals: GlobalOptions & { plain?: boolean },
  io: Io,
): Promise<void> {
  const settings = await openSettings(io, globals);
  trusted(settings);
  const [{ RunOrchestrator }, { openStore }] = await Promise.all([
    import('../../api/run-orchestrator.ts'),
    import('../../store/open.ts'),
  ]);
  const config = storedRun(openStore(settings.stateDir).plan(planId))?.config;
  const view = { ...globals, verbose: config?.verbose ?? false, quiet: config?.quiet ?? false };
  await watched(io, settings, view, (init) => RunOrchestrator.resume(init, planId));
}

interface ViewOptions extends GlobalOptions {
  plain?: boolean;
  verbose: boolean;
  quiet: boolean;
}

/** Shows a run and its result, and sets the exit code. */
async function watched(
  io: Io,
  settings: Settings,
  options: ViewOptions,
  work: (init: ResumeInit) => Promise<RunResult>,
): Promise<void> {
  const { json = false, plain = false, quiet, verbose } = options;
  const [{ issueLines }, { openStore }] = await Promise.all([
    import('../../report/issue-runs/output.ts'),
    import('../../store/open.ts'),
  ]);
  const store = openStore(settings.stateDir);
  let planId = '';
  const called = (ticketId: string) => {
    const ticket = ticketOf(store.view(), { planId, ticketId });
    return ticket && issueName(ticket);
  };
  const view = await eventView(io, { json, plain, verbose, withPlan: false, called });
  const lines = issueLines({ store, out: io.out, verbose });
  const listen = (event: EngineEvent) => {
    if (event.type === 'plan:status' && planId === '') {
      planId = event.planId;
      view.watch(store, { planId });
      if (json) view.listen(event);
      else if (view.live && !quiet) view.out(runHeader(store, planId, style(io.color)).join('\n'));
      else if (!quiet) lines.begin(planId);
      return;
    }
    if (quiet && !json) return;
    if (view.live || json) view.listen(event);
    else lines.listen(event);
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
    const result = await work({ settings, cwd, env, signal, onEvent: listen });
    closing.close();
    io.exit(result.exitCode === 130 ? signalCode(signal.reason) : result.exitCode);
    // Stopped while issues were still being read: there is no run to show.
    if (signal.aborted && result.planId === null && !json) io.err('Stopped. Nothing was begun.');
    else await show(result, options, io);
  });
}

async function show(result: RunResult, options: ViewOptions, io: Io): Promise<void> {
  const { planId, detached } = result;
  const daemon = detached && planId ? await handOver(planId, options, io) : undefined;
  if (options.json) {
    const { results, logPath, exitCode, config, wallClockDurationSeconds, dryRun } = result;
    const facts = { planId, exitCode, logPath, wallClockDurationSeconds, config, results };
    const more = { ...(dryRun ? { dryRun } : {}), ...(detached ? { detached, daemon: daemon ?? null } : {}) };
    return io.out(JSON.stringify({ type: 'result', ok: exitCode === 0, ...facts, ...more }));
  }
  if (detached) {
    if (daemon !== undefined) io.out(handedOver(daemon, planId, 'status --plan'));
    return;
  }
  const { issueSummary, dryRunLines } = await import('../../report/issue-runs/summary.ts');
  const text = result.dryRun
    ? dryRunLines(result.dryRun, result.results)
    : issueSummary(result, style(io.color), io.columns?.());
  if (text.length > 0) io.out(text.join('\n'));
}
