import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { stopJob } from '../../machine/jobs/stop-job.ts';
import { SignalboxError } from '../../model/errors.ts';
import type { Scratch, Trains, WorkspaceSpec } from '../../workspaces/workspaces.ts';
import { type Check, checksOf, runCheck, type Verdict } from '../checks/find-and-run-checks.ts';

interface CheckOptions {
  trains: Trains;
  /** How the worktree is prepared. */
  setup: WorkspaceSpec;
  signal: AbortSignal;
  say(line: string): void;
}

/** Runs the project's checks on commits, in a scratch worktree that is created on first use. */
export class TrainChecks {
  readonly #engine: EngineContext;
  readonly #options: CheckOptions;
  readonly #verdicts = new Map<string, Verdict>();
  readonly commands = new Set<string>();
  #scratch: Scratch | undefined;
  #jobs = '';
  #count = 0;

  constructor(engine: EngineContext, options: CheckOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Commits with the same files are checked once. */
  async check(commit: string): Promise<Verdict> {
    const tree = await this.#options.trains.treeOf(commit);
    const known = this.#verdicts.get(tree);
    if (known) return known;
    const verdict = await this.#run(commit);
    this.#verdicts.set(tree, verdict);
    return verdict;
  }

  async #run(commit: string): Promise<Verdict> {
    const configured = this.#engine.settings.checks;
    if (configured?.length === 0) return { green: true };
    const scratch = await this.open();
    this.#unlessStopped();
    await scratch.show(commit);
    for (const check of await checksOf(configured, scratch.path)) {
      this.#unlessStopped();
      const verdict = await this.#check(check, scratch.path);
      if (!verdict.green) return verdict;
    }
    return { green: true };
  }

  /** First stops checks that a killed train left running, and removes their worktree. */
  async open(): Promise<Scratch> {
    if (this.#scratch) return this.#scratch;
    const { trains, setup, signal } = this.#options;
    const { worktreeRoot, hooks, install, copy, caches } = setup;
    this.#jobs = this.#engine.machine.mergeJobs(trains.id);
    for (const name of existsSync(this.#jobs) ? readdirSync(this.#jobs) : [])
      await stopJob(join(this.#jobs, name), 'stopped');
    rmSync(this.#jobs, { recursive: true, force: true });
    this.#scratch = await trains.scratch({ worktreeRoot, hooks, install, copy, caches, signal });
    return this.#scratch;
  }

  async #check(check: Check, cwd: string): Promise<Verdict> {
    const { say, signal } = this.#options;
    const { command } = check;
    say(`$ ${command}`);
    this.commands.add(command);
    const dir = join(this.#jobs, String(++this.#count));
    const verdict = await runCheck(this.#engine, check, { dir, cwd, signal });
    this.#unlessStopped();
    if (verdict) return verdict;
    throw new SignalboxError('merge/lost', `${command} was killed from outside, so its result is unknown.`, {
      hint: 'Run the merge again.',
    });
  }

  #unlessStopped(): void {
    if (this.#options.signal.aborted)
      throw new SignalboxError('merge/stopped', 'The merge was stopped; nothing was moved.');
  }

  async close(): Promise<void> {
    await this.#scratch?.close();
    if (this.#jobs) rmSync(this.#jobs, { recursive: true, force: true });
  }
}
