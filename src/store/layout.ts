import { join } from 'node:path';
import { requireId, type TicketRef } from '../model/ids.ts';

/** Where the shared state is in a state directory. Only the store knows these paths. */
export class Layout {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  get plans(): string {
    return join(this.root, 'plans');
  }
  get locks(): string {
    return join(this.root, 'locks');
  }
  get pins(): string {
    return join(this.root, 'workflows');
  }
  get engines(): string {
    return join(this.root, 'engines');
  }
  get daemon(): string {
    return join(this.root, 'daemon.json');
  }

  /** What agents of deleted tickets used. */
  get deletedUsage(): string {
    return join(this.root, 'past.json');
  }

  planDir(id: string): string {
    return join(this.plans, requireId(id, 'plan'));
  }
  planFile(id: string): string {
    return join(this.planDir(id), 'plan.json');
  }
  ticketDir(planId: string): string {
    return join(this.planDir(planId), 'tickets');
  }
  ticketFile(ref: TicketRef): string {
    return join(this.ticketDir(ref.planId), `${requireId(ref.ticketId, 'ticket')}.json`);
  }
  events(planId: string): string {
    return join(this.planDir(planId), 'events.jsonl');
  }
  /** Which notifications about a plan were sent. */
  notified(planId: string): string {
    return join(this.planDir(planId), 'notified.jsonl');
  }
  /** `name` is an id, or `plan+ticket`. */
  lock(name: string): string {
    for (const part of name.split('+')) requireId(part, 'lock');
    return join(this.locks, `${name}.lock`);
  }
}
