import { resolve } from 'node:path';
import { releasePlanClaim } from '../../engine/claim-and-complete-plan.ts';
import type { EngineContext } from '../../engine/context.ts';
import { requireReady, startableTickets } from '../../engine/require-preflight-or-hold-plan.ts';
import { runPlan } from '../../engine/run-plan.ts';
import { forecast } from '../../features/preflight/find-start-problems-and-forecast.ts';
import { noteOf, type PreparedSpec, prepareSpecRun } from '../../features/spec-runs/prepare-spec-run.ts';
import { type SpecRunRequest, updateSpecPlan } from '../../features/spec-runs/run-request-ticks-and-halt.ts';
import { keepSummary, specResult } from '../../features/spec-runs/spec-result.ts';
import { answerHalt, startSpecRun, takeSpec } from '../../features/spec-runs/start-or-resume-run.ts';
import type { UnitOptions } from '../../kiro/group-tasks-into-units.ts';
import { findExecutable } from '../../machine/find-and-probe-program.ts';
import { tmuxOff } from '../../machine/tmux/run-tmux.ts';
import { renamedText } from '../../machine/tmux/tmux-names-and-escapes.ts';
import type { EngineEvent } from '../../model/events.ts';
import { forecastLines } from '../../report/issue-runs/summary-and-dry-run.ts';
import { planHeader } from '../../report/plan-headers-and-summaries.ts';
import { safeJson } from '../../report/printable-text.ts';
import { specProblemText, specSummary, specText, summaryFacts } from '../../report/spec-text.ts';
import { openTmuxView, type TmuxView } from '../../report/tmux/tmux-view.ts';
import { baseCheckFlag, invalid, oneOf, positiveInteger } from '../check-option-values.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { type Io, outJson } from '../io.ts';
import { limitsOf, openRunner, openState, ownCommand } from '../open-settings-store-and-engine.ts';
import { type EventView, eventView, signalCode, untilStopped } from '../show-events-until-stopped.ts';
import { continueInBackground } from './daemon-and-tick.ts';

export type SpecRunOptions = OptionsOf<'spec'>;

export async function runSpec(
  dir: string,
  options: SpecRunOptions,
  units: UnitOptions,
  io: Io,
): Promise<void> {
  const request = requestOf(dir, options, units, io);
  const view = await eventView(io, { ...options, withPlan: false });
  const { engine, windows } = await openWithWindows(view, options, io);
  const prepared = await prepareSpecRun(engine, request);
  if (options.dryRun) return preview(engine, prepared, options, io);
  for (const note of prepared.notes) view.err(note);
  const { plan, tickets } = prepared.prepared;
  const left = tickets.filter(({ status }) => status !== 'complete');
  const stopped = await untilStopped(
    io,
    {
      view: { err: view.err, close: () => undefined },
      what: 'the checks',
      stateDir: engine.settings.stateDir,
    },
    async (signal) => {
      const isDetached = options.detach === true;
      await requireReady(engine, { plan, tickets: left, pinned: prepared.pinned, isDetached, signal });
      return signal.aborted ? signalCode(signal.reason) : null;
    },
  );
  if (stopped !== null) {
    view.close();
    return io.exit(stopped);
  }
  const planId = await startSpecRun(engine, request, prepared);
  // `resume` shows the run in the same way.
  const shown = { tmux: options.tmux !== false, session: options.tmuxSession ?? null };
  await updateSpecPlan(engine, planId, (latest) => ({ ...latest, shown }));
  if (options.detach) return detach(engine, planId, prepared.spec.name, options, io);
  await follow(engine, planId, { view, windows: windows(prepared.spec.name, planId) }, options, io);
}

/** An engine whose events go to the view, and to tmux windows once they are asked for. */
async function openWithWindows(view: EventView, options: SpecRunOptions, io: Io) {
  let tmux: TmuxView | undefined;
  const listen = (event: EngineEvent) => {
    if (!options.detach) view.listen(event);
    tmux?.listen(event);
  };
  const engine = await openRunner(io, options, 'spec', { listen, flags: baseCheckFlag(options) });
  const { stateDir, configFile } = engine.settings;
  const windows = (name: string, planId: string): TmuxView | undefined => {
    // The output of agents on other machines is shown by `logs`.
    if (options.tmux === false || engine.store.fleet) return undefined;
    const renamed = renamedText(options.tmuxSession ?? '');
    const isShown = !tmuxOff(io.env) && findExecutable('tmux', io.env);
    if (options.tmuxSession && renamed && isShown) view.err(`tmux: ${renamed}`);
    tmux = openTmuxView({
      session: sessionOf(options, name),
      stateDir,
      repo: engine.store.plan(planId).repo,
      cwd: io.cwd,
      env: { ...io.env, ...(configFile ? { SIGNALBOX_CONFIG: configFile } : {}) },
      cli: ownCommand(),
      onProblem: (message) => view.err(`tmux: ${message}`),
    });
    if (tmux.off) view.err(tmux.off);
    else if (!options.json && findExecutable('tmux', io.env)) view.out(`Windows: signalbox attach ${planId}`);
    return tmux;
  };
  return { engine, windows };
}

function sessionOf({ tmuxSession }: SpecRunOptions, name: string): string {
  return tmuxSession ?? `sequential-${name}`;
}

/** Runs a spec's plan, which this process holds, and prints the result. */
async function follow(
  engine: EngineContext,
  planId: string,
  { view, windows }: { view: EventView; windows: TmuxView | undefined },
  options: SpecRunOptions,
  io: Io,
): Promise<void> {
  view.watch(engine, { planId });
  if (view.live) view.out(planHeader(engine.store.glance(), { planId }, io.style));
  io.keepHeapSmall();
  const isAtWork = () => engine.store.tickets(planId).some((each) => each.status === 'running');
  const what = () => (isAtWork() ? 'the agent' : 'the run');
  const since = engine.now();
  const began = performance.now();
  await untilStopped(io, { view, what, stateDir: engine.settings.stateDir }, async (signal) => {
    const run = () => runPlan(engine, { planId, ...limitsOf(engine.settings), signal, isReady: true });
    await run();
    while (await view.answered(signal)) {
      await takeSpec(engine, planId);
      await run();
    }
    const result = await specResult(engine, planId, { since, ms: performance.now() - began });
    await Promise.all([keepSummary(engine, result, summaryFacts(result)), windows?.close()]);
    view.close();
    const exitCode = signal.aborted ? signalCode(signal.reason) : result.exitCode;
    io.exit(exitCode);
    if (options.json) {
      const { plan, tickets, refused, ...facts } = result;
      const line = { type: 'result', ok: exitCode === 0, planId, plan: plan.status, ...facts, exitCode };
      io.out(safeJson({ ...line, tickets }));
    } else io.out(specSummary(result, io.style, io.columns?.()));
    await (await import('./stats-and-report.ts')).reportAtEnd(io, { ...options, engine }, planId);
  });
}

/** Continues a spec run here, with an answer to what it asked. */
export async function resumeSpec(
  planId: string,
  given: SpecRunOptions & OptionsOf<'resume'>,
  io: Io,
): Promise<void> {
  const { shown } = (await openState(io, given, (state) => state.plan(planId))).view;
  const options = {
    ...given,
    tmux: given.tmux !== false && shown?.tmux !== false,
    ...(shown?.session ? { tmuxSession: shown.session } : {}),
  };
  const view = await eventView(io, { ...options, withPlan: false });
  const { engine, windows } = await openWithWindows(view, options, io);
  const plan = engine.store.plan(planId);
  await requireReady(engine, { plan, tickets: startableTickets(engine.store.tickets(plan)) });
  if (options.answer !== undefined) await answerHalt(engine, planId, options.answer);
  const { name } = await takeSpec(engine, planId);
  await follow(engine, planId, { view, windows: windows(name, planId) }, options, io);
}

async function detach(
  engine: EngineContext,
  planId: string,
  name: string,
  options: SpecRunOptions,
  io: Io,
): Promise<void> {
  const { TMUX, TMUX_TMPDIR } = io.env;
  const session = sessionOf(options, name);
  const { fleet } = engine.store;
  const shown = options.tmux !== false && !tmuxOff(io.env) && !fleet;
  const renamed = renamedText(session);
  if (shown && options.tmuxSession && renamed) io.err(`tmux: ${renamed}`);
  const windows = shown ? { session, cwd: io.cwd, env: { TMUX, TMUX_TMPDIR } } : null;
  const skipped = engine.settings.baseCheck === 'off' ? { baseCheck: false } : {};
  await updateSpecPlan(engine, planId, (latest) => ({
    ...latest,
    windows,
    run: { detached: true },
    ...skipped,
  }));
  await releasePlanClaim(engine, planId);
  await engine.flush(planId);
  const watch = windows ? 'attach' : 'status --plan';
  const left = await continueInBackground(io, options, planId, { fleet, watch, leastCode: 5 });
  if (!left) return;
  const { daemon, text } = left;
  io.out(options.json ? safeJson({ type: 'result', ok: true, planId, detached: true, daemon }) : text);
}

/** Shows what would be done. */
async function preview(
  engine: EngineContext,
  { pinned, spec, units, problems, prepared, notes }: PreparedSpec,
  options: SpecRunOptions,
  io: Io,
) {
  const { plan, tickets } = prepared;
  const ahead = await forecast(engine, { plan, tickets: startableTickets(tickets), pinned });
  if (options.json) {
    const rows = tickets.map(({ ticketId, title, status }) => ({ ticketId, title, status }));
    const branch = tickets[0]?.branch ?? null;
    return outJson(io, { dryRun: true, planId: plan.id, branch, units: rows, problems, forecast: ahead });
  }
  const textOptions = { colors: io.style, cwd: io.cwd };
  io.out(specText({ spec, units }, textOptions));
  for (const problem of problems) io.out(specProblemText(problem, textOptions));
  const shown = new Set(problems.map(noteOf));
  for (const note of notes) if (!shown.has(note)) io.out(note);
  const left = tickets.filter((ticket) => ticket.status !== 'complete').length;
  const branch = tickets[0]?.branch ?? '?';
  io.out(['', `Would run ${left} of ${tickets.length} units as plan ${plan.id}, on branch ${branch}.`]);
  io.out(forecastLines(ahead));
}

function requestOf(dir: string, options: SpecRunOptions, units: UnitOptions, io: Io): SpecRunRequest {
  const delay = Number(options.delay ?? 15);
  if (!Number.isFinite(delay) || delay < 0 || delay > 86_400 || options.delay?.trim() === '')
    throw invalid('--delay', options.delay, 'Must be seconds, from 0 to 86400, which is a day.');
  const maxAttempts = positiveInteger('--max-attempts', options.maxAttempts) ?? 3;
  if (maxAttempts > 20) throw invalid('--max-attempts', maxAttempts, 'At most 20.');
  return {
    dir: resolve(io.cwd, dir),
    workdir: options.workdir === undefined ? null : resolve(io.cwd, options.workdir),
    cwd: io.cwd,
    units,
    backend: options.backend ?? null,
    assignBackend: options.assignBackend ?? null,
    base: options.base ?? null,
    delaySeconds: delay,
    maxIterations: positiveInteger('--max-iterations', options.maxIterations) ?? 50,
    maxAttempts,
    timeoutSeconds: positiveInteger('--timeout', options.timeout) ?? null,
    stopOnFailure: oneOf('--on-failure', options.onFailure ?? 'stop', ['stop', 'continue']) === 'stop',
    inPlace: options.inPlace === true,
    fresh: options.fresh === true,
    assignAll: oneOf('--assign', options.assign ?? 'each', ['each', 'all']) === 'all',
  };
}
