import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { followJob } from '../../machine/jobs/follow.ts';
import { startJob } from '../../machine/jobs/job.ts';
import { stopJob } from '../../machine/jobs/stop.ts';
import { SignalboxError } from '../../model/errors.ts';
import type { Scratch, Trains, WorkspaceSpec } from '../../workspaces/workspaces.ts';
import type { Check } from '../checks/checks.ts';
import { checksOf } from '../checks/checks.ts';

/** The result of the checks on a commit. */
export type Verdict =
  | { green: true }
  | {
      green: false;
      /** What happened, in words: `npm test exited with code 1`. */
      message: string;
      /** The end of what it printed. */
      tail: string;
      /** All that it printed; deleted at the end of the train. */
      logFile: string;
    };

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

  async #check({ command, script }: Check, cwd: string): Promise<Verdict> {
    const { say, signal } = this.#options;
    const { env, settings } = this.#engine;
    say(`$ ${command}`);
    this.commands.add(command);
    const dir = join(this.#jobs, String(++this.#count));
    // One stream keeps the order in which a terminal would have shown the output.
    const argv = ['/bin/sh', '-c', `exec 2>&1\n${script}`];
    const { exited } = startJob({ dir, argv, cwd, env, stdin: null, stopSignal: 'SIGTERM' });
    const seconds = settings.timeouts.scriptSeconds;
    const result = await followJob({ dir, exited, wallMs: seconds * 1000, idleMs: null, signal });
    this.#unlessStopped();
    if (result.reason === 'lost' || result.reason === 'stopped')
      throw new SignalboxError('merge/lost', `${command} was killed from outside, so nothing is known.`, {
        hint: 'Run the merge again.',
      });
    if (result.reason === 'exited' && result.exit.code === 0) return { green: true };
    const message =
      result.reason === 'timeout'
        ? `\`${command}\` took longer than ${seconds} s`
        : `\`${command}\` exited with code ${result.exit.code}`;
    return { green: false, message, tail: result.stdoutTail.trimEnd(), logFile: join(dir, 'stdout') };
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
