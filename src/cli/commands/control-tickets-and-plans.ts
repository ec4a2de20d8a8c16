import {
  carryOutCommand,
  latestStopped,
  pausePlan as pauseIn,
  resumePlan as resumeIn,
} from '../../engine/control-tickets-and-plans.ts';
import { InputError, messageOf, orError, SignalboxError } from '../../model/errors.ts';
import { refKey, refOf, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { answerCommands, asShown, isToRetry } from '../../model/state/explain-ticket.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { type Attempt, isCancelled, type Ticket } from '../../model/ticket.ts';
import { nextStep, sayTicketMoved } from '../../report/next-step-after-command.ts';
import { usageOfAttempts } from '../../report/style-and-phrases.ts';
import type { Store } from '../../store/store-interface.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { openNamed, planNamed, planOrTicketNamed, ticketNamed } from '../find-named-plans-and-tickets.ts';
import { answer, confirmed, type Io } from '../io.ts';
import { type GlobalOptions, openEngine, openState } from '../open-settings-store-and-engine.ts';

type Wish = Parameters<typeof carryOutCommand>[2];
type Words = (string | undefined)[];

export async function pause(io: Io, options: GlobalOptions, ...words: Words): Promise<void> {
  return act(io, options, words, 'pause');
}

type RetryOptions = OptionsOf<'retry'>;

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
  const all = engine.store.tickets(engine.store.plan(planId));
  const cancelled = all.filter(isCancelled);
  const failed = all.filter(isToRetry);
  const back = `signalbox retry ${planId} ${cancelled.length === 1 ? cancelled[0]?.ticketId : '<ticket>'}`;
  const left =
    cancelled.length > 0
      ? [`${plural(cancelled.length, 'cancelled ticket')} left out. To bring one back: ${back}`]
      : [];
  const spent = usageOfAttempts(failed.flatMap(lastWithUsage));
  const cost = /\d/.test(spent) ? `${spent}, as their last attempts used` : 'cost unknown';
  const estimate = failed.length > 0 ? `; estimated: ${cost}` : '';
  const about = `${plural(failed.length, 'failed ticket')} of ${planId}${estimate}`;
  if (failed.length > MAX_UNASKED && !options.yes && !confirmed(io, `Retry ${about}?`))
    throw new InputError('usage', `Nothing was retried: ${about}.`, {
      hint: `Retry them with: signalbox retry --failed ${planId} --yes`,
    });
  const tickets: Ticket[] = [];
  const refused: string[] = [];
  for (const ref of failed) {
    // One that is refused keeps none of the others from being retried.
    const ticket = await orError(SignalboxError, () => carryOutCommand(engine, refOf(ref), wish, 'a person'));
    if (!(ticket instanceof SignalboxError)) tickets.push(ticket);
    else refused.push(`! ${refKey(ref)} was not retried: ${messageOf(ticket)}`);
  }
  const next = tickets.length > 0 ? nextStep(engine, planId) : '';
  const done = refused.length === 0 ? about : `${tickets.length} of ${about}`;
  answer(io, options, tickets, [`Retried ${done}.${next}`, ...left]);
  if (refused.length === 0) return;
  io.err(refused);
  io.exit(1);
}

/** The last attempt of an agent at a ticket. */
function lastWithUsage({ phaseHistory }: Ticket): Attempt | [] {
  return phaseHistory.findLast(({ agent }) => agent !== null) ?? [];
}

export async function skip(io: Io, options: GlobalOptions, ...words: Words): Promise<void> {
  return act(io, options, words, 'skip', ([phase], ref) => ({ phase: phase ?? nameThePhase(ref) }));
}

export async function respond(io: Io, options: GlobalOptions, ...given: (Words[number] | string[])[]) {
  return act(io, options, given.flat(), 'respond', ([decision, ...words], ref, store) => ({
    decision: decision ?? nameTheDecision(store, ref),
    message: words.join(' '),
  }));
}

/** Lists the decisions of a gate. A ticket that asks nothing is refused as with any decision. */
function nameTheDecision(store: Store, ref: TicketRef): string {
  const ticket = asShown(store.ticket(ref));
  if (ticket.hold?.kind !== 'gate') return '';
  const commands = answerCommands(ticket, store.plan(ref.planId));
  throw new InputError('usage', 'Name the decision.', { hint: commands.join('\n') });
}

function nameThePhase({ planId, ticketId }: TicketRef): never {
  throw new InputError('usage', 'Name the phase to continue at.', {
    hint: `signalbox skip ${planId} ${ticketId} <phase>`,
  });
}

export async function stop(io: Io, options: GlobalOptions, first: string | undefined, second?: string) {
  const { store } = await openState(io, options, (state) => state.glance());
  const { planId, ticketId } = planOrTicketNamed(io, store, 'stop', [first, second]);
  if (ticketId === undefined) return pausePlan(io, options, planId);
  await act(io, options, [first, second], 'stop');
  if (!options.json) io.out(stopped(`${planId} ${ticketId}`));
}

/** Does what a person wants with the ticket that the words name; `more` reads the words behind it. */
async function act(
  io: Io,
  options: GlobalOptions,
  words: Words,
  type: Wish['type'],
  more: (rest: string[], ref: TicketRef, store: Store) => object = () => ({}),
): Promise<void> {
  const engine = await openEngine(io, options, type);
  const { ref, rest } = ticketNamed(io, engine.store, type, words);
  const ticket = await carryOutCommand(
    engine,
    ref,
    { type, ...more(rest, ref, engine.store) } as Wish,
    'a person',
  );
  answer(io, options, ticket, sayTicketMoved(engine, ticket));
}

export async function pausePlan(io: Io, options: GlobalOptions, word: string): Promise<void> {
  const { engine, id: planId } = await openNamed(io, options, 'pause-plan', word);
  const plan = await pauseIn(engine, planId, 'a person');
  answer(io, options, plan, [`Plan ${planId} is ${plan.status}.`, stopped(planId)]);
}

const stopped = (names: string) =>
  `Continue with: signalbox resume ${names}. Give it up with: signalbox cancel ${names}`;

export async function resumePlan(io: Io, options: GlobalOptions, word: string): Promise<void> {
  const { engine, id: planId } = await openNamed(io, options, 'resume-plan', word);
  const plan = await resumeIn(engine, planId);
  answer(io, options, plan, `Plan ${planId} is ${plan.status}.${nextStep(engine, planId)}`);
}

/** Runs of issues and specs continue here, unless a daemon has them. Other plans continue where they are run. */
export async function resume(
  io: Io,
  options: OptionsOf<'resume'>,
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
  if (options.answer !== undefined && found.kind !== 'spec')
    throw new InputError('usage', `--answer is for runs of specs, and "${id}" is not one.`, {
      hint: `Answer a gate with: signalbox respond ${id} <ticket> <decision> "…"`,
    });
  const { resumeElsewhere } = await import('../../api/resume-plan-without-terminal.ts');
  const resumed = await resumeElsewhere(engine, id, options.answer);
  if (resumed) {
    const { plan, resumed: tickets } = resumed;
    const which = tickets.length > 0 ? ` (${tickets.join(', ')} resumed)` : '';
    const what = plan.kind === 'run' && tickets.length === 0 ? 'Run' : 'Plan';
    return answer(io, options, resumed, `${what} ${id} is ${plan.status}${which}.${nextStep(engine, id)}`);
  }
  return found.kind === 'spec'
    ? (await import('./run-spec.ts')).resumeSpec(id, options, io)
    : (await import('./run.ts')).resumeIssues(id, options, io);
}
