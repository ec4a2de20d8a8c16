import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OrchestratorConfig } from '../../../src/api/orchestrator-arguments.ts';
import { resolveRunOptions } from '../../../src/api/orchestrator-arguments.ts';
import type { RunInit } from '../../../src/api/run-orchestrator.ts';
import { RunOrchestrator } from '../../../src/api/run-orchestrator.ts';
import { getSettings, type SignalboxSettings } from '../../../src/api/settings.ts';
import { buildExecutionConfig } from '../../../src/features/issue-runs/options/execution-config-and-workflow-changes.ts';
import type { RunOptions, RunResult } from '../../../src/features/issue-runs/request-and-result-types.ts';
import { IssueWorld } from '../../cli/issue-world.ts';
import type { FakeIssue } from '../../support/gh/fake-gh.ts';
import { it, type World } from '../../support/index.ts';
import { Bench } from '../pull-requests/bench.ts';

export { IssueWorld } from '../../cli/issue-world.ts';
export { linesOf, refusal } from '../../cli/support.ts';
export { commitsOf, git, isRunning, story, waitFor, worktreesOf } from '../../support/index.ts';
export { Bench, it, type World };

/** One agent phase is enough where the test is not about phases. */
export const EXEC = { phases: 'exec', smartTests: false, pr: false } as const;
export const EXEC_FLAGS = ['--phases', 'exec', '--no-smart-tests', '--no-pr'];

/** A repository whose issues are on a scripted GitHub, with runs from the command line and from code. */
export class NumberedWorld extends IssueWorld {
  readonly bench: Bench;

  constructor(world: World, ...issues: FakeIssue[]) {
    const bench = new Bench(world);
    super(world, bench.env);
    this.bench = bench;
    bench.gh.issues(...issues);
  }

  library(init: Partial<RunInit>, issues: string[], batches?: number[][]): Promise<RunResult> {
    return inCode(this, init, issues, batches);
  }
}

export function settingsOf({ world, env }: IssueWorld): Promise<SignalboxSettings> {
  return getSettings({ cwd: world.repo, env: { ...world.env, ...env } });
}

/** The library, called with everything that it would otherwise take from the process. */
export async function inCode(
  issues: IssueWorld,
  init: Partial<RunInit>,
  references: string[],
  batches?: number[][],
): Promise<RunResult> {
  const { repo, env } = issues.world;
  const settings = await settingsOf(issues);
  const all = { options: {}, settings, cwd: repo, env: { ...env, ...issues.env }, ...init };
  return RunOrchestrator.run(all, references, batches);
}

export function titled(...numbers: number[]): FakeIssue[] {
  return numbers.map((number) => ({ number, title: `Issue ${number}` }));
}

/** The lower level, with issues 1 to 3. */
export async function lower(
  issues: IssueWorld,
  options: RunOptions,
  more: Partial<OrchestratorConfig> = {},
): Promise<RunOrchestrator> {
  const { world } = issues;
  const settings = await settingsOf(issues);
  const merged = resolveRunOptions({ ...EXEC, ...options }, settings, { env: {} });
  const title = (number: number) => ({ title: `Issue ${number}`, labels: [] });
  return new RunOrchestrator({
    config: buildExecutionConfig(merged, settings, 3),
    options: merged,
    settings,
    cwd: world.repo,
    env: world.env,
    issueInfoMap: new Map([1, 2, 3].map((number) => [number, title(number)])),
    ...more,
  });
}

/** A log that a run of long ago has left; returns the name of its file. */
export function writeOldLog(dir: string, runId: string, more: Record<string, unknown> = {}): string {
  const startTime = '2020-01-01T00:00:00.000Z';
  const log = {
    version: 1,
    runId,
    startTime,
    endTime: startTime,
    config: { mode: 'parallel' },
    issues: [],
    ...more,
  };
  writeFileSync(join(dir, `${runId}.json`), JSON.stringify(log));
  return `${runId}.json`;
}

export const WORK = ['--phases', 'exec', '--no-smart-tests', '--no-retry'];

/** An agent that fails for tickets in "$HOME/bad", and waits until it may go on for those in "$HOME/slow". */
export function steeredAgent(world: World): void {
  world.agent(
    'agent',
    `grep -qsx "$SIGNALBOX_TICKET" "$HOME/bad" && exit 1
    grep -qsx "$SIGNALBOX_TICKET" "$HOME/slow" && { note working; go; }
    date +%N >> "$SIGNALBOX_TICKET.txt"; commit "$SIGNALBOX_TICKET"`,
  );
}
