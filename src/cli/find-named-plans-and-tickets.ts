import { existsSync, realpathSync } from 'node:fs';
import { repositoryOf } from '../config/find-config-and-state.ts';
import { expandPath, userHome } from '../machine/paths-and-user-home.ts';
import { InputError } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import {
  LAST,
  latestFinished,
  latestPlan,
  newestFirst,
  unknownPlan,
} from '../model/plans/latest-plans-and-unknown-name-errors.ts';
import { planOf, ticketOf } from '../model/plans/plans-view.ts';
import { answerCommands, asShown, isToRetry } from '../model/state/explain-ticket.ts';
import { nearest } from '../model/text/nearest-word.ts';
import { isCancelled, legalCommands, newerRunOf, type Ticket } from '../model/ticket.ts';
import type { Store } from '../store/store-interface.ts';
import type { Io } from './io.ts';
import { type GlobalOptions, openEngine } from './open-settings-store-and-engine.ts';

/** The plan that a word after a command names; without a word, the latest one. */
export function planNamed(io: Io, store: Store, command: string, word: string | undefined): string {
  return word === undefined || word === LAST ? lastPlan(io, store, command).id : word;
}

/** The engine for a command about one plan, and that plan's id. */
export async function openNamed(io: Io, options: GlobalOptions, command: string, word: string) {
  const engine = await openEngine(io, options, command.replace('plan ', ''));
  return { engine, id: planNamed(io, engine.store, command, word) };
}

const MAX_CANDIDATES = 5;

/**
 * The plan that was made last; inside a repository, the last one of this repository. If it has none, commands that change nothing
 * take the last one of all.
 */
function lastPlan(io: Io, store: Store, command: string): Plan {
  const { latest, all } = latestPlan(store.glance(), plansHere(io, store));
  if (latest) return latest;
  const [other] = all;
  if (other && READ_ONLY_COMMANDS.has(command)) return other;
  if (other)
    throw new InputError('plan/elsewhere', 'This repository has no plans.', {
      hint: [
        'The latest of other repositories:',
        ...all.slice(0, MAX_CANDIDATES).map(({ id }) => commandOf(io, id)),
      ].join('\n'),
    });
  throw new InputError('plan/none', 'There are no plans yet.', {
    hint: 'Start with: signalbox run --task "Fix the typo in README"',
  });
}

/** The command line with the name of a plan for `@last`. */
function commandOf({ argv }: Io, planId: string): string {
  return ['signalbox', ...argv].map((word) => (word === LAST ? planId : word)).join(' ');
}

/** Whether a plan, or a ticket of it, works in the repository of the current directory; undefined outside of one. */
export function plansHere(io: Io, store: Pick<Store, 'tickets'>): ((plan: Plan) => boolean) | undefined {
  const here = repositoryOf(io.cwd);
  if (here === null) return undefined;
  const known = new Map<string, boolean>();
  const isHere = (path: string): boolean => {
    const found = known.get(path) ?? isSameRepository(expandPath(path, io.cwd, userHome(io.env)), here);
    known.set(path, found);
    return found;
  };
  return (plan) =>
    typeof plan.repo === 'string'
      ? isHere(plan.repo)
      : store.tickets(plan).some(({ repo }) => typeof repo === 'string' && isHere(repo));
}

/** Compares real paths, so that links hide no plan. */
function isSameRepository(path: string, here: string): boolean {
  const real = (each: string) => (existsSync(each) ? realpathSync.native(each) : each);
  return path === here || real(repositoryOf(path) ?? path) === real(here);
}

/** Commands that change nothing: they also take the only ticket of a plan, and tickets of finished plans by their id. */
export const READ_ONLY_COMMANDS: ReadonlySet<string> = new Set([
  'attach',
  'diff',
  'logs',
  'report',
  'sessions',
  'status',
  'top',
]);
/** Commands that change something and take a complete ticket. */
const COMMANDS_FOR_COMPLETE: ReadonlySet<string> = new Set(['integrate', 'merge', 'resume-session']);
/** How many words may follow the id of a ticket; after other commands none. */
const WORDS_BEHIND: Readonly<Record<string, number>> = {
  skip: 1,
  'resume-session': 1,
  respond: Number.POSITIVE_INFINITY,
};

/**
 * The ticket that the words after a command name, and the words behind it: a plan and a ticket, or the id of a ticket that
 * only one open plan has.
 */
export function ticketNamed(
  io: Io,
  store: Store,
  command: string,
  words: readonly (string | undefined)[],
): { ref: TicketRef; rest: string[] } {
  const [word, ...others] = words.filter((each) => each !== undefined);
  const first = word ?? (READ_ONLY_COMMANDS.has(command) ? LAST : undefined);
  if (first === undefined) throw missingName(io, store, command, 'Name a ticket, or a plan and a ticket.');
  const takesComplete = READ_ONLY_COMMANDS.has(command) || COMMANDS_FOR_COMPLETE.has(command);
  if (first === LAST || store.hasPlan(first)) {
    const planId = planNamed(io, store, command, first);
    const [ticketId, ...rest] = others;
    if (ticketId !== undefined) return { ref: { planId, ticketId }, rest };
    const ids = store.plan(planId).tickets.map((entry) => entry.ticketId);
    const [only] = ids;
    if (only !== undefined && ids.length === 1 && READ_ONLY_COMMANDS.has(command))
      return { ref: { planId, ticketId: only }, rest: [] };
    const commands = takesComplete
      ? ids.map((id) => `signalbox ${command} ${planId} ${id}`)
      : store
          .tickets(planId)
          .map(asShown)
          .flatMap((ticket) => commandsFor(command, store.plan(planId), [ticket]));
    throw new InputError('usage', `Which ticket of "${planId}"?`, {
      hint: listed(commands, `signalbox status ${planId}`) || `To see them: signalbox status ${planId}`,
    });
  }
  const view = store.glance();
  const has = ({ tickets }: Plan) => tickets.some(({ ticketId }) => ticketId === first);
  // The latest run of an issue has its work.
  const latestRun = (plan: Plan): Plan => {
    const ticket = ticketOf(view, { planId: plan.id, ticketId: first });
    const newer = planOf(view, ticket && newerRunOf(ticket));
    return newer && newer !== plan && has(newer) ? latestRun(newer) : plan;
  };
  const having = [...new Set(view.plans.filter(has).map(latestRun))];
  const [older] = having.length === 0 ? latestFinished(view, has) : [];
  if (older && !READ_ONLY_COMMANDS.has(command)) {
    const ticket = store.ticket({ planId: older.id, ticketId: first });
    const status = isCancelled(ticket) ? 'cancelled' : ticket.status.replace('_', ' ');
    throw new InputError('plan/unknown', `Ticket "${first}" is ${status} in plan "${older.id}".`, {
      hint:
        ticket.status === 'complete' && !takesComplete
          ? `It accepts no more commands. To see its work: signalbox diff ${older.id} ${first}`
          : `That plan is finished. Name it, too: signalbox ${[command, older.id, first, ...others].join(' ')}`,
    });
  }
  const [plan, ...more] = older ? [older] : having;
  if (plan === undefined) {
    const reached = READ_ONLY_COMMANDS.has(command) ? [...view.plans, ...latestFinished(view)] : view.plans;
    const tickets = new Set(reached.flatMap((each) => each.tickets.map(({ ticketId }) => ticketId)));
    const near = nearest(first, [...tickets, ...view.plans.map(({ id }) => id)]);
    if (near !== undefined && tickets.has(near))
      throw new InputError('plan/unknown', `There is no plan and no open ticket "${first}".`, {
        hint: `Did you mean: signalbox ${[command, near, ...others].join(' ')}`,
      });
    const isHere = plansHere(io, store) ?? (() => true);
    const all = [...latestFinished(view), ...view.plans];
    const known = [...all.filter((each) => !isHere(each)), ...all.filter(isHere)].map(({ id }) => id);
    throw unknownPlan(first, known, { path: store.location({ planId: first, ticketId: null }) });
  }
  // With one word more, the first was meant as a plan.
  if (others.length > (WORDS_BEHIND[command] ?? 0))
    throw new InputError('plan/unknown', `There is no plan "${first}".`, {
      hint: `It is a ticket: signalbox ${command} ${plan.id} ${first}`,
    });
  if (more.length === 0) return { ref: { planId: plan.id, ticketId: first }, rest: others };
  throw new InputError('ticket/ambiguous', `${having.length} open plans have a ticket "${first}".`, {
    hint: having.map(({ id }) => `signalbox ${[command, id, first, ...others].join(' ')}`).join('\n'),
  });
}

/** A command that changes something, without a name: lists what it takes now, as commands. */
function missingName(io: Io, store: Store, command: string, message: string): InputError {
  const { plans, tickets } = store.glance();
  const isHere = plansHere(io, store) ?? (() => true);
  const here = plans.filter(isHere);
  const commands = (here.length > 0 ? here : plans).toSorted(newestFirst).flatMap((plan) => {
    const own = plan.tickets.flatMap((entry) => tickets.get(refKey({ ...entry, planId: plan.id })) ?? []);
    const running = ({ status }: Ticket) => Number(status === 'running');
    return commandsFor(
      command,
      plan,
      own.map(asShown).sort((a, b) => running(b) - running(a)),
    );
  });
  const none = `To see them: signalbox status\nHelp: signalbox ${command} --help`;
  return new InputError('usage', message, { hint: listed(commands, 'signalbox status') || none });
}

/** The first of these commands, a line each, and how to see the others. */
function listed(commands: readonly string[], others: string): string {
  const more = commands.length - MAX_CANDIDATES;
  return [...commands.slice(0, MAX_CANDIDATES), ...(more > 0 ? [`and ${more} more: ${others}`] : [])].join(
    '\n',
  );
}

/** The command for each of these tickets that takes it now; for commands that also take plans, that of the plan. */
function commandsFor(command: string, plan: Plan, tickets: readonly Ticket[]): string[] {
  const line = (...words: string[]) => ['signalbox', command, ...words].join(' ');
  const takes = (name: string, ...more: string[]) =>
    tickets
      .filter((ticket) => legalCommands(ticket).some((each) => each === name))
      .map(({ ticketId }) => line(plan.id, ticketId, ...more));
  switch (command) {
    case 'cancel':
      return [line(plan.id)];
    case 'stop':
      return plan.status === 'active' ? [line(plan.id)] : [];
    case 'respond':
      return tickets
        .filter(({ hold, status }) => status === 'needs_attention' && hold?.kind === 'gate')
        .flatMap((ticket) => answerCommands(ticket, plan));
    case 'retry': {
      const failed = tickets.filter(isToRetry);
      return failed.length > 1
        ? [line('--failed', plan.id)]
        : failed.map(({ ticketId }) => line(plan.id, ticketId));
    }
    case 'skip':
      return takes('skip', '<phase>');
    case 'resume-session':
      return tickets
        .filter(({ phaseHistory }) => phaseHistory.some(({ sessionId }) => sessionId !== null))
        .map(({ ticketId }) => line(plan.id, ticketId));
    default:
      return takes(command);
  }
}

/** The plan or the ticket that the words after a command name. */
export function planOrTicketNamed(
  io: Io,
  store: Store,
  command: string,
  [word, second]: readonly (string | undefined)[],
): { planId: string; ticketId?: string } {
  const first = word ?? (READ_ONLY_COMMANDS.has(command) ? LAST : undefined);
  if (first === undefined) throw missingName(io, store, command, 'Name a plan or a ticket.');
  return second === undefined && (first === LAST || store.hasPlan(first))
    ? { planId: planNamed(io, store, command, first) }
    : ticketNamed(io, store, command, [first, second]).ref;
}
