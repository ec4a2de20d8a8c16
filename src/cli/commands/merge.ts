import type { Command } from 'commander';
import type { EngineContext } from '../../engine/context.ts';
import type { Trainload } from '../../features/merge-train/collect-branches.ts';
import { SignalboxError } from '../../model/errors.ts';
import { signalCode, stopOnSignals } from '../event-view.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openRunner } from '../open.ts';

interface Options extends GlobalOptions {
  dryRun?: boolean;
  pr?: boolean;
  method?: string;
  wait?: string;
}

export function registerMerge(program: Command, io: Io): void {
  program
    .command('merge')
    .argument('[plan]', 'default: all plans of this repository')
    .description('merge the branches of complete tickets that pass the checks together; send the others back')
    .option('--dry-run', 'show order and predicted conflicts and change nothing')
    .option('--pr', 'merge their pull requests on GitHub instead, also of tickets that only wait for it')
    .option('--method <name>', 'how GitHub merges them: merge, squash or rebase')
    .option('--wait <seconds>', 'how long --pr waits for checks that still run on GitHub; default 1800')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Branches are merged one on top of the other and the project’s checks run on the result, in a worktree of its own; nobody’s
checkout is touched. When they fail, the branch with which they begin to is found and goes back to its ticket with the log.
Ends with 1 when a ticket was sent back or left out, and with --dry-run when a conflict is to be expected.

Examples:
  $ signalbox merge sprint-12 --dry-run
  $ signalbox merge sprint-12
  $ signalbox merge sprint-12 --pr --method squash`,
    )
    .action(async (plan: string | undefined, _options: unknown, command: Command) =>
      merge(plan ?? null, command.optsWithGlobals<Options>(), io),
    );
}

async function merge(planId: string | null, options: Options, io: Io): Promise<void> {
  const flags = {
    ...(options.pr === undefined ? {} : { 'merge.pr': options.pr }),
    ...(options.method === undefined ? {} : { 'merge.method': options.method }),
    ...(options.wait === undefined ? {} : { 'merge.waitSeconds': options.wait }),
  };
  const parts = await openRunner(io, options, 'merge', { flags });
  const { loadTrains } = await import('../../features/merge-train/collect-branches.ts');
  const loads = await loadTrains(parts, { planId, cwd: io.cwd });
  if (options.dryRun) return preview(parts, loads, options, io);
  const abort = new AbortController();
  const unhook = stopOnSignals(io, {
    view: { err: io.err, close: () => undefined },
    abort,
    what: 'the merge',
    stateDir: parts.settings.stateDir,
  });
  try {
    await run(parts, loads, abort.signal, options, io);
  } catch (error) {
    if (!(error instanceof SignalboxError) || error.code !== 'merge/stopped') throw error;
    io.err(error.message);
    io.exit(signalCode(abort.signal.reason));
  } finally {
    unhook();
  }
}

async function run(
  parts: EngineContext,
  loads: readonly Trainload[],
  signal: AbortSignal,
  options: Options,
  io: Io,
): Promise<void> {
  const [{ runTrain }, { trainText }, { isTrusted }] = await Promise.all([
    import('../../features/merge-train/merge-train.ts'),
    import('../../report/merge-train.ts'),
    import('../../config/trust.ts'),
  ]);
  const { pr } = parts.settings.merge;
  const say = (line: string) => io.err(line);
  const results = [];
  for (const load of loads) {
    const result = await runTrain(parts, load, { pr, signal, say });
    results.push(result);
    if (!options.json) io.out(trainText(result, { trusted: isTrusted(load.repo, parts.settings.home) }));
  }
  const ok = results.every(({ returned, left }) => returned.length + left.length === 0);
  if (options.json) outJson(io, { ok, trains: results });
  else if (results.length === 0) io.out('Nothing to merge.');
  if (!ok) io.exit(1);
}

async function preview(
  parts: EngineContext,
  loads: readonly Trainload[],
  options: Options,
  io: Io,
): Promise<void> {
  const [{ previewTrain }, { previewText }] = await Promise.all([
    import('../../features/merge-train/preview.ts'),
    import('../../report/merge-train.ts'),
  ]);
  const previews = [];
  for (const load of loads) previews.push(await previewTrain(parts, load, { pr: parts.settings.merge.pr }));
  const clear = previews.every(({ order }) => order.every(({ conflict }) => conflict.length === 0));
  if (options.json) outJson(io, { ok: clear, trains: previews });
  else if (previews.length === 0) io.out('Nothing to merge.');
  else for (const each of previews) io.out(previewText(each));
  if (!clear) io.exit(1);
}
