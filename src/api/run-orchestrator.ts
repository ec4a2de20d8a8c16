import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Env } from '../config/paths.ts';
import type { Settings } from '../config/settings.ts';
import { runPlan } from '../engine/foreground.ts';
import { type PreparedRun, prepareIssueRun, startIssueRun } from '../engine/issue-run.ts';
import { openParts } from '../engine/open.ts';
import type { Parts } from '../engine/parts.ts';
import { InputError, messageOf } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import { parseReference, type WorkItem } from '../sources/index.ts';
import { parseBatches } from './batches.ts';
import { checkCombination } from './combinations.ts';
import { EventStream } from './event-stream.ts';
import { buildExecutionConfig, checkExecutionConfig, type ExecutionConfig } from './execution-config.ts';
import { issueRequest } from './issue-request.ts';
import { type IssueResult, issueResult, refusedResult } from './issue-result.ts';
import { type ProgressCallback, progressFeed } from './progress.ts';
import { createRunLog, type RunLogWriter } from './run-log.ts';
import { type MergedRunOptions, type RunOptions, resolveRunOptions } from './run-options.ts';
import { getSettings, type SignalboxSettings } from './settings.ts';

export interface WorktreeInfo {
  issue: number;
  path: string;
  branch: string;
}

/** Surroundings of a run; each has the process's own as its default, at the time of the call. */
export interface RunSurroundings {
  cwd?: string;
  env?: Env;
  /** Aborting stops all agents and leaves the work so that it can be resumed. */
  signal?: AbortSignal;
  /** Called in order for every phase of every issue; may throw. */
  onProgress?: ProgressCallback;
  /** Called in order with every event; may throw. */
  onEvent?: (event: EngineEvent) => void;
}

export interface RunInit extends RunSurroundings {
  options: RunOptions;
  settings: SignalboxSettings;
  manifest?: { stack: string; packageManager?: string | null };
  baseBranch?: string;
  /** How errors name an option: as a property, or as the flag it is on a command line. */
  named?: 'option' | 'flag';
  /** Called once, before the first phase, with the run that has begun. */
  onOrchestratorReady?: (orchestrator: RunOrchestrator) => void;
}

export interface RunResult {
  results: IssueResult[];
  logPath: string | null;
  /** 0 when every issue is done, 1 otherwise; 130 when the signal stopped it. */
  exitCode: number;
  worktreeMap: Map<number, WorktreeInfo>;
  issueInfoMap: Map<number, { title: string; labels: string[] }>;
  config: ExecutionConfig;
  mergedOptions: MergedRunOptions;
  wallClockDurationSeconds: number;
  /** Id of the plan that the run made; null for a dry run and when there was nothing to run. */
  planId: string | null;
  /** What would be done, for a dry run. */
  dryRun?: { issue: string; phases: string[]; after: string[] }[];
}

export interface OrchestratorServices {
  logWriter?: RunLogWriter | null;
  /** null: state is kept in a temporary directory and forgotten. */
  stateManager?: { stateDir: string } | null;
}

export interface OrchestratorConfig extends RunSurroundings {
  config: ExecutionConfig;
  options?: RunOptions;
  issueInfoMap: Map<number, { title: string; labels: string[]; body?: string }>;
  worktreeMap?: Map<number, WorktreeInfo>;
  services?: OrchestratorServices;
  settings?: SignalboxSettings;
}

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
    this.#config = config;
  }

  /** Everything that happens in this run, as it happens; ends with the run. */
  events(): AsyncIterable<EngineEvent> {
    return this.#events;
  }

  /** Runs issues whose titles and labels are known. */
  async execute(issueNumbers: readonly number[]): Promise<IssueResult[]> {
    if (issueNumbers.length === 0) return [];
    const { cwd = process.cwd(), env = process.env } = this.#config;
    const settings = this.#config.settings ?? (await getSettings({ cwd, env }));
    const own = this.#config.services?.stateManager;
    const stateDir = own?.stateDir ?? mkdtempSync(join(tmpdir(), 'signalbox-run-'));
    const known = issueNumbers.map((number) => itemOf(number, this.#config.issueInfoMap.get(number)));
    try {
      const run = await this.#run({
        settings: { ...settings, stateDir },
        cwd,
        env,
        references: issueNumbers.map(String),
        batches: null,
        known,
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
    const { cwd = process.cwd(), env = process.env, settings } = init;
    const began = performance.now();
    const named = init.named ?? 'option';
    const mergedOptions = resolveRunOptions(init.options, settings, { env, named });
    if (batches) checkCombination({ ...init.options, batch: batches.map((group) => group.join(',')) });
    const groups =
      batches?.map((group) => group.map(String)) ??
      (mergedOptions.batch ? parseBatches(mergedOptions.batch) : null);
    const references = [...new Set([...issueArgs, ...(groups?.flat() ?? [])])];
    if (references.length === 0)
      throw new InputError('run/empty', 'No issue was named.', {
        hint: 'For example: signalbox run 100 101',
      });
    const built = buildExecutionConfig(mergedOptions, settings, references.length);
    const config = init.baseBranch ? { ...built, base: init.baseBranch } : built;
    const { signal, onProgress, onEvent } = init;
    const orchestrator = new RunOrchestrator({
      config,
      settings,
      cwd,
      env,
      issueInfoMap: new Map(),
      ...(signal ? { signal } : {}),
      ...(onProgress ? { onProgress } : {}),
      ...(onEvent ? { onEvent } : {}),
    });
    init.onOrchestratorReady?.(orchestrator);
    const log =
      mergedOptions.logJson && !config.dryRun
        ? { path: mergedOptions.logPath, rotation: mergedOptions.rotation }
        : null;
    try {
      const run = await orchestrator.#run({ settings, cwd, env, references, batches: groups, log });
      const failed = run.results.some((result) => !result.success);
      const exitCode = init.signal?.aborted ? 130 : failed && !config.dryRun ? 1 : 0;
      return {
        ...run,
        exitCode,
        config,
        mergedOptions,
        wallClockDurationSeconds: (performance.now() - began) / 1000,
      };
    } finally {
      orchestrator.#events.close();
    }
  }

  async #run(
    input: RunInput,
  ): Promise<Pick<RunResult, 'results' | 'logPath' | 'worktreeMap' | 'issueInfoMap' | 'planId' | 'dryRun'>> {
    const { settings, cwd, env } = input;
    const { config, onEvent, onProgress, signal } = this.#config;
    const numbers = new Map<string, number | null>();
    const feed = onProgress && progressFeed(onProgress, (id) => numbers.get(id) ?? null);
    let log: RunLogWriter | null = null;
    const listen = (event: EngineEvent) => {
      this.#events.push(event);
      feed?.(event);
      log?.listen(event);
      try {
        onEvent?.(event);
      } catch (error) {
        this.#events.push({
          type: 'problem',
          planId: 'planId' in event ? event.planId : '',
          ticketId: null,
          path: null,
          message: `onEvent: ${messageOf(error)}`,
        });
      }
    };
    for (const text of input.known ? [] : input.references) parseReference(text, { cwd });
    const parts = openParts({ settings, env, by: 'run', listen });
    const hasRemote = await parts.workspaces.hasRemote(cwd);
    const request = issueRequest({
      cwd,
      config,
      references: input.references,
      batches: input.batches,
      hasRemote,
      options: { ...(this.#config.options ?? {}), phases: config.phases },
      ...(input.known ? { known: input.known } : {}),
      ...(signal ? { signal } : {}),
    });
    const prepared = await prepareIssueRun(parts, request);
    for (const item of prepared.items) numbers.set(item.id, item.number);
    const refused = prepared.refused.map(refusedResult);
    const issueInfoMap = new Map(
      prepared.items.map((item) => [item.number ?? 0, { title: item.title, labels: item.labels }]),
    );
    const nothing = { logPath: null, worktreeMap: new Map(), issueInfoMap, planId: null };
    if (config.dryRun) return { ...nothing, results: refused, dryRun: preview(prepared, config) };
    if (prepared.tickets.length === 0) return { ...nothing, results: refused };
    if (input.log) {
      const dir = resolve(prepared.plan.repo ?? cwd, input.log.path);
      log = createRunLog(parts, prepared, config, dir, input.log.rotation);
    }
    await startIssueRun(parts, prepared);
    const done = await runPlan(parts, {
      planId: prepared.plan.id,
      maxConcurrency: Math.max(config.concurrency, 1),
      lookEveryMs: settings.pollInterval * 1000,
      signal: signal ?? new AbortController().signal,
    });
    const results = [...done.tickets.map(issueResult), ...refused];
    log?.finish(results, signal?.aborted === true);
    return {
      results,
      logPath: log?.path ?? null,
      worktreeMap: worktrees(parts, prepared),
      issueInfoMap,
      planId: prepared.plan.id,
    };
  }
}

interface RunInput {
  settings: Settings;
  cwd: string;
  env: Env;
  references: readonly string[];
  batches: readonly (readonly string[])[] | null;
  known?: readonly WorkItem[];
  log?: { path: string; rotation: { maxSizeMB: number; maxFiles: number } } | null;
}

function itemOf(
  number: number,
  info: { title: string; labels: string[]; body?: string } | undefined,
): WorkItem {
  return {
    key: `number:${number}`,
    id: String(number),
    number,
    title: info?.title ?? `Issue #${number}`,
    body: info?.body ?? '',
    labels: info?.labels ?? [],
    acceptanceCriteria: [],
    url: null,
    state: 'open',
    dependsOn: [],
    repository: null,
  };
}

function preview(prepared: PreparedRun, config: ExecutionConfig): NonNullable<RunResult['dryRun']> {
  return prepared.plan.tickets.map((entry) => {
    const ticket = prepared.tickets.find((each) => each.ticketId === entry.ticketId);
    const phases = config.phases.filter((phase) => !ticket?.skipPhases.includes(phase));
    return { issue: entry.ticketId, phases, after: entry.blockedBy };
  });
}

function worktrees(parts: Parts, prepared: PreparedRun): Map<number, WorktreeInfo> {
  const view = parts.store.view();
  return new Map(
    prepared.items.flatMap((item) => {
      const ticket = view.tickets.get(`${prepared.plan.id}/${item.id}`);
      if (!ticket?.worktree || !ticket.branch || item.number === null) return [];
      return [[item.number, { issue: item.number, path: ticket.worktree, branch: ticket.branch }]];
    }),
  );
}
