import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readJob } from '../../src/machine/jobs/start-and-read-job.ts';
import { stopJob } from '../../src/machine/jobs/stop-job.ts';
import type { StoredEvent } from '../../src/model/events.ts';
import type { Attempt, Ticket, TicketStatus } from '../../src/model/ticket.ts';
import { type Call, readCalls } from './agents.ts';
import { type Ended, Running } from './cli.ts';
import { CliCall } from './cli-call.ts';
import { GIT_ENV } from './repo.ts';
import { ScratchHome } from './scratch-home.ts';
import { waitFor } from './wait-for.ts';

const AS_TERMINAL = fileURLToPath(new URL('./as-terminal.cjs', import.meta.url));

/** With these, an engine may hold the ticket. */
const MOVING: ReadonlySet<TicketStatus> = new Set(['ready', 'running']);

/** A scratch home in which commands run as real processes, and ways to wait for what they bring about. */
export class World extends ScratchHome {
  /** Commands take their standard input for a terminal. */
  terminal = false;
  readonly #started: Running[] = [];
  readonly #calls: CliCall[] = [];

  /** Ends what the test left running, by recorded pid, and removes everything. */
  async close(): Promise<void> {
    await Promise.all(this.#started.filter((each) => each.alive).map((each) => each.kill('SIGKILL')));
    await Promise.all(this.#calls.filter((each) => each.alive).map((each) => each.stop()));
    // An engine ends with all that its jobs started, unless it was killed.
    const ended = (dir: string) => this.#started.length === 0 && readJob(dir).state === 'ended';
    const left = this.jobDirs().filter((dir) => !ended(dir));
    await Promise.all(left.map((dir) => stopJob(dir, 'stopped', 0)));
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  get env(): NodeJS.ProcessEnv {
    const { PATH } = process.env;
    return { PATH, ...GIT_ENV, HOME: join(this.dir, 'user'), SIGNALBOX_HOME: this.home };
  }

  /** Starts a command as a process of its own and leaves it running; `cli` is the entry file of another build. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = this.dir, cli?: string): Running {
    const preload = this.terminal ? { NODE_OPTIONS: `--require ${AS_TERMINAL}` } : {};
    const running = new Running(args, { cwd, env: { ...this.env, ...preload, ...env }, cli });
    this.#started.push(running);
    return running;
  }

  /** Starts a command inside this process and leaves it running. A crash point would end this process, so it needs its own. */
  invoke(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = this.dir): Running | CliCall {
    if (env.SIGNALBOX_CRASH_AT || env.NODE_OPTIONS) return this.start(args, env, cwd);
    const call = new CliCall(args, { cwd, env: { ...this.env, ...env }, terminal: this.terminal });
    this.#calls.push(call);
    return call;
  }

  /** Runs a command to its end, inside this process. */
  cli(...args: string[]): Promise<Ended> {
    return this.invoke(args).ended;
  }

  async json<T>(...args: string[]): Promise<T> {
    const { out, err } = await this.cli(...args, '--json');
    if (out === '') throw new Error(`${args.join(' ')} printed nothing: ${err}`);
    return JSON.parse(out) as T;
  }

  /** Waits until a ticket has a status and, if it rests in it, no engine holds it; or until the check holds for it. */
  async reaches(
    planId: string,
    ticketId: string,
    wanted: TicketStatus | ((ticket: Ticket) => unknown),
  ): Promise<Ticket> {
    const holds =
      typeof wanted === 'function'
        ? wanted
        : ({ status, claim }: Ticket) => status === wanted && (MOVING.has(wanted) || claim === null);
    const look = () => {
      const ticket = this.ticket(planId, ticketId);
      return holds(ticket) ? ticket : undefined;
    };
    const state = () => JSON.stringify(this.ticket(planId, ticketId), null, 1) + this.#said();
    return waitFor(`${planId}/${ticketId}: ${wanted}`, look, { state });
  }

  /** Waits for a line in the agents' log. */
  async call(what: string, about: Partial<Call> = {}, nth = 1): Promise<Call> {
    const look = () => this.calls(what, about)[nth - 1];
    const state = () => JSON.stringify(this.calls(), null, 1) + this.#said();
    return waitFor(`call ${nth} of ${what} ${JSON.stringify(about)}`, look, { state });
  }

  /** Waits for a file in the scratch directory. */
  async until(name: string): Promise<void> {
    await waitFor(`the file ${name}`, () => this.exists(name), { state: () => this.#said() });
  }

  calls(what?: string, about: Partial<Call> = {}): Call[] {
    const same = (call: Call) =>
      Object.entries(about).every(([key, value]) => call[key as keyof Call] === value);
    return readCalls(this.places.log).filter(
      (call) => (what === undefined || call.what === what) && same(call),
    );
  }

  /** Lets the agents of a ticket, or all of them, go on. */
  go(ticketId = 'all'): void {
    writeFileSync(join(this.places.go, ticketId), '');
  }

  events(planId: string): StoredEvent[] {
    const file = join(this.stateDir, 'plans', planId, 'events.jsonl');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as StoredEvent] : []));
  }

  #said(): string {
    const all = [...this.#started, ...this.#calls];
    return all.map((each) => `\n--- ${'pid' in each ? each.pid : ''}\n${each.soFar}`).join('');
  }
}

/** `phase status` of every attempt, in order. */
export function story(ticket: Ticket): string[] {
  return ticket.phaseHistory.map((entry: Attempt) => `${entry.phase} ${entry.status}`);
}
