import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A loopback server that keeps what is posted to it. */
export class Webhook {
  readonly posts: Record<string, unknown>[] = [];
  /** What it answers, one after the other; 200 when there is nothing left. `null`: never. */
  readonly answers: (number | null)[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Webhook> {
    const server = createServer();
    const hook = new Webhook(server);
    server.on('request', (request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      request.on('end', () => {
        hook.posts.push(JSON.parse(body) as Record<string, unknown>);
        const answer = hook.answers.shift();
        if (answer !== null) response.writeHead(answer ?? 200).end('ok');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return hook;
  }

  /** With something in it that nobody may see. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/services/SECRET-KEY`;
  }

  get texts(): unknown[] {
    return this.posts.map(({ text }) => text);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
