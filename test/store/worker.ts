import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { withLock } from '../../src/machine/file-lock.ts';
import { writeAtomic } from '../../src/machine/files/write-atomic-and-note-facts.ts';
import { SignalboxError } from '../../src/model/errors.ts';
import { Plan } from '../../src/model/plan-schema.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';
import { openStore } from '../../src/store/open-file-store-with-schemas.ts';
import { openPostgres } from '../../src/store/postgres/open-postgres.ts';
import type { Store } from '../../src/store/store-interface.ts';
import { within } from '../support/within.ts';
import { ACTS, type Act } from './acts.ts';

// The processes of the store's tests: started, watched and killed by them.

const say = (value: unknown) => void writeSync(1, `${JSON.stringify(value)}\n`);
const REF = { planId: 'p', ticketId: 't' };
const [what, dir = '', more = '1'] = process.argv.slice(2);

/** What an operation came to: `fine`, or the code of its error. */
async function codeOf(operation: () => unknown): Promise<string> {
  try {
    await operation();
    return 'fine';
  } catch (error) {
    return error instanceof SignalboxError ? error.code : `raw: ${error}`;
  }
}

/** The files of a directory, or the database whose address is in a file. */
async function openGiven(place: string): Promise<Store> {
  if (!place.endsWith('.address')) return openStore(place);
  const address = { text: readFileSync(place, 'utf8'), from: 'file' } as const;
  return openPostgres({ address, env: {}, cwd: '/', packages: process.cwd() });
}

const jobs: Record<string, () => Promise<void> | void> = {
  /** Does something of `ACTS` until it is killed. */
  async act() {
    const alive = setInterval(() => undefined, 1000);
    await ACTS[more as Act](await openGiven(dir), say);
    clearInterval(alive);
  },

  /** Takes a lock, or tries to, with no file left to open. */
  async crowded() {
    const files: number[] = [];
    const use = () => files.push(openSync('/dev/null', 'r'));
    try {
      for (;;) use();
    } catch {
      // From here on nothing can be opened.
    }
    const said = await withLock(dir, () => 'fine', { timeoutMs: 200 }).catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    closeSync(files.pop() ?? 0);
    say(said);
  },

  /** Replaces a file over and over; each text is one letter, many times. */
  rewrite() {
    for (let n = 0; ; n++) {
      writeAtomic(dir, 'abcdefghij'.charAt(n % 10).repeat(300_000));
      say(n);
    }
  },

  /** Adds to a number in a file, with a pause between reading and writing; a second holder would be noticed. */
  async count() {
    const number = join(dir, 'number');
    const inside = join(dir, 'inside');
    for (let n = 0; n < Number(more); n++) {
      await withLock(
        join(dir, 'number.lock'),
        async () => {
          closeSync(openSync(inside, 'wx'));
          const value = Number(readFileSync(number, 'utf8'));
          await turn();
          writeFileSync(number, String(value + 1));
          rmSync(inside);
        },
        { timeoutMs: within(25_000) },
      );
      await delay(1);
    }
    say('done');
  },

  /** Takes a lock and never lets go. */
  async hold() {
    const alive = setInterval(() => undefined, 1000);
    await withLock(dir, () => new Promise(() => say('held')));
    clearInterval(alive);
  },

  async bump() {
    const store = openStore(dir);
    for (let n = 0; n < Number(more); n++) {
      await store.updateTicket(REF, (ticket) => ({
        ...ticket,
        context: { ...ticket.context, n: Number(ticket.context.n ?? 0) + 1 },
      }));
      await delay(1);
    }
    say('done');
  },

  async make() {
    const plan = Plan.parse({ id: 'p', status: 'active', tickets: [{ ticketId: 't' }] });
    await openStore(dir).create(plan, [Ticket.parse({ ...REF, title: 'T' })]);
    say('made');
  },

  /** Tries to write where nothing can be written. */
  async readOnly() {
    if (process.getuid?.() === 0) {
      process.setgid?.(65534);
      process.setuid?.(65534);
    }
    say(await tryAll(openStore(dir)));
  },

  /** The same where only a mount forbids it. */
  async readOnlyMount() {
    say(await tryAll(openStore(dir)));
  },

  /** Makes a plan, fills the disk, tries to write, makes room again. */
  async makeFull() {
    const store = openStore(dir);
    await jobs.make?.();
    const filler = join(dir, 'filler');
    const half = fill(filler);
    const report = await tryAll(store);
    rmSync(filler, { force: true });
    await store.append('p', { type: 'plan:status', planId: 'p', status: 'active', v: 1, at: 'later' });
    const after = await store.updateTicket(REF, (ticket) => ({ ...ticket, description: 'room again' }));
    say({ ...report, half, after: after.description, events: store.events('p').map((event) => event.at) });
  },
};

/** Every way of writing, each with more than fits; then what is there to be read. */
async function tryAll(store: Store): Promise<Record<string, unknown>> {
  const big = 'x'.repeat(60_000);
  const before = JSON.stringify([...store.view().tickets]);
  const ticket = await codeOf(() => store.updateTicket(REF, (each) => ({ ...each, description: big })));
  const plan = await codeOf(() => store.updatePlan('p', (each) => ({ ...each, name: big })));
  const event = await codeOf(() =>
    store.append('p', { type: 'plan:status', planId: 'p', status: big, v: 1, at: 'lost' }),
  );
  const create = await codeOf(() =>
    store.create(Plan.parse({ id: 'q', tickets: [{ ticketId: 't' }] }), [
      Ticket.parse({ planId: 'q', ticketId: 't', title: big }),
    ]),
  );
  const pin = await codeOf(() => store.pin('0123456789abcdef', big));
  const fresh = openStore(dir).view();
  return {
    codes: { ticket, plan, event, create, pin },
    intact: JSON.stringify([...fresh.tickets]) === before,
    plans: fresh.plans.map((each) => [each.id, each.name]),
    problems: fresh.problems,
    pinned: store.pinned('0123456789abcdef') !== undefined,
  };
}

/** Writes until there is no room, then gives two pages back: enough for the beginning of a file. */
function fill(path: string): boolean {
  try {
    for (;;) appendFileSync(path, 'x'.repeat(4096));
  } catch {
    const size = readFileSync(path).length;
    truncateSync(path, Math.max(0, size - 8192));
    return size > 0;
  }
}

await jobs[what ?? '']?.();
