import type { DoctorFinding } from '../config/doctor/check-programs.ts';
import type { Settings } from '../config/settings-table.ts';
import { isStorageError } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { type Machine, machineIn } from '../machine/machine-files-and-locks.ts';
import type { ActionInputs, ActionName } from '../model/actions.ts';
import { InputError, messageOf } from '../model/errors.ts';
import { type Decided, type Door, type EngineEvent, TRANSIENT } from '../model/events.ts';
import type { Changed, TicketRef } from '../model/ids-and-branch-names.ts';
import type { Claim } from '../model/lease-and-claim-messages.ts';
import type { CommonPlan, Plan } from '../model/plan.ts';
import type { PlanSchema } from '../model/plan-schema.ts';
import { type Redact, redactAll } from '../model/text/find-and-redact-secrets.ts';
import type { Ticket } from '../model/ticket.ts';
import type { HandedOver, WorkPlace } from '../model/ticket-schema.ts';
import type { ActionEnd, Place } from '../phases/perform-phase.ts';
import { redactorOf, secretKeeper } from '../sandbox/secret-redactors-and-fingerprints.ts';
import { openStore } from '../store/open-file-store-with-schemas.ts';
import type { Holder, Store, StoreOptions, StoreView } from '../store/store-interface.ts';
import { createWorkspaces, type Workspaces } from '../workspaces/workspaces.ts';
import { type Crash, crashPoints } from './crash-points.ts';
import type { PlanHooks } from './plan-hooks-interface.ts';
import type { TicketWorkspace } from './work-out-workspace-and-repository.ts';

/** What the engine and the features work with. Everything is passed in: code below this reads no environment variables or other global state. */
export interface EngineContext {
  store: Store;
  settings: Settings;
  workspaces: Workspaces;
  holder: Holder;
  machine: Machine;
  /** Removes secrets from what is kept or shown. */
  redact: Redact;
  /** Called before a job is started: its secrets must be recognised in what it prints. */
  rememberSecrets(): void;
  env: Record<string, string>;
  /** The job that this process belongs to, if an engine started it: what it starts ends with that job. */
  job?: string | undefined;
  /** The way in which a person reaches this process, and their name if it is not that of the account. */
  door?: Door | undefined;
  person?: string | undefined;
  /** Ends what an action has under way; only an action's own context has it. */
  signal?: AbortSignal | undefined;
  /** On a fleet, throws a HeldError where another process may have the ticket or merge; only the contexts of actions and merges have it. */
  mayAct?: (() => Promise<void>) | undefined;
  /** Bundled steps that phases of type `action` name. */
  actions: Actions;
  now(): string;
  /** Rings the terminal's bell; undefined without a terminal. */
  bell?: (() => void) | undefined;
  /** Every event, in order. Must not throw. */
  listen(event: EngineEvent): void;
  /** Resolves when files that the plan kinds keep are up to date; with a plan, that plan's are written now. */
  flush(planId?: string): Promise<void>;
  crash: Crash;
  /** Hooks by the value of `kind` in plan.json; null: plans without one. */
  kinds: ReadonlyMap<string | null, PlanHooks>;
  /** Notifies people of what happens to plans; undefined: no notifications. */
  notifications?: ((context: EngineContext) => Notifications) | undefined;
  /** Finds what would make work fail after agents were paid for it; undefined: nothing is checked before a start. */
  preflight?: Preflight | undefined;
  /** Carries work between the machines of a fleet; undefined: all work is done on this one. */
  handOver?: HandOver | undefined;
}

/** Brings the work of tickets to other machines, and fetches it from there. */
export interface HandOver {
  /** This machine, as tickets record it. */
  readonly machine: WorkPlace;
  /**
   * Brings an attempt's work to where other machines find it: after its exit record, before its end is stored. Returns what the ticket
   * has to record, or undefined where nothing is new. Throws a HeldError where another machine has the ticket.
   */
  publish(plan: Plan, at: TicketPlace): Promise<HandedOver | undefined>;
  /** The same for a plan that is being moved into the store. No machine has its tickets yet, so what origin has from before is replaced. */
  publishImported(plan: Plan, at: TicketPlace): Promise<HandedOver | undefined>;
  /**
   * Called before a workspace is prepared. Where another machine worked on the ticket last, its commits are fetched, and `finish` restores
   * the uncommitted work once the worktree is there.
   */
  fetch(plan: Plan, at: TicketPlace): Promise<{ finish(): Promise<void> } | undefined>;
  /** Brings the branch of a complete ticket that another machine worked on into the clone of this one. */
  bringBranch(plan: Plan, at: TicketPlace): Promise<void>;
  /** The work that another machine handed over last, as a commit here; undefined where this machine has the work itself. */
  ofOtherMachine(plan: Plan, at: TicketPlace): Promise<string | undefined>;
}

/** What is about to start: tickets of a plan, which need not be stored yet. */
export interface StartRequest {
  plan: Plan;
  tickets: readonly Ticket[];
  /** Workflows that are not stored yet. */
  pinned?: readonly { hash: string; text: string }[];
  /** A daemon will start it, so slow checks that only give warnings are left to the daemon. */
  isDetached?: boolean;
  signal?: AbortSignal | undefined;
}

/** `bad` findings refuse the start; `warn` is worth knowing. Creates no plan, branch, worktree or log that stays. */
type Preflight = (context: EngineContext, request: StartRequest) => Promise<DoctorFinding[]>;

/** What an action works with. */
export interface ActionCall {
  /** Settings are those of the ticket's repository; programs that are started carry the mark of the attempt's job. */
  engine: EngineContext;
  ref: TicketRef;
  phase: string;
  place: Place;
  inputs: ActionInputs;
}

/** A bundled step. It checks before it acts, so that running it again after a crash comes to the same end. */
export type Action = (call: ActionCall) => Promise<ActionEnd>;
export type Actions = Readonly<Partial<Record<ActionName, Action>>>;

/** The end of a step that does its work in this process; `data` is what `--json` prints of it. */
export type StepEnd = Exclude<ActionEnd, { job: unknown }> & { data: unknown };

/** A kind of plan, as it is registered where the engine is opened. */
export interface PlanKind<P extends CommonPlan = Plan> {
  /** The value of `kind` in plan.json; null: plans without one. */
  kind: string | null;
  /** Checks the fields that plans of this kind have in addition to those of every plan. */
  schema?: PlanSchema;
  /** Called once for every engine; must not use the context before it returns. */
  hooks(context: EngineContext): PlanHooks<P>;
}

/** Sends notifications about what it sees in the state. Neither function may throw. */
export interface Notifications {
  /** `changed`: what may have changed since the last check. */
  queueNewNotices(view: StoreView, isMine: (plan: Plan) => boolean, changed?: Changed): void;
  /** Resolves when nothing is left to send. */
  settled(): Promise<void>;
}

/** What features add to the engine. */
interface EngineFeatures {
  handOver?: (context: EngineContext) => HandOver;
  kinds: readonly PlanKind<never>[];
  notifications?: (context: EngineContext) => Notifications;
  actions?: Actions;
  preflight?: Preflight;
}

export interface OpenOptions {
  settings: Settings;
  env: Record<string, string | undefined>;
  /** What holds the claims: `run`, `daemon`, `tick`, `session`, or the name of a command. */
  by: string;
  listen?: (event: EngineEvent) => void;
  bell?: (() => void) | undefined;
  /** Recorded with what a person decides. */
  door?: Door;
  /** Whether other machines may continue the work. */
  handsOver?: boolean;
  /** Default: the files of the state directory. */
  store?: Store | ((options: StoreOptions) => Store) | undefined;
}

/** Makes the context for one process. */
export function openEngine(
  options: OpenOptions,
  { kinds, notifications, actions = {}, preflight, handOver }: EngineFeatures,
): EngineContext {
  const { settings, by, listen, bell } = options;
  const known = kinds.flatMap(({ kind, schema }) => (kind === null ? [] : [[kind, schema ?? null] as const]));
  const machine = machineIn(settings.stateDir);
  const { storage } = machine;
  const persist = <T>(write: () => T | Promise<T>) => storage.write(write);
  const toStore: StoreOptions = { kinds: new Map(known), persist };
  const { store: make = (more: StoreOptions) => openStore(settings.stateDir, more) } = options;
  const store = typeof make === 'function' ? make(toStore) : make;
  const all = definedIn(options.env);
  // The address of the store gives the right to read and change everything in it.
  const given = withoutStoreLogin(all, options.store !== undefined);
  const env = withoutOwn(given);
  const hooks = new Map<string | null, PlanHooks>();
  const context: EngineContext = {
    store,
    machine,
    settings,
    workspaces: createWorkspaces({
      env: given,
      memory: machine.repositories,
      protectsGit: hasSandbox(settings),
    }),
    holder: store.holder(by),
    redact: redactorOf(settings, withPassword(all, store)),
    rememberSecrets: secretKeeper(settings, withPassword(withoutOwn(all), store), machine.fingerprints),
    env,
    job: given.SIGNALBOX_JOB,
    door: options.door,
    now: steadyClock(),
    bell,
    listen: (event) => {
      for (const each of hooks.values()) each.listen?.(event);
      listen?.(event);
    },
    flush: async (planId) => {
      for (const each of hooks.values()) await each.flush?.(planId);
    },
    crash: crashPoints(given),
    kinds: hooks,
    notifications,
    actions,
    preflight,
  };
  if (handOver) context.handOver = handOver(context);
  for (const each of kinds) {
    if (hooks.has(each.kind)) throw new Error(`The plan kind "${each.kind}" is registered twice.`);
    hooks.set(each.kind, each.hooks(context) as PlanHooks);
  }
  return context;
}

/** Settings that are read only when an engine is opened. */
const SETTINGS_READ_AT_START = ['stateDir', 'logDir', 'notify', 'storage'] as const;

const hasSandbox = ({ agents }: Settings) => Object.values(agents).some(({ sandbox }) => sandbox === 'bwrap');

/** Uses other settings for everything that starts from now on. Returns the names of those that need a new start instead. */
export function changeSettings(context: EngineContext, next: Settings, env: OpenOptions['env']): string[] {
  const { settings, redact } = context;
  const differs = (key: keyof Settings) => JSON.stringify(settings[key]) !== JSON.stringify(next[key]);
  // Git is protected from sandboxed agents from the start on, or not at all.
  const isOther = hasSandbox(settings) !== hasSandbox(next);
  const kept: (keyof Settings)[] = [
    ...SETTINGS_READ_AT_START.filter(differs),
    ...(isOther ? (['agents'] as const) : []),
  ];
  const changed = Object.entries(next).filter(([key]) => !kept.some((name) => name === key));
  const given = definedIn(env);
  Object.assign(settings, Object.fromEntries(changed));
  // Running jobs may still print the old secrets.
  const alsoNew = redactorOf(settings, given);
  context.redact = (text) => redact(alsoNew(text));
  const { fingerprints } = context.machine;
  context.rememberSecrets = secretKeeper(
    settings,
    withPassword(withoutOwn(given), context.store),
    fingerprints,
  );
  return kept;
}

function definedIn(env: OpenOptions['env']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

/** Throws for a plan of a kind that is not registered: this engine does not know how to run it. */
export function hooksOf({ kinds }: EngineContext, { id, kind }: Plan): PlanHooks {
  const hooks = kinds.get(typeof kind === 'string' ? kind : null);
  if (hooks) return hooks;
  throw new InputError('state/kind', `Plan "${id}": plans of kind "${kind}" are not known here.`, {
    hint: 'Run it with the program that created it.',
  });
}

/** The environment, and the password of the store: an agent without a sandbox can read the file that it may come from. */
function withPassword(env: Record<string, string>, { fleet }: Store): Record<string, string> {
  return fleet ? { ...env, SIGNALBOX_STORE_PASSWORD: fleet.password() } : env;
}

/** The environment without what leads into the store. Without a database, variables with such names are the user's. */
function withoutStoreLogin(env: Record<string, string>, isDatabase: boolean): Record<string, string> {
  const login = isDatabase ? /^(PG.*|DATABASE_URL|SIGNALBOX_STORE)$/ : /^SIGNALBOX_STORE$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !login.test(name)));
}

/** The environment without this job's identity, which a run inside a job must not pass on, and without Signalbox's own keys. */
function withoutOwn(env: Record<string, string>): Record<string, string> {
  const own =
    /^SIGNALBOX_(JOB|PLAN|TICKET|PHASE|VISIT|ATTEMPT|WORKTREE|BRANCH|BASE|PROMPT_FILE|CRASH_AT|NOTIFY_WEBHOOK)$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.test(name)));
}

/**
 * The time, for one process. When the wall clock is set back, the monotonic clock leads; after the machine slept, the wall
 * clock does.
 */
export function steadyClock(
  wall: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): () => string {
  const began = wall() - monotonic();
  return () => new Date(Math.max(wall(), began + monotonic())).toISOString();
}

/** A ticket, and where it works. */
export interface TicketPlace {
  engine: EngineContext;
  ticket: Ticket;
  workspace: TicketWorkspace;
}

/** Who decides what is done in this process. A program inside a job is not the person. */
export function decider({ job, env, person, door }: EngineContext): Decided {
  const by = job === undefined ? (person ?? env.USER) : undefined;
  return { ...(by ? { by } : {}), ...(door ? { door } : {}) };
}

/** Whether another live process holds the claim. */
export function isOthers({ holder }: EngineContext, claim: Claim | null): claim is Claim {
  return claim !== null && claim.token !== holder.token && holder.isLive(claim);
}

/** The state cannot be written, so nothing can continue. Any other error concerns one ticket or plan only. */
export const isFatal = isStorageError;

/** Stores an event and shows it. A lost event must not stop the work, so a full disk is only reported here. */
export function emit(engine: EngineContext, original: EngineEvent): void {
  const event = redactAll(original, engine.redact);
  if (!TRANSIENT.has(event.type)) {
    const stored = { ...event, v: 1, at: engine.now() } as const;
    const { planId } = event;
    // Only the process that drives a ticket reports its attempts.
    const claim = 'attempt' in event ? { ticketId: event.ticketId, token: engine.holder.token } : undefined;
    engine.store.append(planId, stored, claim).catch((error: unknown) => {
      // The storage error itself has been reported.
      if (engine.machine.storage.trouble) return;
      const message = `an event was not stored: ${messageOf(error)}`;
      engine.listen({ type: 'problem', planId, ticketId: null, path: null, message });
    });
  }
  engine.listen(event);
}
