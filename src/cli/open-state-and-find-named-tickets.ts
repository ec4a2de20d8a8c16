import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageDir, plainStateDir, repositoryOf } from '../config/find-config-and-state.ts';
import { findStoreAddress, type StoreAddress } from '../config/find-store-address.ts';
import type { Settings } from '../config/settings-table.ts';
import type { EngineContext } from '../engine/context.ts';
import { expandPath, userHome } from '../machine/home-path.ts';
import { InputError, ifUsable } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
import type { TicketRef } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import {
  LAST,
  latestFinished,
  latestPlan,
  unknownPlan,
} from '../model/plans/latest-plans-and-unknown-name-errors.ts';
import { planOf, ticketOf } from '../model/plans/plans-view.ts';
import { nearest } from '../model/text/nearest-word.ts';
import { isCancelled, newerRunOf } from '../model/ticket.ts';
import { openForReading } from '../store/open-for-reading.ts';
import type { Store } from '../store/store-interface.ts';
import { type Io, wordsOf } from './io.ts';

export interface GlobalOptions {
  config?: string;
  json?: boolean;
  /** The address of a fleet's store. */
  store?: string;
}

export async function openSettings(
  io: Io,
  options: GlobalOptions,
  flags: Record<string, unknown> = {},
): Promise<Settings> {
  const { loadSettings } = await import('../config/load-settings.ts');
  return loadSettings({
    cwd: io.cwd,
    env: io.env,
    configPath: options.config,
    flags,
    packageDir: packageDir(),
  });
}

/** The address of the fleet's store; undefined where the state is in files. */
export function storeAddress(io: Io, { store }: GlobalOptions): StoreAddress | undefined {
  return findStoreAddress({ env: io.env, cwd: io.cwd, argument: store });
}

/** Opens the store that the options name, to read from it. */
export async function openNamedStore<T>(
  io: Io,
  options: GlobalOptions,
  { stateDir, fleet }: Pick<Settings, 'stateDir'> & Partial<Pick<Settings, 'fleet'>>,
  read: (store: Store) => T,
) {
  const address = storeAddress(io, options);
  const { env, cwd } = io;
  const leaseMs = fleet && fleet.leaseSeconds * 1000;
  const place = { stateDir, address, env, cwd, leaseMs, command: commandName(io) };
  const opened = await openForReading(place, read);
  if (address) io.atEnd(() => opened.store.close());
  return opened;
}

/** The same for a command that continues to read: what it has read is kept in memory. */
export async function openLiveStore(
  io: Io,
  options: GlobalOptions,
  settings: Pick<Settings, 'stateDir' | 'fleet'>,
): Promise<Store> {
  if (storeAddress(io, options)) return (await openNamedStore(io, options, settings, () => undefined)).store;
  return (await import('../store/open-file-store-with-schemas.ts')).openStore(settings.stateDir);
}

/** The store alone, for commands that only show something: everything that they show is read by `read` first. */
export async function openState<T>(io: Io, options: GlobalOptions, read: (store: Store) => T) {
  const plain = plainStateDir({ cwd: io.cwd, env: io.env, configPath: options.config });
  const stateDir = plain ?? (await openSettings(io, options)).stateDir;
  return { stateDir, ...(await openNamedStore(io, options, { stateDir }, read)) };
}

/** One plan as it is stored; null where it cannot be read, undefined where there is none. Other plans are not read. */
export async function openPlan(io: Io, options: GlobalOptions, planId: string) {
  const settings = await openSettings(io, options);
  const { store, view } = await openNamedStore(io, options, settings, (state) =>
    state.hasPlan(planId) ? (ifUsable(() => state.plan(planId)) ?? null) : undefined,
  );
  return { settings, store, plan: view };
}

export async function openEngine(
  io: Io,
  options: GlobalOptions,
  by: string,
  more: { flags?: Record<string, unknown>; listen?: (event: EngineEvent) => void } = {},
): Promise<EngineContext> {
  const [settings, engine] = await Promise.all([
    openSettings(io, options, more.flags),
    import('../api/open-engine-with-features.ts'),
  ]);
  const bell = io.tty ? () => io.stderr.write('\u0007') : undefined;
  const address = storeAddress(io, options);
  const command = DRIVERS.has(by) ? undefined : commandName(io);
  const store = address && (await fleetStore(io, address, settings, command));
  const opened = engine.openEngine({
    settings,
    env: io.env,
    by,
    door: by === 'top' || by === 'web' ? by : 'cli',
    bell,
    store,
    handsOver: address !== undefined,
    ...(more.listen ? { listen: more.listen } : {}),
  });
  if (address) io.atEnd(() => opened.store.close());
  await opened.store.refresh();
  return opened;
}

/** Processes that change tickets all the time, and by no command of a person. */
const DRIVERS: ReadonlySet<string> = new Set(['worker', 'daemon']);
const GROUPS: ReadonlySet<string> = new Set(['plan', 'fleet', 'workspace', 'forge']);

/** The command as it is recorded: without its arguments, which may be secret. */
export function commandName({ argv }: Io): string {
  const [first = '', second = ''] = wordsOf(argv);
  return GROUPS.has(first) ? `${first} ${second}` : first;
}

async function fleetStore(
  { env, cwd }: Io,
  address: StoreAddress,
  { stateDir, fleet }: Settings,
  command: string | undefined,
) {
  const { postgresStore } = await import('../store/postgres/open-postgres.ts');
  return postgresStore({ address, env, cwd, stateDir, command, leaseMs: fleet.leaseSeconds * 1000 });
}

/** The setting that `--no-base-check` stands for. */
export function baseCheckFlag({ baseCheck }: { baseCheck?: boolean | undefined }): { baseCheck?: 'off' } {
  return baseCheck === false ? { baseCheck: 'off' } : {};
}

/** The command line of this program, for another process. */
export function ownCommand(): [node: string, cli: string] {
  return [process.execPath, join(packageDir(), 'dist', 'cli.cjs')];
}

/** Refuses to run agents with the settings of an untrusted repository, which could bring plans and workflows of its own. */
export function trusted(settings: Settings): void {
  const file = settings.untrusted;
  if (file === null) return;
  throw new InputError(
    'config/untrusted',
    `${file} decides where plans come from, and you have not trusted its directory.`,
    {
      hint: `Read it first; if you agree with it, run: signalbox config trust ${dirname(file)}`,
      details: { file },
    },
  );
}

export async function openRunner(...args: Parameters<typeof openEngine>): Promise<EngineContext> {
  const engine = await openEngine(...args);
  trusted(engine.settings);
  return engine;
}

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
const READ_ONLY_COMMANDS: ReadonlySet<string> = new Set([
  'attach',
  'diff',
  'logs',
  'report',
  'sessions',
  'status',
  'top',
]);
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
  const [first, ...others] = words.filter((word) => word !== undefined);
  if (first === undefined)
    throw new InputError('usage', 'Name a ticket, or a plan and a ticket.', {
      hint: `Help: signalbox ${command} --help`,
    });
  if (first === LAST || store.hasPlan(first)) {
    const planId = planNamed(io, store, command, first);
    const [ticketId, ...rest] = others;
    if (ticketId !== undefined) return { ref: { planId, ticketId }, rest };
    const ids = store.plan(planId).tickets.map((entry) => entry.ticketId);
    const [only] = ids;
    if (only !== undefined && ids.length === 1 && READ_ONLY_COMMANDS.has(command))
      return { ref: { planId, ticketId: only }, rest: [] };
    const shown = ids.slice(0, MAX_CANDIDATES);
    throw new InputError('usage', `Which ticket of "${planId}"?`, {
      hint: [
        ...shown.map((id) => `signalbox ${command} ${planId} ${id}`),
        ...(ids.length > shown.length
          ? [`and ${ids.length - shown.length} more: signalbox status ${planId}`]
          : []),
      ].join('\n'),
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
      hint: `That plan is finished. Name it, too: signalbox ${[command, older.id, first, ...others].join(' ')}`,
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

/** The plan or the ticket that the words after a command name. */
export function planOrTicketNamed(
  io: Io,
  store: Store,
  command: string,
  [first = LAST, second]: readonly (string | undefined)[],
): { planId: string; ticketId?: string } {
  return second === undefined && (first === LAST || store.hasPlan(first))
    ? { planId: planNamed(io, store, command, first) }
    : ticketNamed(io, store, command, [first, second]).ref;
}

/** Refuses what is not a positive whole number, before anything is opened. */
export function positiveInteger(flag: string, value: string | number | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^[1-9]\d{0,5}$/.test(String(value)))
    throw invalid(flag, value, 'Must be a positive integer.', `For example: ${flag} 4`);
  return Number(value);
}

export function oneOf<const T extends string>(flag: string, value: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw invalid(flag, value, `Must be ${choices.join(' or ')}.`, `For example: ${flag} ${choices.at(-1)}`);
}

export function invalid(flag: string, value: unknown, rule: string, hint?: string): InputError {
  return new InputError('usage', `Invalid ${flag} value: ${value}. ${rule}`, { hint });
}

/** What the settings say about how an engine runs. */
export function limitsOf({ maxConcurrency, pollInterval }: Settings) {
  return { maxConcurrency, checkEveryMs: pollInterval * 1000 };
}
