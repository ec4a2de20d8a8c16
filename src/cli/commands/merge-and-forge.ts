import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { repositoryOf } from '../../config/find-config-and-state.ts';
import { isTrusted } from '../../config/trust.ts';
import type { EngineContext } from '../../engine/context.ts';
import { refuseInsideAgent, refuseInsideJob } from '../../engine/control-tickets.ts';
import { loadTrains, type Trainload } from '../../features/merge-train/collect-branches.ts';
import {
  type Preview,
  previewTrain,
  runTrain,
  type TrainResult,
} from '../../features/merge-train/run-merge-train.ts';
import { commentOnPull } from '../../features/pull-requests/answer-review.ts';
import type { ForgeStep } from '../../features/pull-requests/pull-request-actions.ts';
import { forgeStep, waitingForTrouble } from '../../features/pull-requests/pull-request-actions.ts';
import { RateLimitFile } from '../../github/rate-limit.ts';
import { Machine } from '../../machine/machine.ts';
import type { ActionInputs } from '../../model/actions.ts';
import { EXIT } from '../../model/actions.ts';
import { InputError, SignalboxError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { clock } from '../../report/style-and-phrases.ts';
import { wrapLines } from '../../report/table.ts';
import { type Io, outJson } from '../io.ts';
import {
  type GlobalOptions,
  openEngine,
  openRunner,
  openSettings,
  planNamed,
} from '../open-state-and-find-named-tickets.ts';
import { signalCode, untilStopped } from '../show-events-until-stopped.ts';
import { inPhase, outStep, ticketHere } from './workspace-checks-integrate-diff.ts';

interface Options extends GlobalOptions {
  dryRun?: boolean;
  pr?: boolean;
  method?: string;
  wait?: string;
}

export async function merge(io: Io, options: Options, given: string | null = null): Promise<void> {
  const flags = {
    'merge.pr': options.pr,
    'merge.method': options.method,
    'merge.waitSeconds': options.wait,
  };
  const engine = await openRunner(io, options, 'merge', { flags });
  const planId = given && planNamed(io, engine.store, 'merge', given);
  const loads = await loadTrains(engine, { planId, cwd: io.cwd });
  if (options.dryRun) return preview(engine, loads, options, io);
  refuseInsideJob(engine);
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
    if (options.json) continue;
    const trusted = isTrusted(load.repo, engine.settings.home);
    io.out(wrapLines(trainText(result, { trusted, here: repositoryOf(io.cwd) ?? '' }), io.columns?.()));
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
  else for (const each of previews) io.out(wrapLines(previewText(each), io.columns?.()));
  if (!clear) io.exit(1);
}

/** The result of a merge, a line per ticket. `trusted`: the repository's own settings may name commands. `here`: the current repository. */
function trainText(result: TrainResult, { trusted, here }: { trusted: boolean; here: string }): string[] {
  const { landed, returned, left, already, target, commit, fastForward, unchecked } = result;
  const name = column([...landed, ...returned, ...left, ...already]);
  const lines = [
    ...landed.map((each) => `✓ ${name(each)}  ${each.pullRequest?.url ?? each.branch}`),
    ...returned.map((each) => `✗ ${name(each)}  ${each.reason}; ${backTo(each.phase)}`),
    ...left.map((each) => `- ${name(each)}  ${each.reason}`),
    ...already.map((each) => `= ${name(each)}  already in ${each.into}`),
  ];
  if (landed.length > 0) lines.push(`${target} is now at ${commit.slice(0, 10)}.`);
  if (unchecked !== null)
    lines.push(
      `No checks ran on the merged work. ${unchecked}`,
      'To add checks, name them in your settings, for example: checks: [npm test]',
      ...(trusted
        ? []
        : [`Checks in signalbox.yaml need your trust: signalbox config trust ${shellWord(result.repo)}`]),
    );
  if (fastForward)
    lines.push(`To bring it into your checkout: ${fastForward.replace(`-C ${shellWord(here)} `, '')}`);
  for (const planId of plansOf(left.filter(({ pending }) => pending)))
    lines.push(`Once the checks are done: signalbox merge ${planId} --pr`);
  for (const planId of plansOf(returned.filter(({ phase }) => phase !== null)))
    lines.push(`To continue the tickets that were sent back: signalbox run ${planId}`);
  for (const { planId, ticketId } of returned)
    lines.push(`The log of ${ticketId}: signalbox logs ${planId} ${ticketId}`);
  return lines;
}

/** Ticket names padded to the widest. */
function column(refs: readonly TicketRef[]): (ref: TicketRef) => string {
  const width = Math.max(0, ...refs.map((ref) => refKey(ref).length));
  return (ref) => refKey(ref).padEnd(width);
}

function backTo(phase: string | null): string {
  return phase === null ? 'needs attention' : `back to ${phase}`;
}

function plansOf(refs: readonly TicketRef[]): string[] {
  return [...new Set(refs.map(({ planId }) => planId))];
}

function previewText({ base, target, order, left, already }: Preview): string[] {
  const name = column([...order, ...left, ...already]);
  const lines = order.map((each, index) => {
    const conflict = each.conflict.length > 0 ? `  conflicts in ${each.conflict.join(', ')}` : '';
    const mark = conflict ? '✗' : `${index + 1}.`;
    return `${mark.padStart(3)} ${name(each)}  ${each.branch}${conflict}`;
  });
  const into = target === base ? base : `${base}, by way of ${target}`;
  return [
    `Into ${into}:`,
    ...lines,
    ...left.map((each) => `  - ${name(each)}  ${each.reason}`),
    ...already.map((each) => `  = ${name(each)}  already in ${each.into}`),
  ];
}

type ForgeOptions = GlobalOptions & ActionInputs & { key?: string; bodyFile?: string };

/** What workflows do on GitHub, as a command that can be repeated after a crash. */
export function githubCommand(step: ForgeStep | 'comment') {
  return async (io: Io, options: ForgeOptions, plan?: string, ticket?: string): Promise<void> => {
    const ref = ticketHere(io, plan, ticket);
    const engine = await openEngine(io, options, 'forge');
    if (step === 'merge-pull-request') refuseInsideAgent(engine);
    const call = { engine, ref, inputs: options, inPhase: inPhase(io) };
    if (step !== 'comment') return outStep(io, options, await forgeStep(step, call));
    const { key = '', bodyFile = '' } = options;
    const end = await waitingForTrouble(call, async () => {
      const data = await commentOnPull(engine, ref, { key, text: textOf(bodyFile, io) });
      return { exit: EXIT.done, out: data.url, data };
    });
    outStep(io, options, end);
  };
}

function textOf(file: string, { cwd }: Io): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8');
  } catch (error) {
    throw new InputError('forge/body', `${file} cannot be read: ${(error as Error).message}`);
  }
}

export async function forgeBudget(io: Io, options: GlobalOptions): Promise<void> {
  const { stateDir } = await openSettings(io, options);
  const known = new RateLimitFile(new Machine(stateDir).githubCache).all();
  if (options.json) return outJson(io, known);
  if (known.length === 0) return io.out('GitHub has not been asked yet.');
  const now = Date.now();
  for (const { host, remaining, limit, cost, resetAt, at } of known)
    io.out(
      `${host}: ${remaining} of ${limit} points left until ${clock(resetAt, now)}; the last request cost ${cost}, at ${clock(at, now)}`,
    );
}
