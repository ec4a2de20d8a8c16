import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openPostgres } from '../../src/store/postgres/open-postgres.ts';
import type { PgStore } from '../../src/store/postgres/pg-store.ts';
import { type Running, says } from './cli.ts';
import { asOwner, type Database, type PostgresServer, scratchDatabase } from './postgres.ts';
import { git } from './repo.ts';
import { waitFor } from './wait-for.ts';
import { World } from './world.ts';

/** Plans in PostgreSQL, and machines that work on them: each has a home of its own, all have the same repository. */
export class FleetWorld {
  readonly world: World;
  readonly database: Database;
  readonly store: PgStore;
  #machines = 0;

  private constructor(world: World, database: Database, store: PgStore) {
    this.world = world;
    this.database = database;
    this.store = store;
  }

  static async open(server?: PostgresServer): Promise<FleetWorld> {
    const database = await scratchDatabase(server ? { on: server } : {});
    const world = new World();
    world.config({ repos: { 'acme/scratch': world.repo }, pollInterval: 5, memory: { agentMegabytes: 0 } });
    const address = { text: database.address, from: 'file' } as const;
    const store = await openPostgres({ address, env: {}, cwd: '/' });
    onTestFinished(async () => {
      await world.close();
      await store.close();
    });
    return new FleetWorld(world, database, store);
  }

  /** Copies the plans that the test wrote as files into the store. */
  async upload(...ids: string[]): Promise<void> {
    for (const id of ids) {
      const plan = this.world.readPlan(id);
      await this.store.create(
        plan,
        plan.tickets.map(({ ticketId }) => this.world.ticket(id, ticketId)),
      );
    }
  }

  env(home = this.world.home, address = this.database.address): NodeJS.ProcessEnv {
    return { SIGNALBOX_STORE: address, SIGNALBOX_HOME: home, USER: 'anna' };
  }

  /** A command of a person, on a machine without plans of its own. */
  cli(...args: string[]) {
    return this.world.invoke(args, this.env()).ended;
  }

  /** The home of a new machine, with the settings and workflows that the test has written so far. */
  machine(): string {
    this.#machines += 1;
    const home = join(this.world.dir, `machine-${this.#machines}`);
    cpSync(this.world.home, home, {
      recursive: true,
      filter: (path) => !path.startsWith(this.world.stateDir),
    });
    return home;
  }

  /** The home of a new machine with a clone and worktrees of its own. It shares nothing but the store and origin. */
  machineWithClone(): string {
    const origin = join(this.world.dir, 'origin.git');
    if (!existsSync(origin)) {
      git(this.world.dir, 'clone', '--quiet', '--bare', this.world.repo, origin);
      git(this.world.repo, 'remote', 'add', '--fetch', 'origin', origin);
    }
    const home = this.machine();
    const clone = `${home}-clone`;
    git(this.world.dir, 'clone', '--quiet', origin, clone);
    const file = join(home, 'config.yaml');
    const config = JSON.parse(readFileSync(file, 'utf8')) as object;
    const own = { repos: { 'acme/scratch': clone }, worktreeRoot: `${home}-trees` };
    writeFileSync(file, JSON.stringify({ ...config, ...own }));
    return home;
  }

  /** Starts a worker as a process of its own, and waits until it takes tickets. */
  async worker(home: string, args: readonly string[] = [], address?: string): Promise<Running> {
    const running = this.world.start(['worker', '--plain', ...args], this.env(home, address));
    const isOver = running.ended.then(({ err }) => {
      throw new Error(`The worker has ended: ${err}`);
    });
    await Promise.race([says(running, /takes tickets/), isOver]);
    isOver.catch(() => undefined);
    return running;
  }

  /** Cuts all connections to the store and refuses new ones, or takes them again. */
  setReachable(isReachable: boolean): Promise<void> {
    const { server, name } = this.database;
    return asOwner(server, 'postgres', async (query) => {
      await query(`alter database ${name} with allow_connections ${isReachable}`);
      if (isReachable) return;
      await query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    });
  }

  /** Waits until the store shows something. */
  async until(what: string, isTrue: (store: PgStore) => boolean): Promise<void> {
    await waitFor(what, async () => {
      await this.store.refresh();
      return isTrue(this.store);
    });
  }

  async reaches(planId: string, ticketId: string, status: string): Promise<void> {
    const look = () => this.store.ticket({ planId, ticketId });
    await waitFor(
      `${planId}/${ticketId} to be ${status}`,
      async () => {
        await this.store.refresh();
        return look().status === status && (status === 'running' || look().claim === null);
      },
      { state: () => JSON.stringify(look(), null, 1) },
    );
  }
}
