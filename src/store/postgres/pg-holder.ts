import { randomUUID } from 'node:crypto';
import { secondsWithSleep } from '../../machine/clock-with-sleep.ts';
import {
  isSeenAlive,
  ownIdentity,
  type ProcessIdentity,
} from '../../machine/process-identity-and-signals.ts';
import { type Claim, onceLeaseIsOver, sayHolder } from '../../model/claim.ts';
import { HeldError } from '../../model/errors.ts';
import type { Worker } from '../../model/fleet.ts';
import type { Holder } from '../store-interface.ts';
import type { Query } from './session.ts';
import { FORGET_HOLDERS, HOLDERS, REGISTER, RENEW, TAKE_ROLE, WORKERS } from './statements.ts';

/** How much is left of a holder's lease, by the database's clock. */
export interface LeaseRow {
  token: string;
  started: boolean;
  identity: string;
  left: number;
}

interface RoleRow extends LeaseRow {
  role: string | null;
  claim: string | null;
}

interface WorkerRow extends Omit<Worker, 'leaseLeft' | 'silentFor'> {
  /** Null where its process is forgotten. */
  left: number | null;
  lease_ms: number | null;
  identity: string | null;
}

interface Lease {
  /** Whether it renews itself, as that of an engine. */
  started: boolean;
  identity: ProcessIdentity;
  /** By this process's own clock, which stands still while the machine sleeps: then a lease seems to last longer, never shorter. */
  endsAt: number;
}

/** The leases and roles as they were when the database was last asked. */
export class Leases {
  #leases = new Map<string, Lease>();
  #roles = new Map<string, Claim>();
  #workers: readonly (WorkerRow & { readAt: number })[] = [];

  async refresh(query: Query): Promise<void> {
    const rows = await query<RoleRow>(HOLDERS);
    this.#leases = new Map(rows.map((row) => [row.token, leaseOf(row)]));
    const roles = rows.flatMap(({ role, claim }) =>
      role && claim ? [[role, JSON.parse(claim) as Claim] as const] : [],
    );
    this.#roles = new Map(roles);
    const workers = await query<WorkerRow>(WORKERS);
    const readAt = performance.now();
    this.#workers = workers.map((row) => ({ ...row, readAt }));
  }

  /** Workers, by their id. One whose process is seen to be gone has no lease left. */
  workers(): Worker[] {
    const all = this.#workers.map(({ left, lease_ms, identity, readAt, ...facts }) => {
      const ago = performance.now() - readAt;
      const isGone = identity === null || isSeenAlive(JSON.parse(identity) as ProcessIdentity) === false;
      const leaseLeft = isGone ? 0 : Math.max(0, (left ?? 0) - ago);
      return { ...facts, leaseLeft, silentFor: (lease_ms ?? 0) - (left ?? 0) + ago };
    });
    return all.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Takes over what was read beside something else. */
  note(row: LeaseRow): void {
    this.#leases.set(row.token, leaseOf(row));
  }

  forget(token: string): void {
    this.#leases.delete(token);
  }

  /** Milliseconds; undefined if no such lease is known. */
  left(token: string): number | undefined {
    const lease = this.#leases.get(token);
    return lease && Math.max(0, lease.endsAt - performance.now());
  }

  role(name: string): Claim | undefined {
    return this.#roles.get(name);
  }

  /** Whether engines are at work other than this one. */
  hasOthers(own: string): boolean {
    return [...this.#leases].some(
      ([token, { started, identity, endsAt }]) =>
        token !== own && started && endsAt > performance.now() && isSeenAlive(identity) !== false,
    );
  }
}

function leaseOf({ started, identity, left }: LeaseRow): Lease {
  return { started, identity: JSON.parse(identity) as ProcessIdentity, endsAt: performance.now() + left };
}

/** What a holder needs of the store. */
export interface HolderHome {
  leases: Leases;
  leaseMs: number;
  /** The state directory of this process: the jobs of its tickets are there. */
  state: string | undefined;
  /** Who gives the commands, for the record. */
  person: string | null;
  exclusively<T>(work: (query: Query) => Promise<T>): Promise<T>;
  /** Has the holder registered before anything else is written. */
  registerFirst(holder: PgHolder): void;
  /** Keeps the connection, so that a lease is renewed as soon as that is possible again. */
  keepConnection(keep: boolean): void;
}

/** A holder whose liveness is a lease in the database. On this machine, a process that is gone ends its lease at once. */
export class PgHolder implements Holder {
  readonly by: string;
  readonly token: string = randomUUID();
  readonly #home: HolderHome;
  #timer: NodeJS.Timeout | undefined;
  #started = false;
  #registered = false;
  #renewedAt: number | undefined;
  #onRenewed: (sentAt: number) => void = () => undefined;

  constructor(by: string, home: HolderHome) {
    this.by = by;
    this.#home = home;
  }

  claim(now: string): Claim {
    if (!this.#registered) this.#home.registerFirst(this);
    const { state } = this.#home;
    const place = this.by === WORKER && state !== undefined ? { state } : {};
    return { ...ownIdentity(), token: this.token, by: this.by, renewedAt: now, ...place };
  }

  /** Calls back after each renewal, with the time at which it was sent. */
  onRenewed(listener: (sentAt: number) => void): void {
    this.#onRenewed = listener;
  }

  /** When the last renewal that succeeded was sent, by a clock that counts the time in which the machine sleeps. */
  get renewedAt(): number | undefined {
    return this.#renewedAt;
  }

  /** Makes the holder known, or renews its lease. */
  async register(query: Query): Promise<void> {
    const { person, leaseMs, leases } = this.#home;
    const sentAt = secondsWithSleep();
    const identity = JSON.stringify(ownIdentity());
    const isKnown = this.#registered && (await query(RENEW, [this.token])).length > 0;
    if (!isKnown) await query(REGISTER, [this.token, this.by, identity, person, this.#started, leaseMs]);
    leases.note({ token: this.token, started: this.#started, identity, left: leaseMs });
    this.#registered = true;
    this.#renewedAt = sentAt;
    this.#onRenewed(sentAt);
  }

  async start(): Promise<void> {
    this.#started = true;
    await this.#home.exclusively(async (query) => {
      await query(FORGET_HOLDERS);
      await this.register(query);
      await this.#home.leases.refresh(query);
    });
    this.#home.keepConnection(true);
    this.#timer = setInterval(() => this.renew().catch(() => undefined), this.#home.leaseMs / RENEWALS);
    this.#timer.unref();
  }

  /** Rejects where the database cannot be reached; the next one comes soon. */
  async renew(): Promise<void> {
    const { exclusively, leases } = this.#home;
    await exclusively(async (query) => {
      await this.register(query);
      await leases.refresh(query);
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const { exclusively, keepConnection, leases } = this.#home;
    keepConnection(false);
    this.#started = false;
    this.#registered = false;
    leases.forget(this.token);
    // Without a database, the lease ends by itself.
    await exclusively((query) => query('delete from signalbox.holders where token = $1', [this.token])).catch(
      () => undefined,
    );
  }

  hasOthers(): boolean {
    return this.#home.leases.hasOthers(this.token);
  }

  /** The tickets in memory are up to date whenever this is asked. */
  lastClaimed(): undefined {
    return undefined;
  }

  noteClaimed(): void {
    // The claims are in the tickets, which are in memory.
  }

  isLive(claim: Claim): boolean {
    if (claim.token === this.token) return true;
    const seen = this.#ifSeen(claim);
    if (seen === false)
      return (
        claim.agent !== undefined &&
        claim.agent !== null &&
        isSeenAlive({ ...claim, ...claim.agent }) === true
      );
    const left = this.#home.leases.left(claim.token);
    return left === undefined ? seen === true : left > 0;
  }

  leaseLeft(claim: Claim): number | undefined {
    return this.#ifSeen(claim) === undefined ? (this.#home.leases.left(claim.token) ?? 0) : undefined;
  }

  /** The jobs of another worker cannot be seen from here, also where its process can: they may outlive it until its lease is over. */
  #ifSeen(claim: Claim): boolean | undefined {
    const seen = isSeenAlive(claim);
    return seen === false && claim.by === WORKER && claim.state !== this.#home.state ? undefined : seen;
  }

  /** Whether it is known that another live process does something that only one does. */
  isOthersRole(name: string): boolean {
    const found = this.#home.leases.role(name);
    if (!found || found.token === this.token || isSeenAlive(found) === false) return false;
    return (this.#home.leases.left(found.token) ?? 0) > 0;
  }

  hasRole(name: string): boolean {
    return this.#home.leases.role(name)?.token === this.token;
  }

  daemon(): Claim | undefined {
    const found = this.#home.leases.role(DAEMON);
    return found && this.isLive(found) ? found : undefined;
  }

  async claimDaemon(now: string): Promise<Claim> {
    const claim = this.claim(now);
    const other = await this.takeRole(DAEMON, claim);
    if (!other) return claim;
    const lease = this.leaseLeft(other);
    throw new HeldError('daemon/held', `A daemon already runs on this store: ${sayHolder(other)}.`, {
      hint:
        lease === undefined
          ? 'Stop it with: signalbox daemon stop'
          : onceLeaseIsOver(lease, 'signalbox daemon'),
      details: { holder: other },
    });
  }

  async releaseDaemon(): Promise<void> {
    await this.releaseRole(DAEMON);
  }

  /** Becomes the only process that does something, such as scheduling. Returns the claim of the one that does it already. */
  async takeRole(name: string, claim: Claim): Promise<Claim | undefined> {
    const { exclusively, leases } = this.#home;
    return exclusively(async (query) => {
      await this.register(query);
      for (;;) {
        await leases.refresh(query);
        const other = leases.role(name);
        const gone = other && isSeenAlive(other) === false ? other.token : null;
        const taken = await query(TAKE_ROLE, [name, this.token, JSON.stringify(claim), gone]);
        await leases.refresh(query);
        const holder = leases.role(name);
        // Otherwise it was given up in between.
        if (holder) return taken.length > 0 ? undefined : holder;
      }
    });
  }

  async releaseRole(name: string): Promise<void> {
    const { exclusively, leases } = this.#home;
    await exclusively(async (query) => {
      await query('delete from signalbox.roles where name = $1 and token = $2', [name, this.token]);
      await leases.refresh(query);
    });
  }
}

const DAEMON = 'daemon';
/** What the holder of a worker is called in claims. */
const WORKER = 'worker';
/** Renewals in the time of a lease. */
const RENEWALS = 4;
