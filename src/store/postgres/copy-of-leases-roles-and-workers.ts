import { isSeenAlive, type ProcessIdentity } from '../../machine/process-identity-and-signals.ts';
import type { Claim } from '../../model/lease-and-claim-messages.ts';
import type { Worker } from '../../model/place-tickets-on-workers.ts';
import type { Query } from './database-connection.ts';
import { HOLDERS, WORKERS } from './plan-event-and-lease-statements.ts';

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

interface WorkerRow extends Omit<Worker, 'pid' | 'isElsewhere' | 'leaseLeft' | 'silentFor'> {
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
      const process = identity === null ? undefined : (JSON.parse(identity) as ProcessIdentity);
      const seen = process !== undefined && isSeenAlive(process);
      const leaseLeft = seen === false ? 0 : Math.max(0, (left ?? 0) - ago);
      // Holders are forgotten after a day.
      const silentFor = lease_ms === null || left === null ? Number.POSITIVE_INFINITY : lease_ms - left + ago;
      return { ...facts, pid: process?.pid ?? 0, isElsewhere: seen === undefined, leaseLeft, silentFor };
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
