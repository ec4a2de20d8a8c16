import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { gzip, type ZlibOptions } from 'node:zlib';
import { issueSentence } from '../config/describe-schema-problems.ts';
import { connectedTo } from '../machine/detect-calls-from-jobs.ts';
import { HeldError, IllegalMoveError, InputError, SignalboxError } from '../model/errors.ts';
import { refreshSoon } from '../report/board/notice-lost-store.ts';
import { safeJson } from '../report/printable-text.ts';
import { ANSWERS, type Answering, boardReader, sessionOf } from './answers-by-route.ts';
import {
  type Addresses,
  changeProblem,
  cookieName,
  cookiesOf,
  originOf,
  readProblem,
  SAFE_HEADERS,
} from './check-request.ts';
import { LiveBoard } from './live-board.ts';
import { API, findRoute, ROUTES, type Route, type RouteName } from './routes.ts';
import { StaticFiles } from './static-files.ts';
import { streamChanges } from './stream-changes.ts';
import { SESSION_SECONDS, TokenKeeper } from './token-and-sessions.ts';

const MAX_BODY_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_URL_CHARS = 4_096;
const MAX_STREAMS = 64;
const MAX_CONNECTIONS = 256;
/** Requests that are worked on at the same time; more are refused. */
const MAX_AT_WORK = 32;
const REQUEST_MS = 15_000;
/** Smaller answers are not worth compressing. */
const ZIP_FROM_BYTES = 2_048;
/** How often open streams are checked for a new token, which ends their sessions. */
const TOKEN_CHECK_MS = 2_000;

export interface ServeOptions extends Answering {
  host: string;
  port: number;
  /** The directory with the files of the page. */
  pageDir: string;
  /** Called with what went wrong inside; the one who asked gets no details. */
  onError(error: unknown): void;
}

export interface RunningServer {
  port: number;
  /** Where a browser on this machine finds it. */
  url: string;
  /** Where other machines find it, if it is served at every address of this one. */
  outside: string[];
  /** Counts open connections. */
  connections(tell: (count: number) => void): void;
  close(): Promise<void>;
}

const TOO_LARGE = 'HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n';

/** An answer that is not 200. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;

  constructor(status: number, code: string, message: string, hint: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** Serves the page and the API until it is closed. */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: REQUEST_MS,
    headersTimeout: REQUEST_MS,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 5_000,
  });
  server.maxConnections = MAX_CONNECTIONS;
  const site = new Site(options, server);
  server.on('request', (request, response) => void site.answer(request, response));
  // A reader that goes away is no error.
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    if (code === 'HPE_HEADER_OVERFLOW' && socket.writable) socket.end(TOO_LARGE);
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', options.onError);
  const { port } = server.address() as AddressInfo;
  site.open(port);
  return {
    port,
    url: `http://${nameInUrl(options.host)}:${port}/`,
    outside: outsideOf(options.host).map((address) => `http://${nameInUrl(address)}:${port}/`),
    connections: (tell) => server.getConnections((_error, count) => tell(count)),
    close: () => site.close(),
  };
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::', '']);

function nameInUrl(host: string): string {
  if (WILDCARDS.has(host)) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/** The addresses of this machine that others may reach. Those of IPv6 that change or need a zone are left out. */
function outsideOf(host: string): string[] {
  if (!WILDCARDS.has(host)) return [];
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address);
}

/** The names under which a server that is bound to a host can be asked. */
function namesOf(host: string): ReadonlySet<string> {
  const own = WILDCARDS.has(host)
    ? Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? [])
    : [host];
  const written = own.map((name) => (name.includes(':') ? `[${name}]` : name).toLowerCase());
  return new Set(['localhost', '127.0.0.1', ...written]);
}

class Site {
  readonly #options: ServeOptions;
  readonly #server: Server;
  readonly #token: TokenKeeper;
  readonly #files: StaticFiles;
  readonly #board: LiveBoard;
  readonly #addresses: Addresses;
  readonly #streams = new Map<() => void, () => boolean>();
  /** What is at the other end of a connection. */
  readonly #senders = new WeakMap<Socket, ReturnType<typeof connectedTo>>();
  #timer: NodeJS.Timeout | undefined;
  #cookie = '';
  #atWork = 0;

  constructor(options: ServeOptions, server: Server) {
    this.#options = options;
    this.#server = server;
    this.#token = new TokenKeeper(options.engine.settings.home);
    this.#files = new StaticFiles(options.pageDir);
    this.#board = new LiveBoard(options.engine.store, () => boardReader(options));
    const { publicUrl } = options.engine.settings.web;
    this.#addresses = { names: namesOf(options.host), publicUrl: publicUrl ? new URL(publicUrl) : null };
  }

  open(port: number): void {
    this.#cookie = cookieName(port);
    this.#token.current();
    this.#timer = setInterval(() => this.#endStreams((isValid) => !isValid()), TOKEN_CHECK_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#endStreams(() => true);
    this.#board.close();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #endStreams(isOver: (isValid: () => boolean) => boolean): void {
    for (const [end, isValid] of this.#streams) if (isOver(isValid)) end();
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The reader may go away while it is answered.
    response.on('error', () => undefined);
    try {
      await this.#route(request, response);
    } catch (error) {
      this.#refuse(request, response, error);
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const sender = this.#senderOf(request.socket);
    if (sender === 'job') return void request.socket.destroy();
    const origin = originOf(headers, this.#addresses);
    if (origin === undefined)
      throw new Refusal(
        403,
        'web/host',
        'The page is not served under this Host.',
        'Open it as localhost, or set web.publicUrl to the address that you use.',
      );
    if (url.length > MAX_URL_CHARS || !url.startsWith('/'))
      throw new Refusal(400, 'web/address', 'The address cannot be used.');
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname !== API && !pathname.startsWith('/api/'))
      return this.#page(request, response, { pathname, searchParams, origin });
    const found = findRoute(method.toLowerCase(), pathname);
    if (found === undefined) throw new Refusal(404, 'web/unknown', 'There is nothing at this address.');
    if (found === 'wrong method') throw new Refusal(405, 'web/method', `${method} is not possible here.`);
    const route: Route = ROUTES[found.name];
    const wrong = route.method === 'post' ? changeProblem(headers, origin) : readProblem(headers, origin);
    if (wrong) throw new Refusal(403, 'web/origin', `The request is refused. ${wrong}`);
    if (route.method === 'post' && sender === 'gone')
      throw new Refusal(
        403,
        'web/sender',
        'The program that sent this closed its connection at once, so it may have been a job.',
        'Try again, and keep the connection open until the answer is there.',
      );
    if (!route.open && !this.#isKnown(request))
      throw new Refusal(
        401,
        'web/session',
        'There is no session in this browser, or it is over.',
        'Open the link that `signalbox web` prints.',
      );
    if (route.method === 'post' && this.#options.readOnly && found.name !== 'login')
      throw new Refusal(403, 'web/read-only', 'This page is read-only.', 'Start it without --read-only.');
    if (found.name === 'live') return this.#stream(request, response, searchParams);
    if (this.#atWork >= MAX_AT_WORK)
      throw new Refusal(503, 'web/busy', 'Too many requests are being answered.', 'Try again in a moment.');
    this.#atWork += 1;
    try {
      await this.#call(request, response, found, origin, searchParams);
    } finally {
      this.#atWork -= 1;
    }
  }

  /** Jobs are cut off: an agent must not answer its own gate. */
  #senderOf(socket: Socket): ReturnType<typeof connectedTo> {
    const found = this.#senders.get(socket) ?? connectedTo(socket, this.#options.engine.settings.stateDir);
    this.#senders.set(socket, found);
    return found;
  }

  async #call(
    request: IncomingMessage,
    response: ServerResponse,
    { name, params }: { name: RouteName; params: Record<string, string> },
    origin: string,
    search: URLSearchParams,
  ): Promise<void> {
    const route: Route = ROUTES[name];
    const query = checked(route.query, Object.fromEntries(search));
    const body = route.body ? checked(route.body, await bodyOf(request)) : {};
    if (name === 'login') return this.#login(request, response, String(body.token ?? ''), origin);
    if (name === 'live') throw new Error('The stream is answered elsewhere.');
    await refreshSoon(this.#options.engine.store);
    const answer = ANSWERS[name] as (at: Answering, call: object) => unknown;
    await this.#json(request, response, await answer(this.#options, { params, query, body }));
  }

  /** Whether a request has a session, or the token itself. */
  #isKnown({ headers }: IncomingMessage): boolean {
    const [, bearer] = /^Bearer ([\w-]{1,200})$/.exec(headers.authorization ?? '') ?? [];
    if (bearer !== undefined) return this.#token.accepts(bearer);
    const now = Date.now();
    return cookiesOf(headers.cookie, this.#cookie).some((value) => this.#token.hasSession(value, now));
  }

  #login(request: IncomingMessage, response: ServerResponse, token: string, origin: string): Promise<void> {
    if (!this.#token.accepts(token)) throw new Refusal(401, 'web/token', 'The token is wrong.');
    response.setHeader('set-cookie', this.#newCookie(origin));
    return this.#json(request, response, sessionOf(this.#options));
  }

  #newCookie(origin: string): string {
    const secure = origin.startsWith('https:') ? '; Secure' : '';
    const value = this.#token.openSession(Date.now());
    return `${this.#cookie}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_SECONDS}${secure}`;
  }

  /** A file of the page. The token in an address opens a session, and the address is left at once. */
  #page(
    request: IncomingMessage,
    response: ServerResponse,
    { pathname, searchParams, origin }: { pathname: string; searchParams: URLSearchParams; origin: string },
  ): void {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead) throw new Refusal(405, 'web/method', `${request.method} is not possible here.`);
    const token = searchParams.get('token');
    if (token !== null && this.#token.accepts(token)) {
      searchParams.delete('token');
      // Two slashes would name another host.
      const path = `/${pathname.replace(/^[/\\]+/, '')}`;
      const location = searchParams.size > 0 ? `${path}?${searchParams}` : path;
      response.writeHead(303, {
        ...SAFE_HEADERS,
        'set-cookie': this.#newCookie(origin),
        'cache-control': 'no-store',
        location,
      });
      return void response.end();
    }
    const file = this.#files.find(pathname);
    if (!file) throw new Refusal(404, 'web/unknown', 'There is nothing at this address.');
    const isZipped = acceptsGzip(request);
    const isWrong = token !== null;
    const isSame = request.headers['if-none-match'] === file.etag && !isWrong;
    response.writeHead(isSame ? 304 : isWrong ? 403 : 200, {
      ...SAFE_HEADERS,
      'content-type': file.type,
      'cache-control': isWrong ? 'no-store' : 'no-cache',
      etag: file.etag,
      vary: 'accept-encoding',
      ...(isZipped && !isSame ? { 'content-encoding': 'gzip' } : {}),
    });
    response.end(request.method === 'HEAD' || isSame ? undefined : isZipped ? file.zipped : file.bytes);
  }

  #stream(request: IncomingMessage, response: ServerResponse, search: URLSearchParams): void {
    if (this.#streams.size >= MAX_STREAMS)
      throw new Refusal(503, 'web/busy', `${MAX_STREAMS} pages are open already.`, 'Close some of them.');
    const header = request.headers['last-event-id'];
    const lastId = (typeof header === 'string' && header) || search.get('lastEventId') || undefined;
    const end = streamChanges(this.#board, request, response, {
      lastId,
      headers: SAFE_HEADERS,
      onEnd: () => this.#streams.delete(end),
    });
    this.#streams.set(end, () => this.#isKnown(request));
  }

  async #json(
    request: IncomingMessage,
    response: ServerResponse,
    value: unknown,
    status = 200,
  ): Promise<void> {
    const bytes = Buffer.from(`${safeJson(value)}\n`);
    const isZipped = bytes.length >= ZIP_FROM_BYTES && acceptsGzip(request);
    const zipped = isZipped ? await zip(bytes, { level: 1 }) : undefined;
    response.writeHead(status, {
      ...SAFE_HEADERS,
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    });
    response.end(zipped ?? bytes);
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    const { status, code, message, hint } = refusalOf(error);
    if (status === 500) this.#options.onError(error);
    if (response.headersSent) return void request.socket.destroy();
    // What is left of a request that was not read would be taken for the next one.
    if (!request.complete) response.setHeader('connection', 'close');
    void this.#json(request, response, { error: { code, message, hint } }, status);
  }
}

/** Errors with the words of the command line; others are not shown, because they may contain anything. */
function refusalOf(error: unknown): { status: number; code: string; message: string; hint: string | null } {
  if (error instanceof Refusal) return error;
  if (!(error instanceof SignalboxError))
    return {
      status: 500,
      code: 'web/error',
      message: 'Something went wrong.',
      hint: 'The terminal of `signalbox web` shows what.',
    };
  const { code, message, hint = null } = error;
  return { status: statusOf(error), code, message, hint };
}

function statusOf(error: SignalboxError): number {
  if (/^(state\/storage$|store\/)/.test(error.code)) return 503;
  if (/\/(unknown|missing)$/.test(error.code)) return 404;
  if (error instanceof IllegalMoveError || error instanceof HeldError) return 409;
  return error instanceof InputError ? 400 : 409;
}

const zip = promisify<Buffer, ZlibOptions, Buffer>(gzip);

function acceptsGzip({ headers }: IncomingMessage): boolean {
  return /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
}

function checked(schema: Route['body'], value: unknown): Record<string, unknown> {
  if (!schema) return {};
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Refusal(400, 'web/input', issue ? issueSentence(issue, value) : 'The request cannot be read.');
}

/** The JSON of a request, of a bounded size. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES)
      throw new Refusal(413, 'web/large', `A request has at most ${MAX_BODY_BYTES / 1024} kB.`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refusal(400, 'web/input', 'The request is not JSON.');
    throw error;
  }
}
