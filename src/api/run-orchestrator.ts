import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readManifest } from '../config/manifest.ts';
import type { Env } from '../config/paths.ts';
import type { Settings } from '../config/settings.ts';
import { runPlan } from '../engine/foreground.ts';
import { type PreparedRun, prepareIssueRun, startIssueRun } from '../engine/issue-run.ts';
import { openParts } from '../engine/open.ts';
import type { Parts } from '../engine/parts.ts';
import { letGo, takeRun } from '../engine/resume-run.ts';
import { stopperOf } from '../engine/stopped.ts';
import { InputError, messageOf } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { refKey } from '../model/ids.ts';
import { parseReference, type WorkItem } from '../sources/index.ts';
import { parseBatches } from './batches.ts';
import { checkCombination } from './combinations.ts';
import { EventStream } from './event-stream.ts';
import { buildExecutionConfig, checkExecutionConfig, type ExecutionConfig } from './execution-config.ts';
import { checkCall, checkManifest, checkNumbers, groupsOf, settled } from './given.ts';
import { harmless } from './harmless.ts';
import { issueRequest } from './issue-request.ts';
import { type IssueResult, issueResult, refusedResult, stoppedResult } from './issue-result.ts';
import { checkLogPlace } from './log-place.ts';
import { preview } from './preview.ts';
import { progressFeed, tellPhases } from './progress.ts';
import { infoOf, inWorktree, itemOf, numberOf, worktreesOf } from './run-items.ts';
import { openRunLog, type RunLogWriter, rotateLogs } from './run-log.ts';
import { completeOptions, type MergedRunOptions, resolveRunOptions } from './run-options.ts';
import { runOutput } from './run-output.ts';
import type {
  ManifestOfRun,
  OrchestratorConfig,
  ResumeInit,
  RunInit,
  RunResult,
  WorktreeInfo,
} from './run-types.ts';
import { getSettings } from './settings.ts';
import { storedRun } from './stored-run.ts';

/** Runs issues from code. Never prints, exits, changes directory or leaves a handler behind; failures are data. */
export class RunOrchestrator {
  readonly #config: OrchestratorConfig;
  readonly #events = new EventStream<EngineEvent>();

  constructor(config: OrchestratorConfig) {
    if (!config?.config || !Array.isArray(config.config.phases) || config.config.phases.length === 0) {
      throw new InputError('run/config', 'RunOrchestrator needs a `config` with phases.', {
        hint: 'Make one with buildExecutionConfig().',
      });
    }
    checkExecutionConfig(config.config);
    if (config.settings?.untrusted) {
      throw new InputError('config/untrusted', `${config.settings.untrusted} is not trusted yet.`, {
        hint: 'Trust its directory once with: signalbox config trust',
      });
    }
    this.#config = settled(config);
  }

  /** Everything that happens in this run, as it happens; ends with the run. */
  events(): AsyncIterable<EngineEvent> {
    return this.#events;
  }

  /** Runs issues whose titles and labels are known. */
  async execute(issueNumbers: readonly number[]): Promise<IssueResult[]> {
    checkNumbers(issueNumbers);
    if (issueNumbers.length === 0) return [];
    if (this.#config.config.detach)
      throw new InputError('run/config', 'A run of issues that are handed over cannot be left to a daemon.', {
        hint: 'Use RunOrchestrator.run, or leave detach out.',
      });
    const { cwd = process.cwd(), env = process.env } = this.#config;
    const settings = this.#config.settings ?? (await getSettings({ cwd, env }));
    const { options, packageManager } = this.#config;
    const batches = groupsOf(this.#config, issueNumbers, settings);
    const found = readManifest(cwd);
    const own = this.#config.services?.stateManager;
    const stateDir = own?.stateDir ?? mkdtempSync(join(tmpdir(), 'signalbox-run-'));
    const known = issueNumbers.map((number) => itemOf(number, this.#config.issueInfoMap.get(number)));
    try {
      const run = await this.#run({
        settings: { ...settings, stateDir },
        cwd,
        env,
        references: issueNumbers.map(String),
        batches,
        known,
        ...(options ? { options: completeOptions(options, settings) } : {}),
        manifest: checkManifest({ ...found, packageManager: packageManager ?? found.packageManager }),
        worktrees: this.#config.worktreeMap ?? new Map(),
        writer: this.#config.services?.logWriter ?? null,
      });
      return run.results;
    } finally {
      this.#events.close();
      if (!own) rmSync(stateDir, { recursive: true, force: true });
    }
  }

  /** Full lifecycle: settings, issues, workspaces, phases, log. `batches` wins over `options.batch`. */
  static async run(
    init: RunInit,
    issueArgs: readonly string[],
    batches?: readonly (readonly number[])[] | null,
  ): Promise<RunResult> {
    checkCall(init, issueArgs, batches);
    const { cwd = process.cwd(), env = process.env, settings } = init;
    const named = init.named ?? 'option';
    checkSettings(settings);
    const mergedOptions = resolveRunOptions(init.options ?? {}, settings, { env, named });
    if (batches) checkCombination({ ...init.options, batch: batches.map((group) => group.join(',')) });
    const lists = batches?.map((group) => group.map(String)) ?? parseBatches(mergedOptions.batch ?? []);
    const groups = lists.length > 0 ? lists : null;
    const references = [...new Set([...issueArgs, ...(groups?.flat() ?? [])])];
    if (references.length === 0)
      throw new InputError('run/empty', 'No issue was named.', {
        hint: 'For example: signalbox run 100 101',
      });
    const built = buildExecutionConfig(mergedOptions, settings, references.length);
    const config = init.baseBranch ? { ...built, base: init.baseBranch } : built;
    const { logJson, logPath, rotation } = mergedOptions;
    const log = logJson && !config.dryRun ? { path: logPath, rotation } : null;
    const manifest = checkManifest(init.manifest ?? readManifest(cwd));
    const input = { settings, cwd, env, references, batches: groups, log, options: mergedOptions, manifest };
    return RunOrchestrator.#whole(init, config, mergedOptions, (orchestrator) => orchestrator.#run(input));
  }

  /** Goes on with a run that was stopped, or whose process is gone, as it began: in its mode, with its options, in its log. */
  static async resume(init: ResumeInit, runId: string): Promise<RunResult> {
    const { env = process.env, settings } = init;
    checkSettings(settings);
    const parts = openParts({ settings, env, by: 'run' });
    const stored = storedRun(parts.store.plan(runId));
    const mergedOptions = stored?.options ?? resolveRunOptions({}, settings, { env });
    const kept = stored?.config ?? buildExecutionConfig(mergedOptions, settings, 1);
    const config = { ...kept, detach: false };
    return RunOrchestrator.#whole(init, config, mergedOptions, async (orchestrator) => {
      const open = orchestrator.#open({ settings, env });
      for (const ticket of parts.store.view().tickets.values())
        if (ticket.planId === runId) open.numbers.set(ticket.ticketId, numberOf(ticket));
      if (stored?.log) {
        checkLogPlace(stored.log, parts.store.plan(runId).repo ?? '/');
        open.log = openRunLog(open.parts, { path: stored.log, planId: runId, config });
      }
      const spentBefore = Math.max(open.log?.spentSeconds ?? 0, stored?.spentSeconds ?? 0);
      await takeRun(open.parts, runId);
      return { ...(await orchestrator.#drive(open, runId, [], spentBefore)), spentBefore };
    });
  }

  /** From the first event to the exit code. */
  static async #whole(
    init: ResumeInit & Pick<RunInit, 'onPhasePlan'>,
    config: ExecutionConfig,
    mergedOptions: MergedRunOptions,
    work: (orchestrator: RunOrchestrator) => Promise<Course>,
  ): Promise<RunResult> {
    const {
      cwd = process.cwd(),
      env = process.env,
      settings,
      signal,
      onProgress,
      onPhasePlan,
      onEvent,
      output,
    } = init;
    const { verbose, quiet, detach } = config;
    const shown =
      output && runOutput({ output, stateDir: settings.stateDir, verbose, quiet: quiet || detach });
    const listen = (event: EngineEvent) => {
      shown?.listen(event);
      return onEvent?.(event);
    };
    const began = performance.now();
    const orchestrator = new RunOrchestrator({
      config,
      settings,
      cwd,
      env,
      issueInfoMap: new Map(),
      ...(signal ? { signal } : {}),
      ...(onProgress ? { onProgress } : {}),
      ...(onPhasePlan ? { onPhasePlan } : {}),
      onEvent: listen,
    });
    if (init.onOrchestratorReady) harmless(init.onOrchestratorReady)(orchestrator);
    try {
      const { spentBefore = 0, ...course } = await work(orchestrator);
      const failed = course.results.some(({ success, pending }) => !success && !pending);
      const result = {
        ...course,
        exitCode: signal?.aborted ? 130 : failed && !config.dryRun ? 1 : 0,
        config,
        mergedOptions,
        wallClockDurationSeconds: spentBefore + (performance.now() - began) / 1000,
      };
      shown?.end(result);
      return result;
    } finally {
      shown?.close();
      orchestrator.#events.close();
    }
  }

  async #run(input: RunInput): Promise<Course> {
    const { cwd } = input;
    const { config, signal } = this.#config;
    for (const text of input.known ? [] : input.references) parseReference(text, { cwd });
    const open = this.#open(input);
    open.log = input.writer ?? null;
    const { parts } = open;
    const prepared = await this.#prepare(parts, input);
    if (prepared === null) {
      const reason = `stopped by ${stopperOf(signal?.reason)}`;
      const results = input.references.map((text, index) =>
        stoppedResult(text, input.known?.[index], reason),
      );
      return { results, logPath: null, worktreeMap: new Map(), issueInfoMap: new Map(), planId: null };
    }
    for (const item of prepared.items) open.numbers.set(item.id, item.number);
    const refused = prepared.refused.map(refusedResult);
    const issueInfoMap = new Map(
      prepared.items.map((item) => [item.number ?? item.id, { title: item.title, labels: item.labels }]),
    );
    const nothing = { logPath: null, worktreeMap: new Map(), issueInfoMap, planId: null };
    if (config.dryRun) {
      const dryRun = preview(parts, prepared, input.batches !== null);
      return { ...nothing, results: refused, dryRun };
    }
    if (prepared.tickets.length === 0) return { ...nothing, results: refused };
    const { plan } = prepared;
    const file = input.log ? resolve(plan.repo ?? cwd, input.log.path, `${plan.id}.json`) : null;
    const run = { ...(plan.run as object), log: file, detached: config.detach };
    if (file && input.log) {
      checkLogPlace(file, plan.repo ?? cwd);
      open.log = openRunLog(parts, { path: file, planId: plan.id, config, refused });
      rotateLogs(file, input.log.rotation, (runId) => isUnderWay(parts, runId));
    }
    const tickets = prepared.tickets.map((ticket) => inWorktree(ticket, input.worktrees));
    // Another run that began at the same time was first: what it has is refused at the second look.
    if (!(await startIssueRun(parts, { ...prepared, tickets, plan: { ...plan, run } }, signal)))
      return this.#run(input);
    if (this.#config.onPhasePlan) tellPhases(prepared, this.#config.onPhasePlan);
    return { ...(await this.#drive(open, plan.id, refused)), issueInfoMap };
  }

  /** Null when the signal stopped it before there was anything to stop. */
  async #prepare(parts: Parts, input: RunInput): Promise<PreparedRun | null> {
    const { cwd, references, batches, known } = input;
    const { config, signal } = this.#config;
    if (signal?.aborted) return null;
    const { manifest } = input;
    const run = { config, options: input.options ?? null, batched: batches !== null, manifest };
    const request = issueRequest({
      cwd,
      config,
      references,
      batches,
      run,
      packageManager: manifest.packageManager ?? null,
      ...(known ? { known } : {}),
      ...(signal ? { signal } : {}),
    });
    try {
      const prepared = await prepareIssueRun(parts, request);
      return this.#isStopped() ? null : prepared;
    } catch (error) {
      if (this.#isStopped() && !(error instanceof InputError)) return null;
      throw error;
    }
  }

  #isStopped(): boolean {
    return this.#config.signal?.aborted === true;
  }

  /** Runs what is in the plan, which this process holds, or leaves it to a daemon. */
  async #drive(open: Opened, planId: string, refused: IssueResult[], spentBefore = 0): Promise<Course> {
    const { parts } = open;
    const began = performance.now();
    const { config, signal } = this.#config;
    if (config.detach) {
      open.write((log) => log.update(), planId);
      await letGo(parts, planId);
    } else {
      // At once: whoever is killed while agents end has said how it ended.
      const onAbort = () => open.write((log) => log.finish({ aborted: true }), planId);
      signal?.addEventListener('abort', onAbort, { once: true });
      try {
        await runPlan(parts, {
          planId,
          maxConcurrency: Math.max(config.concurrency, 1),
          lookEveryMs: parts.settings.pollInterval * 1000,
          signal: signal ?? new AbortController().signal,
        });
      } finally {
        signal?.removeEventListener('abort', onAbort);
      }
    }
    // With a log, the log has it.
    const spentSeconds = spentBefore + (performance.now() - began) / 1000;
    if (!config.detach && !open.log)
      await parts.store.updatePlan(planId, (latest) => ({
        ...latest,
        run: { ...(latest.run as object | undefined), spentSeconds },
      }));
    const view = parts.store.view();
    const plan = parts.store.plan(planId);
    const tickets = plan.tickets.flatMap(
      ({ ticketId }) => view.tickets.get(refKey({ planId, ticketId })) ?? [],
    );
    if (!config.detach) open.write((log) => log.finish({ aborted: signal?.aborted === true }), planId);
    return {
      results: [...tickets.map((ticket) => issueResult(ticket, plan)), ...refused],
      logPath: open.log?.path ?? null,
      worktreeMap: worktreesOf(tickets),
      issueInfoMap: new Map(tickets.map((ticket) => [numberOf(ticket) ?? ticket.ticketId, infoOf(ticket)])),
      planId,
      ...(config.detach ? { detached: true } : {}),
    };
  }

  /** The engine's parts, with everybody who wants to know told of every event. */
  #open({ settings, env }: Pick<RunInput, 'settings' | 'env'>): Opened {
    const { onEvent, onProgress } = this.#config;
    const numbers = new Map<string, number | null>();
    const feed = onProgress && progressFeed(onProgress, (id) => numbers.get(id) ?? null);
    const problem = (planId: string, message: string): EngineEvent => ({
      type: 'problem',
      planId,
      ticketId: null,
      path: null,
      message,
    });
    const listen = (event: EngineEvent) => {
      this.#events.push(event);
      feed?.(event);
      if (event.type === 'attempt:end' || event.type === 'ticket:status')
        opened.write(
          (log) => (this.#isStopped() ? log.finish({ aborted: true }) : log.update()),
          event.planId,
        );
      if (onEvent)
        harmless(onEvent, (error) =>
          this.#events.push(problem(event.planId, `onEvent: ${messageOf(error)}`)),
        )(event);
    };
    const opened: Opened = {
      parts: openParts({ settings, env, by: 'run', listen }),
      numbers,
      log: null,
      write: (how, planId) => {
        try {
          if (opened.log) how(opened.log);
        } catch (error) {
          opened.log = null;
          listen(problem(planId, `The log of the run cannot be written any more: ${messageOf(error)}`));
        }
      },
    };
    return opened;
  }
}

function checkSettings(settings: Settings | undefined): void {
  if (settings) return;
  throw new InputError('run/config', 'A run needs `settings`.', { hint: 'Get them with getSettings().' });
}

/** An engine has it, or a daemon will. */
function isUnderWay({ store, holder }: Parts, runId: string): boolean {
  const plan = store.view().plans.find(({ id }) => id === runId);
  if (plan?.status !== 'active') return false;
  return storedRun(plan)?.detached === true || (plan.claim !== null && holder.isLive(plan.claim));
}

/** What a run came to, without what was in force for it. */
type Course = Omit<RunResult, 'exitCode' | 'config' | 'mergedOptions' | 'wallClockDurationSeconds'> & {
  /** How long its parts before this one took. */
  spentBefore?: number;
};

interface Opened {
  parts: Parts;
  /** Numbers of issues, by the id of their ticket. */
  numbers: Map<string, number | null>;
  log: RunLogWriter | null;
  /** Writes the log where there is one. One that cannot be written is told of and given up; the work goes on. */
  write(how: (log: RunLogWriter) => void, planId: string): void;
}

interface RunInput {
  settings: Settings;
  cwd: string;
  env: Env;
  references: readonly string[];
  batches: readonly (readonly string[])[] | null;
  known?: readonly WorkItem[];
  options?: MergedRunOptions;
  manifest: ManifestOfRun;
  log?: { path: string; rotation: { maxSizeMB: number; maxFiles: number } } | null;
  /** What the caller brings along: worktrees by number, and a log of his own. */
  worktrees?: ReadonlyMap<number | string, WorktreeInfo>;
  writer?: RunLogWriter | null;
}
