import { refKey, type TicketRef } from '../../../src/model/ids-and-branch-names.ts';
import type { Worker } from '../../../src/model/place-tickets-on-workers.ts';
import type { FleetWorld } from '../../support/fleet.ts';
import { pgCtl } from '../../support/postgres.ts';
import { waitFor } from '../../support/wait-for.ts';
import { delay, type Machine, type Machines } from './machines.ts';

export type Trouble =
  | 'kill a worker'
  | 'kill the scheduler'
  | 'stop a worker'
  | 'stop the scheduler'
  | 'cut a connection'
  | 'restart fast'
  | 'restart immediate'
  | 'pause what is dispatched'
  | 'deliver twice'
  | 'throw at the claim'
  | 'throw at the start';

/** Half of the kills are for good; the others come back in this part of the lease, at most. */
const BACK_WITHIN = 1 / 4;
/** How long a worker is stopped or cut off, in leases. */
const AWAY = 1.5;

/** How many of the kills are followed by a pause of what the next worker is given. */
const PAUSES = 3;

/** All troubles of a run, in a random order: every third of the other kills hits the scheduler. */
export function troublesBy(random: () => number, kills: number): Trouble[] {
  const killed = Array.from({ length: kills }, (_, index) => {
    if (index < PAUSES) return 'pause what is dispatched';
    return index % 3 === 0 ? 'kill the scheduler' : 'kill a worker';
  });
  const others: Trouble[] = [
    ...(['stop a worker', 'stop a worker', 'stop the scheduler', 'cut a connection'] as const),
    ...(['cut a connection', 'restart fast', 'restart immediate'] as const),
    ...(['deliver twice', 'deliver twice', 'deliver twice'] as const),
    ...(['throw at the claim', 'throw at the start', 'throw at the start'] as const),
  ];
  return [...killed, ...others]
    .map((trouble) => ({ trouble, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ trouble }) => trouble);
}

interface MakerOptions {
  fleet: FleetWorld;
  machines: Machines;
  random: () => number;
  leaseMs: number;
}

/** Makes trouble for the machines of a fleet. */
export class TroubleMaker {
  readonly #options: MakerOptions;
  /** Which machine each trouble hit, for messages about a failure. */
  readonly done: string[] = [];
  kills = 0;
  /** How often the scheduler was a daemon when it was killed, and how often the process that scheduled was stopped. */
  killedDaemons = 0;
  stoppedSchedulers = 0;
  /** How often a ticket was paused between its dispatch and its claim, and how often what drives one threw. */
  paused = 0;
  thrown = 0;

  /** Keys of the tickets whose drives are to throw. */
  readonly #threw = new Set<string>();

  constructor(options: MakerOptions) {
    this.#options = options;
  }

  async make(trouble: Trouble): Promise<void> {
    const { fleet, machines, random, leaseMs } = this.#options;
    const { machine, schedules } = await this.#victim(trouble.endsWith('scheduler'));
    this.done.push(`${trouble}: ${machine.name}`);
    switch (trouble) {
      case 'restart fast':
        return pgCtl(fleet.database.server, 'restart', '--mode=fast');
      case 'restart immediate':
        return pgCtl(fleet.database.server, 'restart', '--mode=immediate');
      case 'cut a connection':
        return machines.cut(machine, AWAY * leaseMs);
      case 'stop a worker':
      case 'stop the scheduler':
        if (schedules) this.stoppedSchedulers += 1;
        return machines.freeze(machine, AWAY * leaseMs);
      case 'deliver twice':
        await fleet.database.query(DELIVER_AGAIN);
        return;
      case 'pause what is dispatched':
        this.kills += 1;
        return this.#pauseDispatched(machine);
      case 'throw at the claim':
      case 'throw at the start':
        return this.#throwInDrive(trouble === 'throw at the claim');
      case 'kill a worker':
      case 'kill the scheduler':
        this.kills += 1;
        if (machine.runs === 'daemon') this.killedDaemons += 1;
        void machines.kill(
          machine,
          this.kills % 2 === 1 ? 'never' : { afterMs: random() * BACK_WITHIN * leaseMs },
        );
    }
  }

  /** Kills a worker for good, and pauses and retries a ticket that is dispatched to the machine in its place, before it is claimed. */
  async #pauseDispatched(killed: Machine): Promise<void> {
    const { fleet, machines, leaseMs } = this.#options;
    const { store } = fleet;
    // With all its slots free it gets the next ticket. While it is stopped, it does not claim that.
    const machine = await machines.kill(killed, 'never');
    const own = await waitFor('the worker that takes tickets', async () => {
      await store.refresh();
      const isOwn = ({ repos }: Worker) =>
        repos.some((path) => path.startsWith(`${machine.dir.toLowerCase()}/`));
      return store.fleet.workers().find(isOwn)?.id;
    });
    // Late in a run, the tickets that may start are few.
    for (let tries = 0; tries < 3; tries += 1) {
      await waitFor('the machine is back', () => !machine.isAway);
      const frozenMs = leaseMs / 2;
      machines.freeze(machine, frozenMs);
      const ref = await this.#dispatchedTo(own, performance.now() + frozenMs);
      if (!ref) continue;
      for (const command of ['pause', 'retry']) {
        const { code, err } = await fleet.cli(command, ref.planId, ref.ticketId);
        if (code !== 0) throw new Error(`${command} ${refKey(ref)}: ${err}`);
      }
      this.paused += 1;
      return;
    }
  }

  /** A ticket that is dispatched to a worker and not claimed; undefined: none was until then. */
  async #dispatchedTo(worker: string, until: number): Promise<TicketRef | undefined> {
    const { store } = this.#options.fleet;
    while (performance.now() < until) {
      await store.refresh();
      const found = [...store.glance().tickets.values()].find(
        ({ dispatch, claim, status }) =>
          status !== 'paused' && claim === null && dispatch?.at != null && dispatch.to === worker,
      );
      if (found) return found;
      await delay(50);
    }
    return undefined;
  }

  /** Lets whoever drives a ticket meet an error that it does not expect, before it starts an agent. Then a person retries the ticket. */
  async #throwInDrive(atClaim: boolean): Promise<void> {
    const { fleet, machines } = this.#options;
    const { store, database } = fleet;
    await store.refresh();
    const found = [...store.glance().tickets.values()].find(
      (ticket) => ticket.status === 'queued' && ticket.claim === null && !this.#threw.has(refKey(ticket)),
    );
    if (!found) return;
    const { planId, ticketId } = found;
    this.#threw.add(refKey(found));
    await database.query(THROW, [planId, ticketId, atClaim]);
    const isHeld = async () => {
      await store.refresh();
      const { status, error } = store.ticket(found);
      return status === 'needs_attention' && error?.includes(THROWN);
    };
    void machines.inBackground(async () => {
      const what = `a throw for ${planId} ${ticketId}`;
      await waitFor(what, isHeld, { timeoutMs: 120_000, state: () => JSON.stringify(store.ticket(found)) });
      // The database may be restarting.
      await waitFor(`the end of ${what}`, async () => {
        await database.query('delete from throws where plan_id = $1 and ticket_id = $2', [planId, ticketId]);
        return (await fleet.cli('retry', planId, ticketId)).code === 0 || !(await isHeld());
      });
      this.thrown += 1;
    });
  }

  /** The machine that schedules, if that is wanted and known, or any. */
  async #victim(isScheduler: boolean) {
    const { machines, random } = this.#options;
    const pid = isScheduler ? await this.#schedulerPid().catch(() => undefined) : undefined;
    const { all, present } = machines;
    const scheduler = all.find(({ worker }) => worker?.pid === pid);
    const machine = scheduler ?? present[Math.floor(random() * present.length)];
    if (!machine) throw new Error('no machine is left');
    return { machine, schedules: machine === scheduler };
  }

  async #schedulerPid(): Promise<number | undefined> {
    const [role] = await this.#options.fleet.database.query<{ claim: string }>(
      "select claim from signalbox.roles where name = 'scheduler'",
    );
    return role && (JSON.parse(role.claim) as { pid: number }).pid;
  }
}

/** Jobs of now and of earlier, as the queue would deliver them if the answers to their ends were lost. */
const DELIVER_AGAIN = `insert into signalbox_queue.job (name, data)
select name, data from signalbox_queue.job order by created_on desc limit 10`;

const THROWN = 'thrown by a test';
/** Makes the database refuse some writes with an error that no program expects. */
export const CAN_THROW = `
create table throws (plan_id text, ticket_id text, at_claim boolean);
create function throws() returns trigger language plpgsql as $$
begin
  if exists (
    select from public.throws t
    where (t.plan_id, t.ticket_id, t.at_claim) = (new.plan_id, new.ticket_id, old.claim is null)
  ) then raise exception '${THROWN}'; end if;
  return new;
end $$;
create trigger throws before update on signalbox.tickets
for each row when (new.claim is not null) execute function throws()`;
const THROW = 'insert into throws values ($1, $2, $3)';
