import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { repositoryOf } from '../../config/find-config-and-state.ts';
import { isTrusted } from '../../config/trusted-directories.ts';
import type { EngineContext } from '../../engine/context.ts';
import { refuseInsideAgent, refuseInsideJob } from '../../engine/control-tickets-and-plans.ts';
import {
  awaitsMerge,
  loadTrains,
  mergeChoices,
  type Trainload,
} from '../../features/merge-train/collect-branches.ts';
import type { Preview, TrainResult } from '../../features/merge-train/run-merge-train.ts';
import { bringGathered, previewTrain, runTrain } from '../../features/merge-train/run-merge-train.ts';
import { commentOnPull } from '../../features/pull-requests/answer-review.ts';
import type { ForgeStep } from '../../features/pull-requests/pull-request-actions.ts';
import { forgeStep, waitingForTrouble } from '../../features/pull-requests/pull-request-actions.ts';
import { RateLimitFile } from '../../github/remember-rate-limit.ts';
import { machineIn } from '../../machine/machine-files-and-locks.ts';
import type { ActionInputs } from '../../model/actions.ts';
import { EXIT } from '../../model/actions.ts';
import { InputError, SignalboxError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { latestPlan } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { isOver, saysStatus, type Ticket } from '../../model/ticket.ts';
import { oneLine } from '../../report/printable-text.ts';
import { mergeCommand } from '../../report/status-text.ts';
import { clock } from '../../report/style-and-phrases.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { planOrTicketNamed, plansHere } from '../find-named-plans-and-tickets.ts';
import { type Io, outJson, outWrapped } from '../io.ts';
import {
  type GlobalOptions,
  openEngine,
  openRunner,
  openSettings,
} from '../open-settings-store-and-engine.ts';
import { signalCode, untilStopped } from '../show-events-until-stopped.ts';
import { inPhase, outStep, ticketHere } from './workspace-checks-integrate-diff.ts';

type Options = OptionsOf<'merge'>;

export async function merge(io: Io, options: Options, ...words: (string | undefined)[]): Promise<void> {
  const isNamed = words[0] !== undefined;
  if (isNamed && options.all)
    throw new InputError('usage', '--all merges all plans of this repository. Leave out the name.');
  const flags = { 'merge.pr': options.pr, 'merge.method': options.method, 'merge.waitSeconds': options.wait };
  const engine = await openRunner(io, options, 'merge', { flags });
  const named = isNamed ? planOrTicketNamed(io, engine.store, 'merge', words) : undefined;
  const ticket =
    named?.ticketId === undefined ? undefined : engine.store.ticket({ ...named, ticketId: named.ticketId });
  const loads = await loadTrains(engine, { named, cwd: io.cwd });
  const choices = isNamed || options.all || options.dryRun ? [] : choicesHere(io, engine, loads);
  if (choices.length > 0)
    throw new InputError('usage', 'Name what to merge. This can be merged:', { hint: choices.join('\n') });
  if (ticket && ticket.status !== 'complete' && loads.length === 0)
    io.err(`${refKey(ticket)} ${saysStatus(ticket)}.`);
  if (options.dryRun) return preview(engine, loads, options, io);
  refuseInsideJob(engine);
  const view = { err: io.err, close: () => undefined };
  const { stateDir } = engine.settings;
  await untilStopped(io, { view, what: 'the merge', stateDir }, async (signal) => {
    try {
      await run(engine, loads, signal, { ...options, planId: named?.planId }, io);
    } catch (error) {
      if (!(error instanceof SignalboxError) || error.code !== 'merge/stopped') throw error;
      io.err(error.message);
      io.exit(signalCode(signal.reason));
    }
  });
}

function choicesHere(io: Io, { store }: EngineContext, loads: readonly Trainload[]): string[] {
  const { latest } = latestPlan(store.glance(), plansHere(io, store));
  return mergeChoices(loads, store.view().plans, latest?.id);
}

async function run(
  engine: EngineContext,
  loads: readonly Trainload[],
  signal: AbortSignal,
  { planId, ...options }: Options & { planId: string | undefined },
  io: Io,
): Promise<void> {
  const { pr } = engine.settings.merge;
  const results = [];
  for (const load of loads) {
    const result = await runTrain(engine, load, { pr, signal, say: io.err });
    results.push(result);
    if (options.json) continue;
    const trusted = isTrusted(load.repo, engine.settings.home);
    const own = ['signalbox.yaml', '.signalbox/settings.json'].filter((file) =>
      existsSync(join(load.repo, file)),
    );
    outWrapped(io, trainText(result, { untrusted: trusted ? [] : own, here: repositoryOf(io.cwd) ?? '' }));
  }
  const ok = results.every(({ returned, left }) => returned.length + left.length === 0);
  if (options.json) outJson(io, { ok, trains: results });
  else if (results.length === 0) {
    const plan = planId === undefined ? undefined : engine.store.plan(planId);
    const merge = plan?.workspace && mergeCommand(plan);
    io.out(merge ? `The branch of a spec is merged by git: ${merge}` : 'Nothing to merge.');
    for (const command of await bringGathered(engine, meantPlans(io, engine, planId)))
      outWrapped(io, [bringLine(command, repositoryOf(io.cwd) ?? '')]);
  }
  const local = results.flatMap(({ landed }) => landed.filter(({ pullRequest }) => pullRequest === null));
  const shown = results.length === 0 ? openTickets(io, engine, planId) : local;
  if (!options.json)
    outWrapped(
      io,
      shown.flatMap((ref) => pullRequestLines(engine, engine.store.ticket(ref))),
    );
  if (!ok) io.exit(1);
}

function openTickets(io: Io, engine: EngineContext, planId: string | undefined): TicketRef[] {
  const plans = meantPlans(io, engine, planId);
  return plans.flatMap((plan) => engine.store.tickets(plan)).filter((ticket) => !isOver(ticket));
}

/** The named plan, or all of this repository. */
function meantPlans(io: Io, { store }: EngineContext, planId: string | undefined): Plan[] {
  if (planId !== undefined) return [store.plan(planId)];
  return store.view().plans.filter(plansHere(io, store) ?? (() => true));
}

function bringLine(fastForward: string, here: string): string {
  return `To bring it into your checkout: ${fastForward.replace(`-C ${shellWord(here)} `, '')}`;
}

/** Where the pull request of a ticket is, and what merges it if the ticket only waits for that. */
function pullRequestLines(engine: EngineContext, ticket: Ticket): string[] {
  const { pr_url: url } = ticket.context;
  if (typeof url !== 'string') return [];
  const merge = `  To merge it on GitHub: signalbox merge ${ticket.planId} --pr`;
  return [
    `Pull request of ${refKey(ticket)}, which ${saysStatus(ticket)}: ${oneLine(url, 300)}`,
    ...(awaitsMerge(engine, ticket) ? [merge] : []),
  ];
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
  else for (const each of previews) outWrapped(io, previewText(each));
  if (!clear) io.exit(1);
}

/** The result of a merge, a line per ticket. `untrusted`: the repository's settings that may not name commands. `here`: the current repository. */
function trainText(
  result: TrainResult,
  { untrusted, here }: { untrusted: readonly string[]; here: string },
): string[] {
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
      ...untrusted.map(
        (file) => `Checks in ${file} need your trust: signalbox config trust ${shellWord(result.repo)}`,
      ),
    );
  if (fastForward) lines.push(bringLine(fastForward, here));
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
  const known = new RateLimitFile(machineIn(stateDir).githubCache).all();
  if (options.json) return outJson(io, known);
  if (known.length === 0) return io.out('GitHub has not been asked yet.');
  const now = Date.now();
  for (const { host, remaining, limit, cost, resetAt, at } of known)
    io.out(
      `${host}: ${remaining} of ${limit} points left until ${clock(resetAt, now)}; the last request cost ${cost}, at ${clock(at, now)}`,
    );
}
