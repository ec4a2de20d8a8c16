import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseObject } from '../../../src/model/text/parse-json-and-find-places.ts';
import type { JsonObject } from '../../../src/model/text/values-of-unknown-type.ts';
import { anthropic } from './anthropic.ts';
import { blocksOf } from './blocks.ts';
import { chat } from './chat.ts';
import { gemini } from './gemini.ts';
import type { Asked, Protocol, ProtocolName } from './protocol.ts';
import { responses } from './responses.ts';
import { type Answer, type Reply, type Scenario, USAGE } from './scenario.ts';

const PROTOCOLS: readonly Protocol[] = [anthropic, responses, chat, gemini];
/** What a client asks beside its work (a title, a summary) gets this and moves no scenario on. */
const ASIDE: Answer = { say: '{"title":"A title"}', usage: { input: 0, output: 0, cacheRead: 0 } };

export interface Received extends Asked {
  scenario: string;
  protocol: ProtocolName;
  /** Whether the request was part of the work, which every CLI does with tools. */
  work: boolean;
  headers: IncomingMessage['headers'];
  body: JsonObject;
}

/** A model provider on loopback that plays scenarios and remembers everything that it was asked. */
export class ModelServer {
  readonly received: Received[] = [];
  readonly #server: Server;
  readonly #scenarios = new Map<string, { replies: Scenario; next: number; until?: number | undefined }>();
  #ids = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  static async start(): Promise<ModelServer> {
    const server = new ModelServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  /** Sets the replies of a scenario and gives the base URL to point a client at. */
  play(name: string, replies: Scenario): string {
    this.#scenarios.set(name, { replies, next: 0 });
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/s/${name}`;
  }

  /** The requests of a scenario that were part of the work, in order. */
  work(scenario: string): Received[] {
    return this.received.filter((each) => each.scenario === scenario && each.work);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = '', path = ''] = /^\/s\/([^/]+)(\/.*)$/.exec(request.url ?? '') ?? [];
    const protocol = PROTOCOLS.find((each) => each.matches(path));
    const body = parseObject(await textOf(request));
    if (!protocol || !body) return sendJson(response, request.method === 'POST' ? 404 : 200, { data: [] });
    const asked = protocol.read(body, path);
    const work = asked.tools.length > 0;
    const { headers } = request;
    this.received.push({ ...asked, scenario: name, protocol: protocol.name, work, headers, body });
    const reply = work ? this.#next(name) : ASIDE;
    if ('hang' in reply) return;
    if ('fail' in reply) {
      const refusal = protocol.refuse(reply.fail, new Date());
      return sendJson(response, refusal.status, refusal.body, refusal.headers);
    }
    const id = () => `${name.replace(/\W/g, '')}${++this.#ids}`;
    const blocks = blocksOf(reply, asked, () => `call_${id()}`);
    const said = { id: id(), model: asked.model, blocks, usage: reply.usage ?? USAGE };
    if (!asked.stream) return sendJson(response, 200, protocol.whole(said));
    await stream(response, protocol.frames(said), reply);
  }

  #next(name: string): Reply {
    const scenario = this.#scenarios.get(name);
    const reply = scenario?.replies[Math.min(scenario.next, scenario.replies.length - 1)];
    if (!scenario || !reply) return { fail: { kind: 'server' } };
    const seconds = 'fail' in reply ? reply.fail.resetInSeconds : undefined;
    if (seconds === undefined) {
      scenario.next += 1;
      return reply;
    }
    // A limit holds until its reset, however often somebody asks.
    scenario.until ??= Date.now() + seconds * 1000;
    const left = Math.ceil((scenario.until - Date.now()) / 1000);
    if (left > 0) return { fail: { kind: 'limit', resetInSeconds: left } };
    scenario.until = undefined;
    scenario.next += 1;
    return this.#next(name);
  }
}

/** Sends frames as fast as the answer says; one that is cut or stalls stops half-way. */
async function stream(
  response: ServerResponse,
  frames: string[],
  { everyMs = 0, end }: Answer,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const count = end === undefined ? frames.length : Math.ceil(frames.length / 2);
  for (const frame of frames.slice(0, count)) {
    if (response.destroyed) return;
    response.write(frame);
    if (everyMs > 0) await delay(everyMs);
  }
  if (end === 'stall') return;
  // The pieces must have left before the connection breaks, or there is no middle.
  if (end === 'cut') await delay(20);
  if (end === 'cut') response.destroy();
  else response.end();
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
