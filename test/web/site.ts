import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { openEngine } from '../../src/api/open-engine-with-features.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { EngineContext } from '../../src/engine/context.ts';
import { readerRedactor } from '../../src/sandbox/secret-redactors-and-fingerprints.ts';
import { type RunningServer, type ServeOptions, serve } from '../../src/web/serve.ts';
import { TokenKeeper } from '../../src/web/token-and-sessions.ts';
import { type World, waitFor } from '../support/index.ts';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json<T>(): T;
}

export interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A server in this process on any free port, and a client that sends exactly what it is given. */
export class TestSite {
  readonly server: RunningServer;
  readonly engine: EngineContext;
  readonly errors: unknown[];
  readonly token: string;
  cookie = '';

  private constructor(server: RunningServer, engine: EngineContext, errors: unknown[], token: string) {
    this.server = server;
    this.engine = engine;
    this.errors = errors;
    this.token = token;
  }

  static async open(world: World, options: Partial<ServeOptions> = {}): Promise<TestSite> {
    const env = world.env as Record<string, string>;
    const packageDir = join(import.meta.dirname, '..', '..');
    const settings = await loadSettings({ cwd: world.dir, env, packageDir, flags: {} });
    const engine = openEngine({ settings, env: { ...env, USER: 'ada' }, by: 'web', door: 'web' });
    const errors: unknown[] = [];
    const server = await serve({
      engine,
      redact: readerRedactor(settings, env, engine.machine.fingerprints),
      cwd: world.dir,
      version: 'test',
      readOnly: false,
      pid: process.pid,
      host: '127.0.0.1',
      port: 0,
      pageDir: join(packageDir, 'dist', 'web'),
      onError: (error) => errors.push(error),
      ...options,
    });
    const site = new TestSite(server, engine, errors, new TokenKeeper(settings.home).current());
    site.cookie = await site.login();
    return site;
  }

  get host(): string {
    return `127.0.0.1:${this.server.port}`;
  }

  /** The cookie that the link with the token gives. */
  async login(token = this.token): Promise<string> {
    const { headers } = await this.send(`/?token=${token}`, { headers: { cookie: '' } });
    return String(headers['set-cookie'] ?? '').split(';')[0] ?? '';
  }

  get<T>(path: string): Promise<T> {
    return this.send(`/api/v1${path}`).then((answer) => {
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return answer.json<T>();
    });
  }

  /** A request as the page sends it. */
  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const own = {
      origin: `http://${this.host}`,
      'content-type': 'application/json',
      'x-signalbox': '1',
    };
    return this.send(`/api/v1${path}`, { method: 'POST', headers: { ...own, ...headers }, body });
  }

  send(path: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<Answer> {
    const all = { host: this.host, cookie: this.cookie, ...headers };
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        { host: '127.0.0.1', port: this.server.port, path, method, headers: sent, agent: false },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            const { statusCode = 0, headers } = response;
            resolve({ status: statusCode, headers, text, json: <T>() => JSON.parse(text) as T });
          });
        },
      );
      request.on('error', reject);
      request.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

interface Message {
  event: string;
  id: string | undefined;
  data: unknown;
}

/** A reader of the stream; `stalled` ones read nothing until they are told to. */
export class Stream {
  readonly messages: Message[] = [];
  readonly #request: ClientRequest;
  #text = '';
  status = 0;
  ended = false;
  response: IncomingMessage | undefined;

  constructor(site: TestSite, { lastId = '', stalled = false, cookie = site.cookie } = {}) {
    const headers = { host: site.host, cookie, ...(lastId ? { 'last-event-id': lastId } : {}) };
    const path = '/api/v1/live';
    this.#request = httpRequest({ host: '127.0.0.1', port: site.server.port, path, headers, agent: false });
    this.#request.on('error', () => {
      this.ended = true;
    });
    this.#request.on('response', (response) => {
      this.status = response.statusCode ?? 0;
      this.response = response;
      response.setEncoding('utf8');
      response.on('error', () => undefined);
      response.on('close', () => {
        this.ended = true;
      });
      if (!stalled) this.read();
    });
    this.#request.end();
  }

  read(): void {
    this.response?.on('data', (chunk: string) => this.#take(chunk));
  }

  get last(): Message | undefined {
    return this.messages.at(-1);
  }

  get lastId(): string {
    return this.messages.findLast(({ id }) => id !== undefined)?.id ?? '';
  }

  async next<T>(event: string, is: (data: T) => unknown = () => true): Promise<T> {
    const found = await waitFor(
      `a message ${event}`,
      () => this.messages.find((each) => each.event === event && is(each.data as T)),
      { state: () => JSON.stringify(this.messages) },
    );
    return found.data as T;
  }

  close(): void {
    this.#request.destroy();
  }

  #take(chunk: string): void {
    this.#text += chunk;
    const parts = this.#text.split('\n\n');
    this.#text = parts.pop() ?? '';
    for (const part of parts) {
      const field = (name: string) =>
        part
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const event = field('event');
      if (event) this.messages.push({ event, id: field('id'), data: JSON.parse(field('data') ?? 'null') });
    }
  }
}
