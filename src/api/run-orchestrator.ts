import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryOf } from '../config/find-config-and-state.ts';
import { readManifest } from '../config/read-or-detect-project-manifest.ts';
import { requireReady, startableTickets } from '../engine/require-preflight-or-hold-plan.ts';
import { checkLogPlace, openRunLog } from '../features/issue-runs/logs/rewrite-run-log.ts';
import { checkMerged, parseBatches } from '../features/issue-runs/options/check-options-and-parse-batches.ts';
import {
  buildExecutionConfig,
  checkExecutionConfig,
} from '../features/issue-runs/options/execution-config-and-workflow-changes.ts';
import { completeOptions } from '../features/issue-runs/options/resolve-options.ts';
import { ignoringErrors, type PhasePlanCallback } from '../features/issue-runs/progress-callbacks.ts';
import type {
  IssueResult,
  ManifestOfRun,
  MergedRunOptions,
  RunOptions,
  RunResult,
} from '../features/issue-runs/request-and-result-types.ts';
import { runSeconds } from '../features/issue-runs/results/issue-result.ts';
import {
  numberOf,
  secondsSpentOn,
  storedRun,
} from '../features/issue-runs/results/stored-run-time-and-issue-names.ts';
import { claimAndResumeRun } from '../features/issue-runs/resume-run-and-handle-newer-runs.ts';
import { numberedItem } from '../issues/issues-and-tasks-from-caller.ts';
import { InputError } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import type { ExecutionConfig } from '../model/plan-schema.ts';
import { whyNotMerged } from '../model/verdict-criteria-and-missing-checks.ts';
import { runOutput } from '../report/issue-runs/summary-and-dry-run.ts';
import { printable } from '../report/printable-text.ts';
import { style } from '../report/style-and-phrases.ts';
import { openStore } from '../store/open-file-store-with-schemas.ts';
import { type Course, driveRun, EventStream, type Opened, openRun } from './drive-run-and-send-events.ts';
import { openEngine } from './open-engine-with-features.ts';
import type { OrchestratorConfig, RunSurroundings } from './orchestrator-arguments.ts';
import {
  checkCall,
  checkInfos,
  checkManifest,
  checkNumbers,
  checkResume,
  checkSettings,
  checkSignal,
  groupsOf,
  resolveRunOptions,
  surroundingsOf,
  withBaseAndSignals,
} from './orchestrator-arguments.ts';
import { forgetRun, type RunInput, runIssues } from './run-issues.ts';
import { getSettings, type SignalboxSettings } from './settings.ts';

/** What resuming a run needs; its options are stored. */
export interface ResumeInit extends RunSurroundings {
  settings: SignalboxSettings;
  /** Called with every line that the command line would print, without colours; may throw. Nothing is printed without it. */
  output?: (line: string) => void;
  /** Called once, before the first phase, with the run that has begun; may throw. */
  onOrchestratorReady?: (orchestrator: RunOrchestrator) => void;
}

export interface RunInit extends ResumeInit {
  options: RunOptions;
  /** The project's manifest, as `getManifest()` returns it; default: read from the project. */
  manifest?: ManifestOfRun;
  baseBranch?: string;
  /** Called once for each issue that is run, before its first phase, with the phases ahead when all goes well; may throw. */
  onPhasePlan?: PhasePlanCallback;
  /** How errors name an option: as a property, or as the flag it is on a command line. */
  named?: 'option' | 'flag';
}

/** Runs issues from code. Never prints, exits, changes directory or leaves a handler behind; failures are data. */
export class RunOrchestrator {
  readonly #config: OrchestratorConfig;
  readonly #events = new EventStream<EngineEvent>();
  /** Issues of calls of `execute` that are under way. */
  readonly #busy = new Set<number>();

  constructor(config: OrchestratorConfig) {
    if (!config?.config || !Array.isArray(config.config.phases) || config.config.phases.length === 0) {
      throw new InputError('run/config', 'RunOrchestrator needs a `config` with phases.', {
        hint: 'Make one with buildExecutionConfig().',
      });
    }
    checkExecutionConfig(config.config);
    checkInfos(config.issueInfoMap);
    surroundingsOf(config);
    checkSignal(config.signal);
    checkSignal(config.services?.shutdownManager?.signal, 'services.shutdownManager.signal');
    if (config.settings !== undefined) checkSettings(config.settings);
    if (config.settings?.untrusted) {
      throw new InputError('config/untrusted', `${config.settings.untrusted} is not trusted yet.`, {
        hint: 'Trust its directory once with: signalbox config trust',
      });
    }
    this.#config = withBaseAndSignals(config);
  }

  /** Everything that happens in this run, as it happens; ends with the run. */
  events(): AsyncIterable<EngineEvent> {
    return this.#events;
  }

  /** Runs issues whose titles and labels are known; others are read from where they are kept. */
  async execute(issueNumbers: readonly number[]): Promise<IssueResult[]> {
    checkNumbers(issueNumbers);
    const numbers = [...new Set(issueNumbers)];
    if (numbers.length === 0) return [];
    const busy = numbers.find((number) => this.#busy.has(number));
    if (busy !== undefined)
      throw new InputError('run/busy', `#${busy} is being executed already.`, {
        hint: 'Wait for the call of execute() that has it.',
      });
    for (const number of numbers) this.#busy.add(number);
    try {
      return await this.#execute(numbers);
    } finally {
      for (const number of numbers) this.#busy.delete(number);
    }
  }

  async #execute(issueNumbers: readonly number[]): Promise<IssueResult[]> {
    if (this.#config.config.detach)
      throw new InputError('run/config', 'A run of issues that are handed over cannot be left to a daemon.', {
        hint: 'Use RunOrchestrator.run, or leave detach out.',
      });
    const { cwd, env } = surroundingsOf(this.#config);
    const settings = this.#config.settings ?? (await getSettings({ cwd, env }));
    const { options, packageManager } = this.#config;
    const batches = groupsOf(this.#config, issueNumbers, settings);
    const found = readManifest(cwd);
    const own = this.#config.services?.stateManager;
    const stateDir = own?.stateDir ?? mkdtempSync(join(tmpdir(), 'signalbox-run-'));
    const kept = { settings: { ...settings, stateDir }, env };
    const known = issueNumbers.flatMap((number) => {
      const info = this.#config.issueInfoMap.get(number);
      // An issue without title and body gives an agent nothing to do.
      return info && `${info.title}${info.body ?? ''}`.trim() !== '' ? [numberedItem(number, info)] : [];
    });
    try {
      const run = await this.#run({
        ...kept,
        cwd,
        references: issueNumbers.map(String),
        batches,
        known,
        ...(options ? { options: completeOptions(options, settings) } : {}),
        manifest: checkManifest({ ...found, packageManager: packageManager ?? found.packageManager }),
        worktrees: this.#config.worktreeMap ?? new Map(),
        writer: this.#config.services?.logWriter ?? null,
      });
      return own ? run.results : run.results.map(withoutCommand);
    } finally {
      if (!own)
        await forgetRun(kept, (planId, message) =>
          this.#events.push({ type: 'problem', planId, ticketId: null, path: null, message }),
        );
      this.#events.close();
    }
  }

  /** Full lifecycle: settings, issues, workspaces, phases, log. `batches` wins over `options.batch`. */
  static async run(
    init: RunInit,
    issueArgs: readonly string[],
    batches?: readonly (readonly number[])[] | null,
  ): Promise<RunResult> {
    checkCall(init, issueArgs, batches);
    const { settings } = init;
    const { cwd, env } = surroundingsOf(init);
    const named = init.named ?? 'option';
    checkSettings(settings);
    checkSignal(init.signal);
    const mergedOptions = resolveRunOptions(init.options ?? {}, settings, { env, named });
    if (batches) checkMerged({ ...init.options, batch: batches.map((group) => group.join(',')) });
    const lists = batches?.map((group) => group.map(String)) ?? parseBatches(mergedOptions.batch ?? []);
    const groups = lists.length > 0 ? lists : null;
    const references = [...new Set([...issueArgs, ...(groups?.flat() ?? [])])];
    const tasks = mergedOptions.task ?? [];
    const count = references.length + tasks.length;
    if (count === 0)
      throw new InputError('run/empty', 'No issue was named.', {
        hint: 'For example: signalbox run 100 101',
      });
    const built = buildExecutionConfig(mergedOptions, settings, count);
    const config = init.baseBranch ? { ...built, base: init.baseBranch } : built;
    const { logJson, logPath, rotation } = mergedOptions;
    const log = logJson && !config.dryRun ? { path: logPath, rotation } : null;
    const manifest = checkManifest(init.manifest ?? readManifest(cwd));
    const work = { references, tasks, batches: groups };
    const input = { settings, cwd, env, ...work, log, options: mergedOptions, manifest };
    return RunOrchestrator.#runToResult(init, config, mergedOptions, (orchestrator) =>
      orchestrator.#run(input),
    );
  }

  /** Continues a run that was stopped or whose process is gone, with its own mode, options and log. */
  static async resume(init: ResumeInit, runId: string): Promise<RunResult> {
    checkResume(init, runId);
    const { settings } = init;
    const { env } = surroundingsOf(init);
    checkSettings(settings);
    checkSignal(init.signal);
    const engine = openEngine({ settings, env, by: 'run', store: init.store });
    const stored = storedRun(engine.store.plan(runId));
    const asked = stored?.options;
    const mergedOptions = asked
      ? { ...completeOptions({}, settings), ...asked }
      : resolveRunOptions({}, settings, { env });
    const kept = stored?.config ?? buildExecutionConfig(mergedOptions, settings, 1);
    const config = { ...kept, detach: false };
    return RunOrchestrator.#runToResult(init, config, mergedOptions, async (orchestrator) => {
      const open = orchestrator.#open({ settings, env });
      for (const ticket of engine.store.tickets(runId)) open.numbers.set(ticket.ticketId, numberOf(ticket));
      const plan = engine.store.plan(runId);
      const tickets = startableTickets(engine.store.tickets(plan));
      await requireReady(open.engine, { plan, tickets, signal: init.signal });
      const spentSeconds = secondsSpentOn(engine, runId);
      if (stored?.log) {
        checkLogPlace(stored.log, repositoryOf(engine.store.plan(runId).repo ?? '/') ?? '/');
        open.log = openRunLog(open.engine, { path: stored.log, planId: runId, config, spentSeconds });
      }
      const spentBefore = open.log?.spentSeconds ?? spentSeconds;
      await claimAndResumeRun(open.engine, runId);
      return {
        ...(await driveRun(open, { planId: runId, config, signal: init.signal, spentBefore })),
        spentBefore,
      };
    });
  }

  /** Creates the orchestrator, does `work` with it and adds exit code and duration to the result. */
  static async #runToResult(
    init: ResumeInit & Pick<RunInit, 'onPhasePlan'>,
    config: ExecutionConfig,
    mergedOptions: MergedRunOptions,
    work: (orchestrator: RunOrchestrator) => Promise<Course>,
  ): Promise<RunResult> {
    const { settings, signal, onProgress, onPhasePlan, onEvent, output } = init;
    const { verbose, quiet, detach } = config;
    // A callback that throws once still gets the next lines, the result last.
    const print = output && ignoringErrors(output);
    const shown =
      print &&
      runOutput({
        store: init.store ?? openStore(settings.stateDir),
        out: (lines) => {
          for (const line of [lines].flat()) print(printable(line));
        },
        verbose,
        quiet: quiet || detach,
        style: style(false),
      });
    const listen = (event: EngineEvent) => {
      shown?.listen(event);
      return onEvent?.(event);
    };
    const began = performance.now();
    const orchestrator = new RunOrchestrator({
      config,
      settings,
      ...surroundingsOf(init),
      issueInfoMap: new Map(),
      ...(signal ? { signal } : {}),
      ...(init.store ? { store: init.store } : {}),
      ...(init.door ? { door: init.door } : {}),
      ...(onProgress ? { onProgress } : {}),
      ...(onPhasePlan ? { onPhasePlan } : {}),
      onEvent: listen,
    });
    if (init.onOrchestratorReady) ignoringErrors(init.onOrchestratorReady)(orchestrator);
    try {
      const { spentBefore = 0, ...course } = await work(orchestrator);
      const failed = course.results.some(({ success, pending }) => !success && !pending);
      const result = {
        ...course,
        // A dry run has shown what would be done, unless that is nothing.
        exitCode: !failed || course.dryRun?.length ? 0 : signal?.aborted ? 130 : 1,
        config,
        mergedOptions,
        wallClockDurationSeconds: runSeconds(
          spentBefore + (performance.now() - began) / 1000,
          course.results,
        ),
      };
      shown?.end(result);
      return result;
    } finally {
      shown?.close();
      orchestrator.#events.close();
    }
  }

  #run(input: RunInput): Promise<Course> {
    return runIssues({ ...this.#config, open: (settings) => this.#open(settings) }, input);
  }

  #open(given: Pick<RunInput, 'settings' | 'env'>): Opened {
    return openRun(given, this.#config, this.#events);
  }
}

/** No command can continue a run whose state was temporary. */
function withoutCommand({ next, answers: _, notMerged, ...result }: IssueResult): IssueResult {
  return {
    ...result,
    ...(next === undefined || next.startsWith('signalbox ') ? {} : { next }),
    ...(notMerged === undefined ? {} : { notMerged: whyNotMerged(notMerged) }),
  };
}
