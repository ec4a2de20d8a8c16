import { dirname, join } from 'node:path';
import {
  findStoreAddress,
  packageDir,
  plainStateDir,
  type StoreAddress,
} from '../config/find-config-and-state.ts';
import type { Settings } from '../config/settings-table.ts';
import type { EngineContext } from '../engine/context.ts';
import { InputError, ifUsable } from '../model/errors.ts';
import type { EngineEvent } from '../model/events.ts';
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
  more: {
    flags?: Record<string, unknown>;
    listen?: (event: EngineEvent) => void;
    /** A store that is open: that of a fleet is used, since a command has two connections at most. */
    opened?: Store | undefined;
  } = {},
): Promise<EngineContext> {
  const [settings, engine] = await Promise.all([
    openSettings(io, options, more.flags),
    import('../api/open-engine-with-features.ts'),
  ]);
  const bell = io.tty ? () => io.stderr.write('\u0007') : undefined;
  const address = storeAddress(io, options);
  const command = DRIVERS.has(by) ? undefined : commandName(io);
  const shared = more.opened?.fleet ? more.opened : undefined;
  const store = shared ?? (address && (await fleetStore(io, address, settings, command)));
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
  if (address && !shared) io.atEnd(() => opened.store.close());
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

/** What the settings say about how an engine runs. */
export function limitsOf({ maxConcurrency, pollInterval }: Settings) {
  return { maxConcurrency, checkEveryMs: pollInterval * 1000 };
}
