import { isRunByDaemon } from '../../engine/claim-and-complete-plan.ts';
import type { EngineContext } from '../../engine/context.ts';
import {
  carryOutCommand,
  latestStopped,
  pausePlan as pauseIn,
  resumeAll,
  resumePlan as resumeIn,
  stoppedIn,
} from '../../engine/control-tickets.ts';
import { InputError, messageOf, SignalboxError } from '../../model/errors.ts';
import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import { runCommand } from '../../model/state/explain-ticket.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { type Attempt, isCancelled, newerRunOf, type Ticket } from '../../model/ticket.ts';
import { usageOfAttempts } from '../../report/style-and-phrases.ts';
import { answer, confirmed, type Io } from '../io.ts';
import {
  type GlobalOptions,
  openEngine,
  openState,
  planNamed,
  ticketNamed,
} from '../open-state-and-find-named-tickets.ts';

type Wish = Parameters<typeof carryOutCommand>[2];
type Words = (string | undefined)[];

export async function pause(io: Io, options: GlobalOptions, ...words: Words): Promise<void> {
  return act(io, options, words, 'pause');
}

interface RetryOptions extends GlobalOptions {
  latest?: boolean;
  failed?: boolean;
  yes?: boolean;
}

export async function retry(io: Io, options: RetryOptions, ...words: Words): Promise<void> {
  const latest = options.latest === true;
  return options.failed
    ? retryFailed(io, options, words, { type: 'retry', latest })
    : act(io, options, words, 'retry', () => ({ latest }));
}

/** More than these are retried only after a question. */
const MAX_UNASKED = 5;

async function retryFailed(io: Io, options: RetryOptions, words: Words, wish: Wish): Promise<void> {
  const [plan, ticket] = words;
  if (plan === undefined || ticket !== undefined)
    throw new InputError('usage', '--failed needs one plan, or @last for the latest.', {
      hint: 'signalbox retry --failed @last',
    });
  const engine = await openEngine(io, options, 'retry');
  const planId = planNamed(io, engine.store, 'retry', plan);
  const failed = engine.store
    .tickets(engine.store.plan(planId))
    .filter((each) => each.status === 'failed' && !isCancelled(each) && newerRunOf(each) === undefined);
  const spent = usageOfAttempts(failed.flatMap(lastWithUsage));
  const estimate = spent && `; estimated: ${spent}, as their last attempts used`;
  const about = `${plural(failed.length, 'failed ticket')} of ${planId}${estimate}`;
  if (failed.length > MAX_UNASKED && !options.yes && !confirmed(io, `Retry ${about}?`))
    throw new InputError('usage', `Nothing was retried: ${about}.`, {
      hint: `Retry them with: signalbox retry --failed ${planId} --yes`,
    });
  const tickets: Ticket[] = [];
  const refused: string[] = [];
  for (const { ticketId } of failed)
    try {
      tickets.push(await carryOutCommand(engine, { planId, ticketId }, wish, 'a person'));
    } catch (error) {
      // One that is refused keeps none of the others from being retried.
      if (!(error instanceof SignalboxError)) throw error;
      refused.push(`! ${planId}/${ticketId} was not retried: ${messageOf(error)}`);
    }
  const next = tickets.length > 0 ? nextStep(engine, planId) : '';
  const done = refused.length === 0 ? about : `${tickets.length} of ${about}`;
  answer(io, options, tickets, `Retried ${done}.${next}`);
  if (refused.length === 0) return;
  io.err(refused);
  io.exit(1);
}

/** The last attempt of an agent at a ticket. */
function lastWithUsage({ phaseHistory }: Ticket): Attempt | [] {
  return phaseHistory.findLast(({ agent }) => agent !== null) ?? [];
}

export async function skip(io: Io, options: GlobalOptions, ...words: Words): Promise<void> {
  return act(io, options, words, 'skip', ([phase], ref) => ({
    phase: required(phase, 'Name the phase to continue at.', `skip ${ref.planId} ${ref.ticketId} <phase>`),
  }));
}

export async function respond(
  io: Io,
  options: GlobalOptions,
  first: string,
  second: string | undefined,
  third: string | undefined,
  message: string[],
): Promise<void> {
  return act(io, options, [first, second, third, ...message], 'respond', ([decision, ...words], ref) => ({
    decision: required(decision, 'Name the decision.', `respond ${ref.planId} ${ref.ticketId} <decision>`),
    message: words.join(' '),
  }));
}

function required(word: string | undefined, message: string, command: string): string {
  if (word !== undefined) return word;
  throw new InputError('usage', message, { hint: `signalbox ${command}` });
}

export async function stop(io: Io, options: GlobalOptions, first: string, second: string | undefined) {
  const { store } = await openState(io, options, (state) => state.glance());
  const planId = second === undefined ? planNamed(io, store, 'stop', first) : undefined;
  if (planId !== undefined && store.hasPlan(planId)) return pausePlan(io, options, planId);
  return act(io, options, [first, second], 'stop');
}

/** Does what a person wants with the ticket that the words name; `more` reads the words behind it. */
async function act(
  io: Io,
  options: GlobalOptions,
  words: Words,
  type: Wish['type'],
  more: (rest: string[], ref: TicketRef) => object = () => ({}),
): Promise<void> {
  const engine = await openEngine(io, options, type);
  const { ref, rest } = ticketNamed(io, engine.store, type, words);
  const { planId, ticketId } = ref;
  const ticket = await carryOutCommand(engine, ref, { type, ...more(rest, ref) } as Wish, 'a person');
  const { status, currentPhase } = ticket;
  const at = currentPhase && currentPhase !== status ? ` at ${currentPhase}` : '';
  const moves = status === 'ready' || status === 'queued' || status === 'running';
  const next = moves ? nextStep(engine, planId) : '';
  answer(io, options, ticket, `${planId}/${ticketId} is ${status.replace('_', ' ')}${at}.${next}`);
}

export async function pausePlan(io: Io, options: GlobalOptions, planId: string): Promise<void> {
  const engine = await openEngine(io, options, 'pause-plan');
  const plan = await pauseIn(engine, planId, 'a person');
  answer(io, options, plan, [
    `Plan ${planId} is ${plan.status}.`,
    `Continue with: signalbox resume ${planId}. Give it up with: signalbox cancel ${planId}`,
  ]);
}

export async function resumePlan(io: Io, options: GlobalOptions, planId: string): Promise<void> {
  const engine = await openEngine(io, options, 'resume-plan');
  const plan = await resumeIn(engine, planId);
  answer(io, options, plan, `Plan ${planId} is ${plan.status}.${nextStep(engine, planId)}`);
}

/** Runs of issues and specs continue here, unless a daemon has them. Other plans continue where they are run. */
export async function resume(
  io: Io,
  options: GlobalOptions & { answer?: string },
  planId: string | undefined,
  ticketId: string | undefined,
): Promise<void> {
  if (options.answer?.trim() === '')
    throw new InputError('usage', '--answer is empty.', {
      hint: 'Write what the agent should know: --answer "Use the new table."',
    });
  const engine = await openEngine(io, options, 'resume');
  const id = planId ? planNamed(io, engine.store, 'resume', planId) : await latestStopped(engine, io.cwd);
  if (ticketId || !engine.store.hasPlan(id)) return act(io, options, [planId, ticketId], 'resume');
  const found = engine.store.plan(id);
  io.resumesSpec = found.kind === 'spec';
  if (found.kind === 'spec') return resumeSpecHere(io, options, engine, id);
  if (options.answer !== undefined)
    throw new InputError('usage', `--answer is for runs of specs, and "${id}" is none.`, {
      hint: `Answer a gate with: signalbox respond ${id} <ticket> <decision> "…"`,
    });
  if (found.kind === 'run') {
    if (!isRunByDaemon(engine, id)) return (await import('./run.ts')).resumeIssues(id, options, io);
    const { adoptFinished } = await import('../../features/issue-runs/resume-run-and-handle-newer-runs.ts');
    await adoptFinished(engine, id);
    if (found.status === 'active' && stoppedIn(engine, id).length === 0) {
      const text = `Run ${id} is ${found.status}.${nextStep(engine, id)}`;
      return answer(io, options, { plan: found, resumed: [] }, text);
    }
  }
  const { plan, tickets } = await resumeAll(engine, id);
  const which = tickets.length > 0 ? ` (${tickets.join(', ')} resumed)` : '';
  const text = `Plan ${plan.id} is ${plan.status}${which}.${nextStep(engine, plan.id)}`;
  answer(io, options, { plan, resumed: tickets }, text);
}

/** A spec continues here. If a daemon has it, it only gets the answer. */
async function resumeSpecHere(
  io: Io,
  options: GlobalOptions & { answer?: string },
  engine: EngineContext,
  planId: string,
): Promise<void> {
  if (!isRunByDaemon(engine, planId)) return (await import('./run-spec.ts')).resumeSpec(planId, options, io);
  const { answerHalt, takeSpec } = await import('../../features/spec-runs/start-spec-run.ts');
  if (options.answer !== undefined) await answerHalt(engine, planId, options.answer);
  const plan = await takeSpec(engine, planId, { leave: true });
  const text = `Plan ${planId} is ${plan.status}.${nextStep(engine, planId)}`;
  answer(io, options, { plan, resumed: [] }, text);
}

/** What continues a plan: the daemon or run that has it, or a command. */
export function nextStep(engine: EngineContext, planId: string): string {
  const plan = engine.store.plan(planId);
  const { claim, status } = plan;
  if (status === 'paused') return ` Its plan is paused. Continue with: signalbox resume ${planId}`;
  if (claim && engine.holder.isLive(claim)) return ` Its run (pid ${claim.pid}) continues it.`;
  const daemon = engine.holder.daemon();
  if (daemon) return ` Daemon ${daemon.pid} continues it.`;
  return ` ${plan.kind === undefined ? 'Run it' : 'Continue'} with: ${runCommand(plan)}`;
}
