import { join } from 'node:path';
import { InputError } from '../model/errors.ts';
import { idProblem, type TicketRef } from '../model/ids.ts';

/** Where everything lies under a state directory. The only place where an id becomes a path, and it is checked here. */
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
  /** What the config of repositories had when they were first used. */
  get repositories(): string {
    return join(this.root, 'repositories');
  }
  get daemon(): string {
    return join(this.root, 'daemon.json');
  }

  /** How large agents get. */
  get memory(): string {
    return join(this.root, 'memory.json');
  }

  /** By which secrets are known in what jobs printed. */
  get fingerprints(): string {
    return join(this.root, 'fingerprints.json');
  }

  /** What agents of deleted tickets used. */
  get past(): string {
    return join(this.root, 'past.json');
  }

  planDir(id: string): string {
    return join(this.plans, checked(id, 'plan'));
  }
  planFile(id: string): string {
    return join(this.planDir(id), 'plan.json');
  }
  ticketDir(planId: string): string {
    return join(this.planDir(planId), 'tickets');
  }
  ticketFile(ref: TicketRef): string {
    return join(this.ticketDir(ref.planId), `${checked(ref.ticketId, 'ticket')}.json`);
  }
  events(planId: string): string {
    return join(this.planDir(planId), 'events.jsonl');
  }
  /** Where the plan's latest run can be watched. */
  tmux(planId: string): string {
    return join(this.planDir(planId), 'tmux.json');
  }
  /** Which notifications about a plan were sent. */
  notified(planId: string): string {
    return join(this.planDir(planId), 'notified.jsonl');
  }
  /** Jobs of the checks of a merge, by repository. */
  merge(id: string): string {
    return join(this.root, 'merges', checked(id, 'merge'));
  }
  /** `name` is an id, or `plan+ticket`. */
  lock(name: string): string {
    for (const part of name.split('+')) checked(part, 'lock');
    return join(this.locks, `${name}.lock`);
  }
  jobsOf(ref: TicketRef): string {
    return join(this.root, 'jobs', checked(ref.planId, 'plan'), checked(ref.ticketId, 'ticket'));
  }
  job(ref: TicketRef, key: string): string {
    return join(this.jobsOf(ref), key.replaceAll('#', '.'));
  }
}

function checked(id: string, what: string): string {
  const problem = idProblem(id);
  if (problem)
    throw new InputError('id/illegal', `The ${what} id ${JSON.stringify(id.slice(0, 60))} ${problem}.`);
  return id;
}
