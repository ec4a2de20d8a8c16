import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import type { EngineContext } from '../../engine/context.ts';
import { assertWritable } from '../../machine/files/directory.ts';
import type { Claim } from '../../model/claim.ts';
import { HeldError } from '../../model/errors.ts';
import { type EventView, eventView, goOnUnread, signalCode, stopOnSignals } from '../event-view.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openRunner, openStore, ownCommand, positiveInteger } from '../open.ts';

interface Options extends GlobalOptions {
  concurrency?: string;
  agent?: string;
  verbose?: boolean;
  plain?: boolean;
  detach?: boolean;
}

export function registerDaemon(program: Command, io: Io): void {
  const daemon = program
    .command('daemon')
    .description('run all active plans until stopped')
    .option('-c, --concurrency <n>', 'most tickets at once')
    .option('-a, --agent <name>', 'agent of tickets and plans that name none')
    .option('-v, --verbose', 'show what agents say and do')
    .option('--detach', 'go on in the background')
    .option('--plain', 'one line per event, also on a terminal')
    .option('--json', 'print events as JSON lines')
    .addHelpText(
      'after',
      `
One daemon per state directory. It starts work when a file changes, not on a timer.
Ctrl-C stops the agents; their tickets go on, in the same sessions, at the next start.

Examples:
  $ signalbox daemon --concurrency 4
  $ signalbox daemon --detach
  $ signalbox daemon status
  $ signalbox daemon stop`,
    )
    .action(async (_options: unknown, command: Command) => start(command.optsWithGlobals<Options>(), io));
  daemon
    .command('status')
    .description('tell whether a daemon runs')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nEnds with 1 when none runs.\n\nExamples:\n  $ signalbox daemon status')
    .action(async (_options: unknown, command: Command) => showSeat(command.optsWithGlobals<Options>(), io));
  daemon
    .command('stop')
    .description('stop the daemon and its agents')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox daemon stop')
    .action(async (_options: unknown, command: Command) => stop(command.optsWithGlobals<Options>(), io));
  program
    .command('tick')
    .description('start what can start now, wait for it, and end')
    .option('-v, --verbose', 'show what agents say and do')
    .option('--plain', 'one line per event, also on a terminal')
    .option('--json', 'print events as JSON lines')
    .addHelpText('after', '\nExamples:\n  $ signalbox tick')
    .action(async (_options: unknown, command: Command) => tick(command.optsWithGlobals<Options>(), io));
}

async function start(options: Options, io: Io): Promise<void> {
  const flags = flagsOf(options);
  if (options.detach) return detach(options, io);
  const view = await eventView(io, { ...options, withPlan: true });
  io.onUnread = goOnUnread;
  const { parts, close } = await withLogs(view, io, (listen) =>
    openRunner(io, options, 'daemon', { flags, listen }),
  );
  view.watch(parts.store);
  const { runDaemon } = await import('../../engine/daemon.ts');
  io.keepHeapSmall();
  const abort = new AbortController();
  const unhook = stopOnSignals(io, {
    view,
    abort,
    what: 'the daemon and its agents',
    stateDir: parts.settings.stateDir,
  });
  try {
    await runDaemon(parts, {
      ...limits(parts.settings),
      signal: abort.signal,
      onSeat: (claim) => announce(claim, parts.settings.stateDir, options, view),
    });
    await close();
  } finally {
    view.close();
    unhook();
  }
  if (!options.json) io.out('The daemon has stopped.');
}

/** Opens an engine that keeps the logs of runs it goes on with, and shows specs as their own run would. */
async function withLogs(
  view: EventView,
  io: Io,
  open: (listen: EventView['listen']) => Promise<EngineContext>,
): Promise<{ parts: EngineContext; close(): Promise<void> }> {
  const [{ followLogs }, { followSpecs }] = await Promise.all([
    import('../../features/issue-runs/logs/run-log.ts'),
    import('../../report/spec-follow.ts'),
  ]);
  let follow: EventView['listen'] = () => undefined;
  const parts = await open((event) => {
    view.listen(event);
    follow(event);
  });
  const logs = followLogs(parts, view.listen);
  const specs = followSpecs(parts, { env: io.env, cli: ownCommand(), onProblem: view.err });
  follow = (event) => {
    logs(event);
    specs.listen(event);
  };
  return { parts, close: specs.close };
}

function flagsOf({ agent, concurrency }: Options): Record<string, unknown> {
  const most = positiveInteger('--concurrency', concurrency);
  return { ...(agent ? { defaultAgent: agent } : {}), ...(most ? { maxConcurrency: most } : {}) };
}

function announce(claim: Claim, stateDir: string, options: Options, view: EventView): void {
  if (options.json) view.out(JSON.stringify({ type: 'daemon:start', pid: claim.pid, stateDir }));
  else view.out(`Daemon ${claim.pid} works on ${stateDir}. Ctrl-C stops it.`);
}

function limits(settings: { maxConcurrency: number; pollInterval: number }) {
  return { maxConcurrency: settings.maxConcurrency, lookEveryMs: settings.pollInterval * 1000 };
}

async function tick(options: Options, io: Io): Promise<void> {
  const view = await eventView(io, { ...options, withPlan: true });
  io.onUnread = goOnUnread;
  const { parts, close } = await withLogs(view, io, (listen) => openRunner(io, options, 'tick', { listen }));
  view.watch(parts.store);
  const { runTick } = await import('../../engine/daemon.ts');
  const abort = new AbortController();
  const unhook = stopOnSignals(io, { view, abort, what: 'the agents', stateDir: parts.settings.stateDir });
  try {
    await runTick(parts, { ...limits(parts.settings), signal: abort.signal });
    await close();
    if (abort.signal.aborted) io.exit(signalCode(abort.signal.reason));
  } finally {
    view.close();
    unhook();
  }
}

interface Seat {
  claim: Claim | undefined;
  stateDir: string;
  logDir: string;
}

async function seat(io: Io, options: GlobalOptions): Promise<Seat> {
  const { store, settings } = await openStore(io, options);
  return {
    claim: store.holder('daemon').daemon(),
    stateDir: settings.stateDir,
    logDir: settings.logDir,
  };
}

/** Starts the same command again without a terminal. */
async function detach(options: Options, io: Io): Promise<void> {
  await openRunner(io, options, 'daemon', { flags: flagsOf(options) });
  const { claim } = await seat(io, options);
  if (claim) {
    throw new HeldError('daemon/held', `A daemon already runs here: pid ${claim.pid} on ${claim.host}.`, {
      hint: 'Stop it with: signalbox daemon stop',
    });
  }
  const args = io.argv.filter((arg) => arg !== '--detach');
  const started = await launch(args, options, io);
  if ('pid' in started)
    return say(
      started,
      `Daemon ${started.pid} runs in the background; its log is ${started.log}`,
      options,
      io,
    );
  io.err(started.said);
  io.exit(started.code);
}

/** The daemon that is there, or a new one in the background. */
export async function ensureDaemon(options: GlobalOptions, io: Io): Promise<{ pid: number } | Refusal> {
  const { claim } = await seat(io, options);
  if (claim) return { pid: claim.pid };
  return launch(['daemon', ...(options.config ? ['--config', options.config] : [])], options, io);
}

/** What a daemon that did not start has said. */
interface Refusal {
  said: string;
  code: number;
}

/** Starts a daemon without a terminal and waits until it sits in its seat, or has said why not. */
async function launch(
  words: readonly string[],
  options: GlobalOptions,
  io: Io,
): Promise<{ pid: number; log: string } | Refusal> {
  const { stateDir, logDir } = await seat(io, options);
  // Asked here: a daemon that finds no room for its state finds none for its reason either.
  const assertRoom = () => {
    assertWritable(stateDir);
    assertWritable(logDir, { name: 'the log directory', setting: 'logDir' });
  };
  assertRoom();
  const log = join(logDir, 'daemon.log');
  const out = openSync(log, 'a', 0o600);
  const before = fstatSync(out).size;
  const [node, ...cli] = ownCommand();
  const child = spawn(node, [...cli, ...words], {
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
    const { claim } = await seat(io, options);
    if (claim) return { pid: claim.pid, log };
    await delay(50);
  }
  // Somebody else may have started one at the same moment.
  const { claim } = await seat(io, options);
  if (claim) return { pid: claim.pid, log };
  // What kept it from starting is the last thing it said.
  const said = readFileSync(log).subarray(before).toString('utf8').trim();
  if (!said) assertRoom();
  return { said: said || `The daemon did not start; see ${log}`, code: ended || 1 };
}

async function showSeat(options: Options, io: Io): Promise<void> {
  const { claim } = await seat(io, options);
  const text = claim ? `Daemon ${claim.pid} on ${claim.host} runs.` : 'No daemon runs.';
  say(
    { running: claim !== undefined, pid: claim?.pid ?? null, host: claim?.host ?? null },
    text,
    options,
    io,
  );
  if (!claim) io.exit(1);
}

async function stop(options: Options, io: Io): Promise<void> {
  const { claim } = await seat(io, options);
  if (!claim) {
    say({ stopped: false, pid: null }, 'No daemon runs.', options, io);
    return;
  }
  if (claim.host !== hostname())
    throw new HeldError('daemon/elsewhere', `Daemon ${claim.pid} runs on ${claim.host}, not here.`, {
      hint: `Run there: signalbox daemon stop`,
      details: { holder: claim },
    });
  const { isAlive } = await import('../../machine/process-identity.ts');
  process.kill(claim.pid, 'SIGTERM');
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (!isAlive(claim))
      return say({ stopped: true, pid: claim.pid }, `Daemon ${claim.pid} has stopped.`, options, io);
    await delay(50);
  }
  throw new Error(`Daemon ${claim.pid} has not stopped after a minute.`);
}

function say(value: unknown, text: string, options: GlobalOptions, io: Io): void {
  if (options.json) outJson(io, value);
  else io.out(text);
}
