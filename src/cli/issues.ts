import type { IssueResult } from '../api/issue-result.ts';
import type { RunOptions } from '../api/run-options.ts';
import type { RunResult } from '../api/run-orchestrator.ts';
import type { EngineEvent } from '../model/events.ts';
import type { Io } from './io.ts';
import { type GlobalOptions, openSettings, trusted } from './open.ts';
import { eventView, goOnUnread, signalCode, stopOnSignals } from './show-events.ts';

export interface IssueOptions extends GlobalOptions, RunOptions {
  plain?: boolean;
}

/** Runs issues, files or tracker keys: the same call that a library user makes, with a view on it. */
export async function runIssues(what: readonly string[], given: IssueOptions, io: Io): Promise<void> {
  const {
    config: configPath,
    json,
    debug: _debug,
    plain,
    ...options
  } = given as IssueOptions & { debug?: boolean };
  const settings = await openSettings(io, { ...(configPath ? { config: configPath } : {}) });
  trusted(settings);
  const [{ RunOrchestrator }, { RunLines }] = await Promise.all([
    import('../api/run-orchestrator.ts'),
    import('../report/run-lines.ts'),
  ]);
  const { reasonOf } = await import('../api/issue-result.ts');
  const { FileStore } = await import('../store/file-store.ts');
  const store = new FileStore(settings.stateDir);
  const view = await eventView(io, {
    ...(json ? { json } : {}),
    ...(plain ? { plain } : {}),
    verbose: options.verbose === true,
    withPlan: false,
  });
  io.onUnread = goOnUnread;
  const live = io.tty && !json && !plain && io.env.TERM !== 'dumb';
  let planId = '';
  const ticketOf = (id: string) => store.view().tickets.get(`${planId}/${id}`);
  const lines = new RunLines({
    out: io.out,
    clock: () => performance.now(),
    verbose: options.verbose === true,
    nameOf: (id) => ((ticketOf(id)?.source as { number?: number } | undefined)?.number ? `#${id}` : id),
    reasonOf: (id) => {
      const ticket = ticketOf(id);
      return ticket ? reasonOf(ticket) : '';
    },
  });
  const listen = (event: EngineEvent) => {
    if (event.type === 'plan:status' && planId === '') {
      planId = event.planId;
      view.watch(store, { planId });
      if (!live && !json && !options.quiet)
        lines.begin(store.plan(planId).tickets.map((entry) => entry.ticketId));
      return;
    }
    // Quiet shows the result alone; who asked for JSON reads all of it.
    if (options.quiet && !json) return;
    if (live || json) view.listen(event);
    else lines.listen(event);
  };
  const abort = new AbortController();
  const unhook = stopOnSignals(view, abort, 'the agents');
  try {
    const result = await RunOrchestrator.run(
      { options, settings, cwd: io.cwd, env: io.env, signal: abort.signal, onEvent: listen, named: 'flag' },
      what,
    );
    lines.close();
    view.close();
    if (json) io.out(JSON.stringify(resultLine(result)));
    else await show(result, io);
    io.exit(abort.signal.aborted ? signalCode(abort.signal.reason) : result.exitCode);
  } finally {
    lines.close();
    view.close();
    unhook();
  }
}

function resultLine(result: RunResult) {
  const { results, logPath, exitCode, planId, config, wallClockDurationSeconds, dryRun } = result;
  return {
    type: 'result',
    ok: exitCode === 0,
    planId,
    exitCode,
    logPath,
    wallClockDurationSeconds,
    config,
    results,
    ...(dryRun ? { dryRun } : {}),
  };
}

async function show(result: RunResult, io: Io): Promise<void> {
  const [{ table }, { style, usageText, oneLine }, { wholeSeconds }] = await Promise.all([
    import('../report/table.ts'),
    import('../report/style.ts'),
    import('../report/run-lines.ts'),
  ]);
  const look = style(io.color);
  for (const each of result.dryRun ?? []) {
    io.out(
      `Would run ${each.issue}: ${each.phases.join(' → ')}${each.after.length > 0 ? ` (after ${each.after.join(', ')})` : ''}`,
    );
  }
  const name = (issue: IssueResult) => (issue.issueNumber ? `#${issue.issueNumber}` : issue.id);
  const rows = result.results.map((issue) => [
    issue.success ? look.green('✓') : look.red('✗'),
    name(issue),
    issue.skipped ? 'done before' : wholeSeconds(issue.durationSeconds * 1000),
    issue.branch ?? '',
    issue.prUrl ?? '',
    usageText(issue.usage),
    issue.success ? '' : oneLine(issue.abortReason ?? '', 100),
  ]);
  if (rows.length > 0)
    io.out(`\n${table(['', 'issue', 'time', 'branch', 'pull request', 'usage', 'why'], rows, look)}\n`);
  const failed = result.results.filter((issue) => !issue.success);
  const passed = result.results.length - failed.length;
  if (!result.dryRun)
    io.out(
      look.bold(
        `${passed} passed, ${failed.length} failed · ${wholeSeconds(result.wallClockDurationSeconds * 1000)}`,
      ),
    );
  for (const issue of failed) {
    if (result.planId && issue.branch)
      io.out(
        `${name(issue)}: see signalbox logs ${result.planId} ${issue.id}; go on with signalbox retry ${result.planId} ${issue.id} && signalbox run ${result.planId}`,
      );
  }
  if (result.logPath) io.out(look.dim(`Log: ${result.logPath}`));
}
