import type { Board, Change } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { parseJson } from '../logic/parse-json.ts';
import { asSnapshot, type BoardState, fromSnapshot, withChange } from './board-state.ts';

/** Whether what the page shows is current. */
export type Link =
  | { kind: 'connecting' }
  | { kind: 'live' }
  /** Nothing was heard since that time, in milliseconds; or the server hears nothing from its state. */
  | { kind: 'lost'; since: number; isServed: boolean }
  /** There is no session any more. */
  | { kind: 'ended' };

export type News = { snapshot: Board } | { change: Change } | { link: Link };

/** The server sends a beat every 5 seconds. Without one the connection is dead or the server hangs, whatever the browser thinks. */
const SILENT_MS = 12_000;
const CHECK_EVERY_MS = 1_000;
const RETRY_MS = 1_500;
/** A server that answers with errors is asked less and less often. */
const MAX_RETRY_MS = 20_000;

/** Follows the board over one connection, which it opens again whenever it is lost. */
export class LiveSource {
  readonly #tell: (news: News) => void;
  #stream: EventSource | undefined;
  #state: BoardState | undefined;
  #link: Link = { kind: 'connecting' };
  #lastId = '';
  #heardAt = 0;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;

  constructor(tell: (news: News) => void) {
    this.#tell = tell;
  }

  /** What a reader needs that joins now. */
  get current(): News[] {
    return [...(this.#state ? [{ snapshot: asSnapshot(this.#state) }] : []), { link: this.#link }];
  }

  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  open(): void {
    this.close();
    if (this.#link.kind === 'ended') this.#say({ kind: 'connecting' });
    const stream = new EventSource(`/api/v1/live?lastEventId=${encodeURIComponent(this.#lastId)}`);
    this.#stream = stream;
    this.#watch = setInterval(() => this.#check(), CHECK_EVERY_MS);
    stream.addEventListener('snapshot', ({ data, lastEventId }) => {
      const snapshot = parseJson<Board>(data);
      this.#state = fromSnapshot(snapshot);
      this.#heard(lastEventId);
      this.#tell({ snapshot });
    });
    stream.addEventListener('change', ({ data, lastEventId }) => {
      const change = parseJson<Change>(data);
      if (this.#state) this.#state = withChange(this.#state, change);
      this.#heard(lastEventId);
      this.#tell({ change });
    });
    stream.addEventListener('beat', ({ data }) => this.#beat(JSON.parse(data) as { readAt: string | null }));
    stream.addEventListener('error', () => {
      this.#lost();
      if (stream.readyState === EventSource.CLOSED) void this.#findOut();
    });
  }

  close(): void {
    this.#stream?.close();
    this.#stream = undefined;
    clearInterval(this.#watch);
    clearTimeout(this.#retry);
  }

  /** The server is there, but it may be unable to read the state. */
  #beat({ readAt }: { readAt: string | null }): void {
    if (readAt === null) this.#heard(this.#lastId);
    else this.#say({ kind: 'lost', since: Date.parse(readAt), isServed: true });
  }

  #heard(id: string): void {
    this.#lastId = id;
    this.#heardAt = Date.now();
    this.#failures = 0;
    this.#say({ kind: 'live' });
  }

  #lost(): void {
    const since = this.#link.kind === 'lost' ? this.#link.since : this.#heardAt;
    if (this.#link.kind === 'live' || this.#link.kind === 'lost')
      this.#say({ kind: 'lost', since, isServed: false });
  }

  #check(): void {
    if (this.#link.kind !== 'live' || Date.now() - this.#heardAt < SILENT_MS) return;
    this.#lost();
    this.open();
  }

  /** The browser gave up, because the server answered with an error. */
  async #findOut(): Promise<void> {
    const answer = await fetch('/api/v1/session').catch(() => undefined);
    if (answer?.status === 401) {
      this.close();
      return this.#say({ kind: 'ended' });
    }
    const wait = Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** this.#failures++);
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.open(), wait);
  }

  #say(link: Link): void {
    const isSame = link.kind === this.#link.kind && link.kind !== 'lost';
    this.#link = link;
    if (!isSame) this.#tell({ link });
  }
}
