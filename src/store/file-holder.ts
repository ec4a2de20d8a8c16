import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { withStateLock } from '../machine/file-lock.ts';
import {
  asStorageError,
  ifWritable,
  makeDirectory,
} from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { ifPossible, readJson } from '../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import type { ProcessIdentity } from '../machine/process-identity-and-signals.ts';
import { isAlive, isSeenAlive, ownIdentity } from '../machine/process-identity-and-signals.ts';
import { type Claim, daemonHeld, LEASE_MS, RENEW_MS } from '../model/lease-and-claim-messages.ts';
import type { Layout } from './state-paths-and-read-plans.ts';
import type { Holder } from './store-interface.ts';

/** A holder whose heartbeat is a file, and whose liveness on this host is that of its process. */
export class FileHolder implements Holder {
  readonly by: string;
  readonly #layout: Layout;
  #token: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(by: string, layout: Layout) {
    this.by = by;
    this.#layout = layout;
  }

  get token(): string {
    this.#token ??= randomUUID();
    return this.#token;
  }

  claim(now: string): Claim {
    return { ...ownIdentity(), token: this.token, by: this.by, renewedAt: now };
  }

  async start(): Promise<void> {
    try {
      makeDirectory(this.#layout.engines);
      this.#removeDead();
      // An engine that was alone until now has not noted its claims.
      rmSync(this.#layout.claimed, { force: true });
      this.#beat();
    } catch (error) {
      throw asStorageError(error, this.#layout.root);
    }
    this.#timer = setInterval(() => this.#renew(), RENEW_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    // If it stays, other processes will see that this process has ended.
    ifWritable(() => rmSync(this.#file(this.token), { force: true }));
  }

  hasOthers(): boolean {
    return readdirSync(this.#layout.engines).some((name) => name !== basename(this.#file(this.token)));
  }

  lastClaimed(): string[] | undefined {
    const keys = readJson<unknown>(this.#layout.claimed);
    return Array.isArray(keys) ? keys.map(String) : undefined;
  }

  noteClaimed(keys: readonly string[]): void {
    // On a full disk half a list is left, and the next engine checks all tickets.
    ifPossible(() => writeFileSync(this.#layout.claimed, JSON.stringify(keys), { mode: 0o600 }));
  }

  /** Removes the heartbeats of engines of this host that were killed. */
  #removeDead(): void {
    for (const name of readdirSync(this.#layout.engines)) {
      const file = join(this.#layout.engines, name);
      const identity = readJson<ProcessIdentity>(file);
      if (identity && isAlive(identity) === false) rmSync(file, { force: true });
    }
  }

  /** By its process on this host, by its heartbeat on another. */
  isLive(claim: Claim): boolean {
    const alive = isSeenAlive(claim);
    if (alive === false && claim.agent) return isAlive({ ...claim, ...claim.agent }) === true;
    return alive ?? this.#leaseOf(claim) > 0;
  }

  leaseLeft(claim: Claim): number | undefined {
    return isSeenAlive(claim) === undefined ? this.#leaseOf(claim) : undefined;
  }

  #leaseOf({ token }: Claim): number {
    const beat = statSync(this.#file(token), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return Math.max(0, beat + LEASE_MS - Date.now());
  }

  daemon(): Claim | undefined {
    const found = readJson<Claim>(this.#layout.daemon);
    return found && this.isLive(found) ? found : undefined;
  }

  async claimDaemon(now: string): Promise<Claim> {
    return withStateLock(this.#layout.root, 'daemon', () => {
      const other = this.daemon();
      if (other) throw daemonHeld('is already running here', other, this.leaseLeft(other));
      const claim = this.claim(now);
      // Other hosts judge the claim by the heartbeat, so that comes first.
      makeDirectory(this.#layout.engines);
      this.#beat();
      writeAtomic(this.#layout.daemon, `${JSON.stringify(claim)}\n`);
      return claim;
    });
  }

  async releaseDaemon(): Promise<void> {
    await withStateLock(this.#layout.root, 'daemon', () => {
      const { daemon } = this.#layout;
      if (readJson<Claim>(daemon)?.token === this.token) rmSync(daemon, { force: true });
    });
  }

  #file(token: string): string {
    return join(this.#layout.engines, `${token.replaceAll(/[^A-Za-z0-9-]/g, '')}.json`);
  }

  /** Sets only the file's time, which works on a full disk. On a read-only one it does nothing; writes of the state report that. */
  #renew(): void {
    const file = this.#file(this.token);
    const now = new Date();
    ifWritable(() => (existsSync(file) ? utimesSync(file, now, now) : this.#beat()));
  }

  #beat(): void {
    writeFileSync(this.#file(this.token), JSON.stringify({ ...ownIdentity(), by: this.by }), { mode: 0o600 });
  }
}
