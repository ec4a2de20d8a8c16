import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { SignalboxError } from '../../model/errors.ts';
import type { ConnectionParameters } from './connection-parameters.ts';
import { explainPgError } from './explain-pg-errors.ts';

/** Longer than connecting takes. */
const ANSWER_MS = 10_000;

/** What the thread runs. It has no access to anything of ours, so this is plain JavaScript. */
const PROGRAM = `
const { workerData: { flag, port, pg, parameters, idleMs } } = require('node:worker_threads');
const { Client } = require(pg);
const { tls, password, ...place } = parameters;
const ssl = tls && { ...tls, rejectUnauthorized: tls.verifies !== 'nothing' };
if (ssl && tls.verifies === 'authority') ssl.checkServerIdentity = () => undefined;
let client, timer;
async function connected() {
  if (client) return client;
  const fresh = new Client({ ...place, password: () => password, ssl: ssl ?? false,
    application_name: 'signalbox reader', connectionTimeoutMillis: 5000, keepAlive: true });
  const lost = () => { if (client === fresh) client = undefined; };
  fresh.on('error', lost);
  fresh.on('end', lost);
  await fresh.connect();
  return (client = fresh);
}
async function answer({ text, values }) {
  try {
    return { rows: (await (await connected()).query({ text, values })).rows };
  } catch ({ code, severity, message }) {
    return { error: { code, severity, message } };
  }
}
port.on('message', async (question) => {
  clearTimeout(timer);
  port.postMessage(await answer(question));
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
  timer = setTimeout(() => client?.end().catch(() => undefined), idleMs);
});
`;

/** Its connection is closed after this time without a query. */
const IDLE_MS = 20_000;

type Answer<R> = { rows: R[] } | { error: { code?: string; severity?: string; message: string } };

/**
 * Asks the database and waits for the answer, which blocks this process for as long as that takes. For what is seldom needed
 * and not in memory, by callers that cannot wait in another way.
 */
export class BlockingReader {
  readonly #pg: string;
  readonly #parameters: ConnectionParameters;
  #thread: { worker: Worker; port: MessagePort; flag: Int32Array } | undefined;

  /** `pg`: the file of the package. */
  constructor(pg: string, parameters: ConnectionParameters) {
    this.#pg = pg;
    this.#parameters = parameters;
  }

  query<R>(text: string, values: readonly unknown[] = []): R[] {
    // A connection that has been cut since the last question is noticed only now.
    const first = this.#ask<R>(text, values);
    const answer =
      'error' in first && first.error.severity === undefined ? this.#ask<R>(text, values) : first;
    if ('rows' in answer) return answer.rows;
    throw explainPgError(answer.error, this.#parameters);
  }

  #ask<R>(text: string, values: readonly unknown[]): Answer<R> {
    this.#thread ??= this.#start();
    const { port, flag } = this.#thread;
    Atomics.store(flag, 0, 0);
    port.postMessage({ text, values });
    const waited = Atomics.wait(flag, 0, 0, ANSWER_MS);
    const received = receiveMessageOnPort(port) as { message: Answer<R> } | undefined;
    if (received) return received.message;
    void this.close();
    const why = waited === 'timed-out' ? 'it does not answer' : 'nothing was answered';
    throw new SignalboxError('state/storage', `Cannot reach the store: ${why}.`, {
      hint: 'What was stored is intact. Try again when the database is there.',
    });
  }

  #start() {
    const { port1, port2 } = new MessageChannel();
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(PROGRAM, {
      eval: true,
      // Nothing of this process's environment or output is for it.
      env: { NODE_NO_WARNINGS: '1' },
      execArgv: [],
      stdout: true,
      stderr: true,
      workerData: { flag, port: port2, pg: this.#pg, parameters: this.#parameters, idleMs: IDLE_MS },
      transferList: [port2],
    });
    worker.on('error', () => undefined);
    worker.unref();
    return { worker, port: port1, flag };
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    thread?.port.close();
    await thread?.worker.terminate();
  }
}
