import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { configChain, homeDir, repositoryOf } from '../../config/find-config-and-state.ts';
import { changeSettings, type EngineContext } from '../../engine/context.ts';
import { refuseInsideJob } from '../../engine/control-tickets-and-plans.ts';
import { assertWritable } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { isAlive } from '../../machine/process-identity-and-signals.ts';
import { HeldError, InputError, SignalboxError } from '../../model/errors.ts';
import { type Claim, daemonHeld, onceLeaseIsOver } from '../../model/lease-and-claim-messages.ts';
import { isAtWork } from '../../model/place-tickets-on-workers.ts';
import { safeJson } from '../../report/printable-text.ts';
import type { Fleet, Store } from '../../store/store-interface.ts';
import { positiveInteger } from '../check-option-values.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { answer, type Io } from '../io.ts';
import { type KeptPage, keepPageServed } from '../keep-page-served.ts';
import {
  type GlobalOptions,
  limitsOf,
  openNamedStore,
  openRunner,
  openSettings,
  ownCommand,
  storeAddress,
  trusted,
} from '../open-settings-store-and-engine.ts';
import { type EventView, eventView, signalCode, untilStopped } from '../show-events-until-stopped.ts';

type Options = OptionsOf<'daemon'>;

export async function daemonStart(io: Io, options: Options): Promise<void> {
  const flags = flagsOf(options);
  if (options.detach) return detach(options, io);
  const [{ runDaemon }, { FinishedWork }] = await Promise.all([
    import('../../engine/run-daemon-tick-and-worker.ts'),
    import('../../features/merge-train/merge-fleet-work-automatically.ts'),
  ]);
  io.keepHeapSmall();
  await runAllPlans(io, options, 'daemon', flags, async (engine, view, signal) => {
    const { stateDir } = engine.settings;
    let page: KeptPage | undefined;
    const onClaimed = ({ pid }: Claim) => {
      view.out(
        options.json
          ? safeJson({ type: 'daemon:start', pid, stateDir })
          : `Daemon ${pid} works on ${engine.store.fleet ? engine.store.location() : stateDir}. Ctrl-C stops it.`,
      );
      if (options.web) page ??= servePage(io, options, view);
    };
    const refresh = settingsRefresher(io, options, engine, view, flags);
    const merges = engine.store.fleet && new FinishedWork(engine, signal);
    try {
      await runDaemon(engine, { ...limitsOf(engine.settings), refresh, signal, onClaimed });
    } finally {
      await Promise.all([page?.close(), merges?.close()]);
    }
  });
  if (!options.json) io.out('The daemon has stopped.');
}

/** Serves the page beside the daemon, in a process of its own. */
function servePage(io: Io, options: Options, view: EventView): KeptPage {
  return keepPageServed({
    command: ownCommand(),
    words: [
      ...(options.config ? ['--config', options.config] : []),
      ...(options.store ? ['--store', options.store] : []),
    ],
    cwd: io.cwd,
    env: io.env,
    onServed: (start) =>
      view.out(options.json ? safeJson(start) : `The page is at ${start.url} Its link: signalbox web`),
    onEnded: (how, pauseMs) =>
      view.err(
        `! The page has stopped (${how}). It starts again in ${pauseMs / 1000} s; tickets are not affected.`,
      ),
  });
}

export async function tick(io: Io, options: Options): Promise<void> {
  if (storeAddress(io, options))
    throw new InputError('fleet/workers', 'The tickets of a fleet are driven by its workers.', {
      hint: 'Start one on this machine: signalbox worker',
    });
  const { runTick } = await import('../../engine/run-daemon-tick-and-worker.ts');
  await runAllPlans(io, options, 'tick', {}, async (engine, _view, signal) => {
    await runTick(engine, { ...limitsOf(engine.settings), signal });
    if (signal.aborted) io.exit(signalCode(signal.reason));
  });
}

/** Opens an engine for all plans, which also keeps logs and reports, and shows specs as their own command would. */
async function runAllPlans(
  io: Io,
  options: Options,
  by: 'daemon' | 'tick',
  flags: Record<string, unknown>,
  work: (engine: EngineContext, view: EventView, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const view = await eventView(io, { ...options, withPlan: true });
  const [{ followLogs }, { followSpecs }, { followReports }] = await Promise.all([
    import('../../features/issue-runs/logs/rewrite-run-log.ts'),
    import('../../report/follow-specs-without-terminal.ts'),
    import('../../report/gather-plans-and-write-reports.ts'),
  ]);
  const listeners = [view.listen];
  const engine = await openRunner(io, options, by, {
    flags,
    listen: (event) => {
      for (const listen of listeners) listen(event);
    },
  });
  const specs = followSpecs(engine, { env: io.env, cli: ownCommand(), onProblem: view.err });
  const reports = followReports(engine);
  listeners.push(followLogs(engine, view.listen), specs.listen, reports.listen);
  view.watch(engine);
  const what = by === 'daemon' ? 'the daemon and its agents' : 'the agents';
  await untilStopped(io, { view, what, stateDir: engine.settings.stateDir }, async (signal) => {
    await work(engine, view, signal);
    await Promise.all([specs.close(), reports.close()]);
  });
}

/** Reads the settings again when a file of them has changed. What is wrong is reported once, and the last good ones stay. */
export function settingsRefresher(
  io: Io,
  options: GlobalOptions,
  engine: EngineContext,
  view: EventView,
  flags: Record<string, unknown>,
) {
  const home = homeDir(io.env, io.cwd);
  const project = join(repositoryOf(io.cwd) ?? io.cwd, '.signalbox', 'settings.json');
  const chain = configChain({ cwd: io.cwd, env: io.env, configPath: options.config }).map(({ file }) => file);
  const stamp = () =>
    JSON.stringify(
      [...chain, project, join(home, 'trusted.json')].map((file) => {
        const found = statSync(file, { throwIfNoEntry: false });
        return found && [found.ino, found.size, found.mtimeMs];
      }),
    );
  const say = (message: string) => {
    if (options.json) engine.listen({ type: 'problem', planId: '', ticketId: null, message, path: null });
    else view.err(message);
  };
  let seen = stamp();
  return async () => {
    const now = stamp();
    if (now === seen) return undefined;
    seen = now;
    try {
      const settings = await openSettings(io, options, flags);
      trusted(settings);
      const kept = changeSettings(engine, settings, io.env);
      say('The settings have changed. They apply to everything that starts from now on.');
      for (const key of kept) say(`! ${key} has changed; that needs a restart of the daemon.`);
      return limitsOf(engine.settings);
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      say(`! ${error.message} The last good settings stay in force.`);
      return undefined;
    }
  };
}

function flagsOf({ agent, concurrency }: Options): Record<string, unknown> {
  const most = positiveInteger('--concurrency', concurrency);
  return { ...(agent ? { defaultAgent: agent } : {}), ...(most ? { maxConcurrency: most } : {}) };
}

/** The daemon that runs now, if any, and where it writes. */
async function findDaemon(io: Io, options: GlobalOptions) {
  const { stateDir, logDir } = await openSettings(io, options);
  const { store } = await openNamedStore(io, options, { stateDir }, () => undefined);
  const holder = store.holder('daemon');
  const claim = holder.daemon();
  const leaseMs = claim && holder.leaseLeft(claim);
  const unlessGone = leaseMs === undefined ? '' : ` ${onceLeaseIsOver(leaseMs, 'signalbox daemon')}`;
  return { claim, leaseMs, unlessGone, stateDir, logDir };
}

/** Starts the same command again without a terminal. */
async function detach(options: Options, io: Io): Promise<void> {
  const { store } = await openRunner(io, options, 'daemon', { flags: flagsOf(options) });
  // A command has few connections to the store of a fleet.
  await store.close();
  const { claim, leaseMs } = await findDaemon(io, options);
  if (claim) throw daemonHeld('is already running here', claim, leaseMs);
  const started = await startInBackground(io, options, DAEMON);
  if (!started) return;
  const { found: pid, log } = started;
  answer(io, options, { pid, log }, `Daemon ${pid} is running in the background; its log is ${log}`);
}

const DAEMON = { name: 'daemon', find: (store: Store) => store.holder('daemon').daemon()?.pid };

/** Leaves a plan to the workers of its fleet, to the daemon, or to a new one; undefined if none could be started. */
export async function continueInBackground(
  io: Io,
  options: GlobalOptions,
  planId: string,
  { fleet, watch = 'status --plan', leastCode }: { fleet?: Fleet; watch?: string; leastCode?: number },
): Promise<{ daemon: number | null; text: string } | undefined> {
  const next = `Watch it with: signalbox ${watch} ${planId}`;
  if (fleet) {
    const text = fleet.workers().some(isAtWork)
      ? `The workers of the fleet continue ${planId}. `
      : `${planId} waits: no worker is running. Start one (signalbox worker). `;
    return { daemon: null, text: `${text}${next}` };
  }
  const { claim, unlessGone } = await findDaemon(io, options);
  const args = ['daemon', ...(options.config ? ['--config', options.config] : [])];
  const orElse = `   No daemon continues ${planId}. Run it with: signalbox resume ${planId}`;
  const started = claim
    ? { found: claim.pid }
    : await startInBackground(io, options, { ...DAEMON, args, orElse, leastCode });
  return (
    started && {
      daemon: started.found,
      text: `Daemon ${started.found} continues ${planId}.${unlessGone} ${next}`,
    }
  );
}

interface Background<T> {
  name: string;
  /** What shows that it is at work; `pid` is the process that was started. */
  find(store: Store, pid: number | undefined): T | undefined;
  /** Default: the words of this command, without --detach. */
  args?: readonly string[];
  /** Printed where it did not start. */
  orElse?: string;
  leastCode?: number | undefined;
}

/** Starts this program again without a terminal and waits until it is at work. Where it does not start, prints why. */
export async function startInBackground<T>(
  io: Io,
  options: GlobalOptions,
  { name, find, args = io.argv.filter((arg) => arg !== '--detach'), orElse, leastCode = 1 }: Background<T>,
): Promise<{ found: T; log: string } | undefined> {
  const { stateDir, logDir } = await openSettings(io, options);
  const { store } = await openNamedStore(io, options, { stateDir }, () => undefined);
  const look = async () => {
    await store.refresh();
    return find(store, child.pid);
  };
  // Checked here: a daemon that cannot write its state cannot write the reason to its log either.
  const assertRoom = () => {
    assertWritable(stateDir);
    assertWritable(logDir, { name: 'the log directory', setting: 'logDir' });
  };
  assertRoom();
  const log = join(logDir, `${name}.log`);
  const out = openSync(log, 'a', 0o600);
  const before = fstatSync(out).size;
  const [node, ...cli] = ownCommand();
  const child = spawn(node, [...cli, ...args], {
    cwd: io.cwd,
    env: io.env,
    detached: true,
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  let ended: number | undefined;
  child.once('exit', (code) => {
    ended = code ?? 1;
  });
  child.unref();
  for (let waited = 0; waited < 10_000 && ended === undefined; waited += 50) {
    const found = await look();
    if (found !== undefined) return { found, log };
    await delay(50);
  }
  // Another process may have started one at the same moment.
  const found = await look();
  if (found !== undefined) return { found, log };
  // The reason is the last thing that it printed.
  const said = readFileSync(log).subarray(before).toString('utf8').trim();
  if (!said) assertRoom();
  io.err([...(said || `The ${name} did not start; see ${log}`).split('\n'), ...(orElse ? [orElse] : [])]);
  io.exit(Math.max(ended ?? 1, leastCode));
  return undefined;
}

export async function daemonStatus(io: Io, options: GlobalOptions): Promise<void> {
  const { claim, unlessGone } = await findDaemon(io, options);
  const text = claim ? `Daemon ${claim.pid} is running on ${claim.host}.${unlessGone}` : NO_DAEMON;
  const [pid, host] = [claim?.pid ?? null, claim?.host ?? null];
  answer(io, options, { running: claim !== undefined, pid, host }, text);
  if (!claim) io.exit(1);
}

const NO_DAEMON = 'No daemon is running.';

export async function daemonStop(io: Io, options: GlobalOptions): Promise<void> {
  const { claim, unlessGone, stateDir } = await findDaemon(io, options);
  refuseInsideJob({ job: io.env.SIGNALBOX_JOB, machine: { stateDir } });
  if (!claim) return answer(io, options, { stopped: false, pid: null }, NO_DAEMON);
  const { pid, host } = claim;
  if (isAlive(claim) === undefined)
    throw new HeldError('daemon/elsewhere', `Daemon ${pid} is running on ${host}, not here.`, {
      hint: `Run there: signalbox daemon stop${unlessGone && `\n${unlessGone.trim()}`}`,
      details: { holder: claim },
    });
  process.kill(pid, 'SIGTERM');
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (!isAlive(claim)) return answer(io, options, { stopped: true, pid }, `Daemon ${pid} has stopped.`);
    await delay(50);
  }
  throw new Error(`Daemon ${pid} has not stopped after a minute.`);
}
