import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FakeGh } from '../support/gh/fake-gh.ts';
import { answerQuery } from '../support/gh/lib/api.mjs';

/** GitHub's API on a loopback port, answering out of the scripted GitHub's file. It plays the proxy that gh is sent to. */
export class GithubApi {
  readonly #server: Server;
  readonly #gh: FakeGh;
  /** `POST http://…/graphql` and the like, in order. */
  readonly requests: string[] = [];
  /** The queries among them. */
  readonly queries: string[] = [];
  /** Queries that it does not understand. */
  refused: RegExp | undefined;

  private constructor(gh: FakeGh) {
    this.#gh = gh;
    this.#server = createServer((request, response) => {
      void read(request).then((body) => {
        this.requests.push(`${request.method} ${request.url}`);
        const { status, json } = this.#answer(request, body);
        response.writeHead(status, { 'Content-Type': 'application/json', ...this.#limits() });
        response.end(JSON.stringify(json));
      });
    });
  }

  static async start(gh: FakeGh): Promise<GithubApi> {
    const api = new GithubApi(gh);
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  /** Variables with which the real GitHub CLI talks to this. */
  get env(): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo;
    const proxy = `http://127.0.0.1:${port}`;
    return {
      GH_HOST: 'github.localhost',
      GH_TOKEN: 'loopback',
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      NO_PROXY: '',
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, body: string): { status: number; json: object } {
    if (!/^http:\/\/api\.github\.localhost(:80)?\/graphql$/.test(request.url ?? ''))
      return { status: 404, json: { message: 'Not Found' } };
    if (!request.headers.authorization)
      return { status: 401, json: { message: 'This endpoint requires you to be authenticated.' } };
    if (this.#gh.read().rateLimit.remaining === 0)
      return { status: 403, json: { message: 'API rate limit exceeded for user ID 1.' } };
    const { query, variables = {} } = JSON.parse(body) as {
      query: string;
      variables?: Record<string, unknown>;
    };
    this.queries.push(query);
    if (this.refused?.test(query)) return { status: 400, json: { message: 'Problems parsing the query' } };
    let json: object = {};
    this.#gh.change((state) => {
      json = answerQuery(state, query, variables);
    });
    return { status: 200, json };
  }

  #limits(): Record<string, string> {
    const { remaining, resetAt } = this.#gh.read().rateLimit;
    const reset = String(Math.floor(Date.parse(resetAt) / 1000));
    return { 'X-RateLimit-Remaining': String(remaining ?? 5000), 'X-RateLimit-Reset': reset };
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
