import { randomUUID } from 'node:crypto';
import { secondsWithSleep } from '../../machine/jobs/start-and-read-job.ts';
import { isSeenAlive, ownIdentity } from '../../machine/process-identity-and-signals.ts';
import { type Claim, daemonHeld } from '../../model/lease-and-claim-messages.ts';
import type { Holder } from '../store-interface.ts';
import type { Leases } from './copy-of-leases-roles-and-workers.ts';
import type { Query } from './database-connection.ts';
import { FORGET_HOLDERS, REGISTER, RENEW, TAKE_ROLE } from './plan-event-and-lease-statements.ts';
import type { PgContext } from './store-context-and-command-records.ts';

/** A holder whose liveness is a lease in the database. On this machine, a process that is gone ends its lease at once. */
export class PgHolder implements Holder {
  readonly by: string;
  readonly token: string = randomUUID();
  readonly #context: PgContext;
  readonly #leases: Leases;
  #timer: NodeJS.Timeout | undefined;
  #started = false;
  #registered = false;
  #onRenewed: (sentAt: number) => void = () => undefined;

  constructor(by: string, context: PgContext) {
    this.by = by;
    this.#context = context;
    this.#leases = context.connected.leases;
  }

  #exclusively<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#context.connected.session.exclusively(work);
  }

  claim(now: string): Claim {
    if (!this.#registered) this.#context.unregistered.add(this);
    const { state } = this.#context;
    const place = this.by === WORKER && state !== undefined ? { state } : {};
    return { ...ownIdentity(), token: this.token, by: this.by, renewedAt: now, ...place };
  }

  /** Calls back after each renewal, with the time at which it was sent. */
  onRenewed(listener: (sentAt: number) => void): void {
    this.#onRenewed = listener;
  }

  /** Makes the holder known, or renews its lease. */
  async register(query: Query): Promise<void> {
    const { person, leaseMs } = this.#context;
    const sentAt = secondsWithSleep();
    const identity = JSON.stringify(ownIdentity());
    const isKnown = this.#registered && (await query(RENEW, [this.token])).length > 0;
    if (!isKnown) await query(REGISTER, [this.token, this.by, identity, person, this.#started, leaseMs]);
    this.#leases.note({ token: this.token, started: this.#started, identity, left: leaseMs });
    this.#registered = true;
    this.#onRenewed(sentAt);
  }

  async start(): Promise<void> {
    this.#started = true;
    await this.#exclusively((query) => query(FORGET_HOLDERS));
    await this.renew();
    this.#context.connected.keepConnection(true);
    this.#timer = setInterval(() => this.renew().catch(() => undefined), this.#context.leaseMs / RENEWALS);
    this.#timer.unref();
  }

  /** Rejects where the database cannot be reached; the next one comes soon. */
  async renew(): Promise<void> {
    await this.#exclusively(async (query) => {
      await this.register(query);
      await this.#leases.refresh(query);
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#context.connected.keepConnection(false);
    this.#started = false;
    this.#registered = false;
    this.#leases.forget(this.token);
    // Without a database, the lease ends by itself.
    const forget = 'delete from signalbox.holders where token = $1';
    await this.#exclusively((query) => query(forget, [this.token])).catch(() => undefined);
  }

  hasOthers(): boolean {
    return this.#leases.hasOthers(this.token);
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
      return claim.agent !== undefined && isSeenAlive({ ...claim, ...claim.agent }) === true;
    const left = this.#leases.left(claim.token);
    return left === undefined ? seen === true : left > 0;
  }

  leaseLeft(claim: Claim): number | undefined {
    return this.#ifSeen(claim) === undefined ? (this.#leases.left(claim.token) ?? 0) : undefined;
  }

  /** The jobs of another worker cannot be seen from here, also where its process can: they may outlive it until its lease is over. */
  #ifSeen(claim: Claim): boolean | undefined {
    const seen = isSeenAlive(claim);
    return seen === false && claim.by === WORKER && claim.state !== this.#context.state ? undefined : seen;
  }

  /** Whether it is known that another live process does something that only one does. */
  isOthersRole(name: string): boolean {
    const found = this.#leases.role(name);
    if (!found || found.token === this.token || isSeenAlive(found) === false) return false;
    return (this.#leases.left(found.token) ?? 0) > 0;
  }

  hasRole(name: string): boolean {
    return this.#leases.role(name)?.token === this.token;
  }

  daemon(): Claim | undefined {
    const found = this.#leases.role(DAEMON);
    return found && this.isLive(found) ? found : undefined;
  }

  async claimDaemon(now: string): Promise<Claim> {
    const claim = this.claim(now);
    const other = await this.takeRole(DAEMON, claim);
    if (!other) return claim;
    throw daemonHeld('already runs on this store', other, this.leaseLeft(other));
  }

  async releaseDaemon(): Promise<void> {
    await this.releaseRole(DAEMON);
  }

  /** Becomes the only process that does something, such as scheduling. Returns the claim of the one that does it already. */
  async takeRole(name: string, claim: Claim): Promise<Claim | undefined> {
    return this.#exclusively(async (query) => {
      await this.register(query);
      for (;;) {
        await this.#leases.refresh(query);
        const other = this.#leases.role(name);
        const gone = other && isSeenAlive(other) === false ? other.token : null;
        const taken = await query(TAKE_ROLE, [name, this.token, JSON.stringify(claim), gone]);
        await this.#leases.refresh(query);
        const holder = this.#leases.role(name);
        // Otherwise it was given up in between.
        if (holder && taken.length === 0) return holder;
        if (holder && name === DAEMON) await this.#context.records.add(query, DAEMON, ownIdentity().host);
        if (holder) return undefined;
      }
    });
  }

  async releaseRole(name: string): Promise<void> {
    await this.#exclusively(async (query) => {
      await query('delete from signalbox.roles where name = $1 and token = $2', [name, this.token]);
      await this.#leases.refresh(query);
    });
  }
}

const DAEMON = 'daemon';
/** What the holder of a worker is called in claims. */
const WORKER = 'worker';
/** Renewals in the time of a lease. */
const RENEWALS = 4;
