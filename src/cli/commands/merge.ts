import { isTrusted } from '../../config/trust.ts';
import type { EngineContext } from '../../engine/context.ts';
import { loadTrains, type Trainload } from '../../features/merge-train/collect-branches.ts';
import { previewTrain, runTrain } from '../../features/merge-train/merge-train.ts';
import { SignalboxError } from '../../model/errors.ts';
import { previewText, trainText } from '../../report/merge-train-text.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openRunner } from '../open-state-and-check-flags.ts';
import { signalCode, untilStopped } from '../show-events-until-stopped.ts';

interface Options extends GlobalOptions {
  dryRun?: boolean;
  pr?: boolean;
  method?: string;
  wait?: string;
}

export async function merge(io: Io, options: Options, planId: string | null = null): Promise<void> {
  const flags = {
    'merge.pr': options.pr,
    'merge.method': options.method,
    'merge.waitSeconds': options.wait,
  };
  const engine = await openRunner(io, options, 'merge', { flags });
  const loads = await loadTrains(engine, { planId, cwd: io.cwd });
  if (options.dryRun) return preview(engine, loads, options, io);
  const view = { err: io.err, close: () => undefined };
  const { stateDir } = engine.settings;
  await untilStopped(io, { view, what: 'the merge', stateDir }, async (signal) => {
    try {
      await run(engine, loads, signal, options, io);
    } catch (error) {
      if (!(error instanceof SignalboxError) || error.code !== 'merge/stopped') throw error;
      io.err(error.message);
      io.exit(signalCode(signal.reason));
    }
  });
}

async function run(
  engine: EngineContext,
  loads: readonly Trainload[],
  signal: AbortSignal,
  options: Options,
  io: Io,
): Promise<void> {
  const { pr } = engine.settings.merge;
  const results = [];
  for (const load of loads) {
    const result = await runTrain(engine, load, { pr, signal, say: io.err });
    results.push(result);
    if (!options.json) io.out(trainText(result, { trusted: isTrusted(load.repo, engine.settings.home) }));
  }
  const ok = results.every(({ returned, left }) => returned.length + left.length === 0);
  if (options.json) outJson(io, { ok, trains: results });
  else if (results.length === 0) io.out('Nothing to merge.');
  if (!ok) io.exit(1);
}

async function preview(
  engine: EngineContext,
  loads: readonly Trainload[],
  options: Options,
  io: Io,
): Promise<void> {
  const previews = [];
  for (const load of loads) previews.push(await previewTrain(engine, load, { pr: engine.settings.merge.pr }));
  const clear = previews.every(({ order }) => order.every(({ conflict }) => conflict.length === 0));
  if (options.json) outJson(io, { ok: clear, trains: previews });
  else if (previews.length === 0) io.out('Nothing to merge.');
  else for (const each of previews) io.out(previewText(each));
  if (!clear) io.exit(1);
}
