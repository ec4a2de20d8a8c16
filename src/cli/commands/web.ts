import { createReadStream, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { packageDir } from '../../config/find-config-and-state.ts';
import type { EngineContext } from '../../engine/context.ts';
import { refuseInsideJob } from '../../engine/control-tickets-and-plans.ts';
import { makeDirectory } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { ifPossible } from '../../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from '../../machine/process-identity-and-signals.ts';
import { InputError, messageOf } from '../../model/errors.ts';
import { safeJson } from '../../report/printable-text.ts';
import { qrLines } from '../../report/qr-code.ts';
import { wrapLines } from '../../report/tables-and-text-wrapping.ts';
import { readerRedactor } from '../../sandbox/secret-redactors-and-fingerprints.ts';
import { type RunningServer, serve } from '../../web/serve.ts';
import { replaceToken, TokenKeeper, tokenFile } from '../../web/token-and-sessions.ts';
import { invalid } from '../check-option-values.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import type { Io } from '../io.ts';
import { OF_DAEMON } from '../keep-page-served.ts';
import { openEngine } from '../open-settings-store-and-engine.ts';
import { openInBrowser } from '../show-in-pager-or-browser.ts';

declare const __VERSION__: string;

type WebOptions = OptionsOf<'web'>;

const DEFAULT_PORT = 4747;
/** Where the default port is taken, these are tried after it. */
const MORE_PORTS = 20;
const LOOPBACK = '127.0.0.1';

/** Serves the page until it is stopped. Where one is served already, shows its address. */
export async function web(io: Io, options: WebOptions): Promise<void> {
  const port = portOf(options.port);
  const engine = await openEngine(io, options, 'web');
  const { settings, machine } = engine;
  // A new token would end the sessions of people.
  refuseInsideJob(engine);
  if (options.newToken) replaceToken(settings.home);
  const isPlain = options.port === undefined && options.host === undefined && !options.readOnly;
  const running = runningServer(machine.webServer);
  if (running && isPlain) {
    show(io, options, engine, { ...running, isOther: true });
    if (options.open) await openWithToken(io, settings.home, running.url);
    return;
  }
  const { host = LOOPBACK } = options;
  const server = await listen(io, options, engine, { host, port });
  const { url, outside } = server;
  // The first one stays known: it would not be found any more when this one has ended.
  if (!running) {
    // A home without any plan has no state directory yet.
    makeDirectory(settings.stateDir);
    writeAtomic(machine.webServer, `${JSON.stringify({ ...ownIdentity(), url, outside }, null, 1)}\n`);
  }
  show(io, options, engine, { url, outside, pid: process.pid, isOther: false });
  const stopped = new Promise<void>((resolve) => {
    const unhook = io.signals.on(['SIGINT', 'SIGTERM', 'SIGHUP'], () => {
      unhook();
      resolve();
    });
    if (io.env[OF_DAEMON])
      createReadStream('', { fd: io.stdin.fd, autoClose: false })
        .on('error', () => resolve())
        .on('end', resolve)
        .resume();
  });
  if (options.open) await openWithToken(io, settings.home, url);
  await stopped;
  await server.close();
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw invalid(
    '--port',
    text,
    'Must be a number up to 65535; 0 takes any that is free.',
    'For example: --port 4800',
  );
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function openWarning(host: string, port: number): string[] {
  return [
    `! ${host} can be reached from other machines, and HTTP is not encrypted: the session can be read on the way.`,
    `  Safer: an ssh tunnel (ssh -L ${port}:127.0.0.1:${port} <machine>), a VPN, or a reverse proxy with HTTPS (web.publicUrl).`,
  ];
}

/** A server of this state directory that is alive. */
function runningServer(file: string): Omit<Shown, 'isOther'> | undefined {
  const text = ifPossible(() => readFileSync(file, 'utf8'));
  if (text === undefined) return undefined;
  const found = ifPossible(() => JSON.parse(text) as ProcessIdentity & Partial<RunningServer>);
  const { url, outside = [] } = found ?? {};
  return found && url && isAlive(found) ? { url, outside, pid: found.pid } : undefined;
}

async function listen(
  io: Io,
  { readOnly = false }: WebOptions,
  engine: EngineContext,
  { host, port }: { host: string; port: number | undefined },
): Promise<RunningServer> {
  const { settings, machine } = engine;
  const ports =
    port === undefined ? Array.from({ length: MORE_PORTS }, (_, at) => DEFAULT_PORT + at) : [port];
  const warn = (used: number) => {
    if (!isLoopback(host)) io.err(wrapLines(openWarning(host, used), io.columns?.()));
  };
  for (const [at, each] of ports.entries())
    try {
      const server = await serve({
        engine,
        redact: readerRedactor(settings, io.env, machine.fingerprints),
        cwd: io.cwd,
        version: __VERSION__,
        readOnly,
        pid: process.pid,
        host,
        port: each,
        pageDir: join(packageDir(), 'dist', 'web'),
        onError: (error) => io.err(`! ${messageOf(error)}`),
      });
      warn(server.port);
      return server;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && at < ports.length - 1) continue;
      warn(each);
      throw cannotListen(error, host, each);
    }
  throw cannotListen(new Error('no port is free'), host, DEFAULT_PORT);
}

function cannotListen(error: unknown, host: string, port: number): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new InputError('web/port', `Port ${port} of ${host} is in use.`, {
      hint: 'Choose another: signalbox web --port 4800',
    });
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EACCES')
    return new InputError('web/host', `The page cannot be served at ${host}:${port} (${code}).`, {
      hint: 'Name an address of this machine: signalbox web --host 192.168.1.20',
    });
  return error;
}

interface Shown extends Pick<RunningServer, 'url' | 'outside'> {
  pid: number;
  isOther: boolean;
}

/** Prints the address. The token is shown on a terminal only: other output may end in a log. */
function show(io: Io, options: WebOptions, engine: EngineContext, shown: Shown): void {
  const { url, outside, pid, isOther } = shown;
  const { home } = engine.settings;
  const file = tokenFile(home);
  if (options.json) {
    const found = { type: 'web:start', url, pid, tokenFile: file, running: isOther };
    io.out(safeJson(found));
    return;
  }
  const link = io.tty ? `${url}?token=${new TokenKeeper(home).current()}` : url;
  io.out(isOther ? `The page is already served (pid ${pid}): ${link}` : `The page is at ${link}`);
  if (!io.tty) io.out(`Its token is in ${file}`);
  if (outside.length > 0) io.out(`Other machines reach it at ${outside.join(' or ')}`);
  if (options.qr) showQr(io, engine, shown);
  if (!isOther) io.out('Ctrl-C stops serving it. Plans and tickets continue without it.');
}

/** Shows the link as a QR code, on a terminal only, since it has the token in it. */
function showQr(io: Io, { settings: { home, web: pages } }: EngineContext, { url, outside }: Shown): void {
  if (!io.tty) {
    io.err('! The QR code has the token in it, so it is shown on a terminal only.');
    return;
  }
  if (!pages.publicUrl && outside.length > 1) {
    io.err('! The QR code needs one address. Choose the one that the phone reaches: --host <address>');
    return;
  }
  const base = pages.publicUrl ? `${pages.publicUrl.replace(/\/+$/, '')}/` : (outside[0] ?? url);
  const lines = qrLines(`${base}?token=${new TokenKeeper(home).current()}`);
  if (lines) io.out(['', ...lines, '']);
  if (isLoopback(new URL(base).hostname))
    io.err(`! Only this machine reaches ${base} A phone needs --host or web.publicUrl.`);
}

/** The browser has read the file by then. */
const OPENED_MS = 20_000;

/**
 * Opens the link in the person's browser. Arguments of programs can be seen by other users, so the link is in a file for its owner
 * alone, which leads there.
 */
async function openWithToken(io: Io, home: string, url: string): Promise<void> {
  const file = join(home, 'web-open.html');
  const link = `${url}?token=${new TokenKeeper(home).current()}`;
  writeAtomic(
    file,
    `<!doctype html><meta http-equiv="refresh" content="0;url=${link}"><title>Signalbox</title>\n`,
  );
  const problem = await openInBrowser({ env: io.env, cwd: home }, file);
  if (problem) io.err(`! ${problem} Open the link yourself.`);
  const remove = () => rmSync(file, { force: true });
  setTimeout(remove, problem ? 0 : OPENED_MS).unref();
  io.atEnd(async () => remove());
}
