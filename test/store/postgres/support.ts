import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { openPostgres } from '../../../src/store/postgres/open-postgres.ts';
import type { PgStore } from '../../../src/store/postgres/pg-store.ts';
import type { StoreOptions } from '../../../src/store/store-interface.ts';

/** A store at an address, which is closed after the test. */
export async function storeAt(
  text: string,
  more: StoreOptions & { leaseMs?: number } = {},
): Promise<PgStore> {
  const store = await openPostgres({ address: { text, from: 'file' }, env: {}, cwd: '/', ...more });
  onTestFinished(() => store.close());
  return store;
}

/** A server between a store and its database, through which a test cuts connections. */
export class CuttingProxy {
  readonly #sockets = new Set<Socket>();
  #port = 0;
  /** Called with what the client sends; true: the answer to it is lost, and the connection with it. */
  losesAnswerTo: (text: string) => boolean = () => false;
  /** While true nothing passes, and neither end learns of it, as where a network is cut. */
  isSilent = false;

  static async to(port: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy();
    const server = createServer((client) => proxy.#join(client, connect(port, '127.0.0.1')));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    proxy.#port = (server.address() as { port: number }).port;
    onTestFinished(() => {
      proxy.restore();
      server.close();
    });
    return proxy;
  }

  /** The same address by way of the proxy. */
  address(direct: string): string {
    return direct.replace(/:\d+\//, `:${this.#port}/`);
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  /** Lets everything pass again. Connections from before are gone. */
  restore(): void {
    this.isSilent = false;
    this.cut();
  }

  #join(client: Socket, server: Socket): void {
    let isLost = false;
    const end = () => {
      if (this.isSilent) return;
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (data) => {
      if (this.isSilent) return;
      isLost ||= this.losesAnswerTo(data.toString('latin1'));
      server.write(data);
    });
    server.on('data', (data) => {
      // By now the server has done it.
      if (isLost) end();
      else if (!this.isSilent) client.write(data);
    });
  }
}
