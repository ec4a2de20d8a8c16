import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeDirectory } from '../machine/files/directory.ts';
import { asStorageError } from '../machine/files/storage-error.ts';
import { isAlive, ownIdentity, type ProcessIdentity } from '../machine/process-identity.ts';
import { type Claim, LEASE_MS, RENEW_MS } from '../model/claim.ts';

/** This process as a holder of claims. Its heartbeat file lets other hosts see that it lives. */
export class Holder {
  readonly by: string;
  #token: string | undefined;
  readonly #dir: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(by: string, enginesDir: string) {
    this.by = by;
    this.#dir = enginesDir;
  }

  get token(): string {
    this.#token ??= randomUUID();
    return this.#token;
  }

  claim(now: string): Claim {
    return { ...ownIdentity(), token: this.token, by: this.by, renewedAt: now };
  }

  start(): void {
    try {
      makeDirectory(this.#dir);
      this.#bury();
      this.#beat();
    } catch (error) {
      throw asStorageError(error, dirname(this.#dir));
    }
    this.#timer = setInterval(() => this.#renew(), RENEW_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    rmSync(this.#file(this.token), { force: true });
  }

  /** Whether other engines may be at work on the same state. */
  hasNeighbours(): boolean {
    return readdirSync(this.#dir).some((name) => name !== basename(this.#file(this.token)));
  }

  /** Removes the heartbeats of engines of this host that were killed. */
  #bury(): void {
    for (const name of readdirSync(this.#dir)) {
      const file = join(this.#dir, name);
      if (isDead(file)) rmSync(file, { force: true });
    }
  }

  /** Whether the holder of a claim still works: by its process on this host, by its heartbeat on another. */
  isLive(claim: Claim): boolean {
    const alive = isAlive(claim);
    if (alive === false && claim.agent) return isAlive({ ...claim, ...claim.agent }) === true;
    if (alive !== undefined) return alive;
    const beat = statSync(this.#file(claim.token), { throwIfNoEntry: false });
    return beat !== undefined && Date.now() - beat.mtimeMs < LEASE_MS;
  }

  #file(token: string): string {
    return join(this.#dir, `${token.replaceAll(/[^A-Za-z0-9-]/g, '')}.json`);
  }

  /** A beat that cannot be written is missed; what cannot go on without writing finds out by itself. */
  #renew(): void {
    try {
      this.#beat();
    } catch (error) {
      if (asStorageError(error, this.#dir) === error) throw error;
    }
  }

  #beat(): void {
    writeFileSync(this.#file(this.token), JSON.stringify({ ...ownIdentity(), by: this.by }), { mode: 0o600 });
  }
}

function isDead(heartbeat: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(heartbeat, 'utf8')) as ProcessIdentity) === false;
  } catch {
    // Gone by now, or being written at this moment.
    return false;
  }
}
