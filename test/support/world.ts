import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stopJob } from '../../src/jobs/stop.ts';
import type { StoredEvent } from '../../src/model/events.ts';
import { Plan } from '../../src/model/plan.ts';
import { type Attempt, Ticket, type TicketStatus } from '../../src/model/ticket.ts';
import { type Call, readCalls, writeExecutable } from './agents.ts';
import { type Ended, Running } from './cli.ts';
import { GIT_ENV, makeRepo } from './repo.ts';
import { waitFor } from './wait-for.ts';

type TicketInput = Partial<Ticket> & { blockedBy?: string[]; order?: number };
type PlanInput = Partial<Omit<Plan, 'tickets'>> & { tickets: Record<string, TicketInput> };
type Phases = Record<string, unknown>[];
type Config = Record<string, unknown> & { agents?: Record<string, unknown> };

/** A scratch home, a scratch repository and everything a person or planner would write into them. */
export class World {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-test-')));
  readonly home = join(this.dir, 'home');
  readonly stateDir = join(this.home, 'state');
  readonly worktrees = join(this.dir, 'worktrees');
  readonly repo = makeRepo(join(this.dir, 'repo'));
  readonly #log = join(this.dir, 'agents.log');
  readonly #go = join(this.dir, 'go');
  readonly #started: Running[] = [];
  #config: Config = { defaultAgent: 'rehearsal', defaultWorkflow: 'work', pollInterval: 60 };

  constructor() {
    for (const name of ['user', 'bin', 'go', 'home/workflows', 'home/prompts', 'home/scripts'])
      mkdirSync(join(this.dir, name), { recursive: true });
    this.config({});
  }

  /** Ends what the test left running, by recorded pid, and removes everything. */
  async close(): Promise<void> {
    await Promise.all(this.#started.filter((each) => each.alive).map((each) => each.kill('SIGKILL')));
    await Promise.all(this.jobDirs().map((dir) => stopJob(dir, 'stopped', 0)));
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  get env(): NodeJS.ProcessEnv {
    const { PATH } = process.env;
    return { PATH, ...GIT_ENV, HOME: join(this.dir, 'user'), SIGNALBOX_HOME: this.home };
  }

  /** Starts a command and leaves it running. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const running = new Running(args, { cwd: this.dir, env: { ...this.env, ...env } });
    this.#started.push(running);
    return running;
  }

  /** Runs a command to its end. */
  cli(...args: string[]): Promise<Ended> {
    return this.start(args).ended;
  }

  async json<T>(...args: string[]): Promise<T> {
    const { out, err } = await this.cli(...args, '--json');
    if (out === '') throw new Error(`${args.join(' ')} printed nothing: ${err}`);
    return JSON.parse(out) as T;
  }

  /** Changes the config file; `agents` are added to those that are there. */
  config(more: Config): void {
    this.#config = { ...this.#config, ...more, agents: { ...this.#config.agents, ...more.agents } };
    writeFileSync(join(this.home, 'config.yaml'), JSON.stringify(this.#config));
  }

  /** A `custom` agent made of shell lines; see agents.ts for what they may call. The one called `agent` is the default. */
  agent(name: string, body: string, more: Record<string, unknown> = {}): string {
    const command = writeExecutable(join(this.dir, 'bin', name), body, { log: this.#log, go: this.#go });
    const standard = name === 'agent' ? { defaultAgent: name } : {};
    this.config({ ...standard, agents: { [name]: { adapter: 'custom', command, ...more } } });
    return command;
  }

  /** The built-in rehearsal agent, playing this scenario. */
  rehearsal(rules: unknown[]): void {
    const file = join(this.dir, 'scenario.yaml');
    writeFileSync(file, JSON.stringify(rules));
    this.config({ agents: { rehearsal: { defaultArgs: ['--scenario', file] } } });
  }

  script(name: string, body: string): string {
    return writeExecutable(join(this.home, 'scripts', name), body, { log: this.#log, go: this.#go });
  }

  prompt(name: string, text: string): void {
    writeFileSync(join(this.home, 'prompts', name), text);
  }

  workflow(name: string, phases: Phases): void {
    writeFileSync(join(this.home, 'workflows', `${name}.yaml`), JSON.stringify({ name, phases }));
  }

  plan(id: string, input: PlanInput): void {
    const { tickets, ...rest } = input;
    for (const [ticketId, { blockedBy: _, order: __, ...ticket }] of Object.entries(tickets))
      this.writeTicket(id, ticketId, { title: `Title of ${ticketId}`, ...ticket });
    const entries = Object.entries(tickets).map(([ticketId, { blockedBy = [], order = 0 }]) => ({
      ticketId,
      order,
      blockedBy,
    }));
    this.#write(this.planFile(id), { id, repo: this.repo, status: 'active', ...rest, tickets: entries });
  }

  writeTicket(planId: string, ticketId: string, ticket: Record<string, unknown>): void {
    this.#write(this.ticketFile(planId, ticketId), { planId, ticketId, ...ticket });
  }

  #write(file: string, value: unknown): void {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, JSON.stringify(value, null, 2));
    renameSync(`${file}.new`, file);
  }

  planFile(id: string): string {
    return join(this.stateDir, 'plans', id, 'plan.json');
  }

  ticketFile(planId: string, ticketId: string): string {
    return join(this.stateDir, 'plans', planId, 'tickets', `${ticketId}.json`);
  }

  readPlan(id: string): Plan {
    return Plan.parse(JSON.parse(readFileSync(this.planFile(id), 'utf8')));
  }

  ticket(planId: string, ticketId: string): Ticket {
    return Ticket.parse(JSON.parse(readFileSync(this.ticketFile(planId, ticketId), 'utf8')));
  }

  worktree(planId: string, ticketId: string): string {
    return join(this.worktrees, 'ticket', planId, ticketId);
  }

  /** Waits until a ticket has a status, or until the check holds for it. */
  async reaches(
    planId: string,
    ticketId: string,
    wanted: TicketStatus | ((ticket: Ticket) => unknown),
  ): Promise<Ticket> {
    const holds = typeof wanted === 'function' ? wanted : (ticket: Ticket) => ticket.status === wanted;
    const look = () => {
      const ticket = this.ticket(planId, ticketId);
      return holds(ticket) ? ticket : undefined;
    };
    return waitFor(`${planId}/${ticketId}: ${wanted}`, look, {
      state: () => this.describe(planId, ticketId),
    });
  }

  /** Waits for a line in the agents' log. */
  async call(what: string, about: Partial<Call> = {}, nth = 1): Promise<Call> {
    const look = () => this.calls(what, about)[nth - 1];
    const state = () =>
      JSON.stringify(this.calls(), null, 1) + this.#started.map((each) => each.out + each.err);
    return waitFor(`call ${nth} of ${what} ${JSON.stringify(about)}`, look, { state });
  }

  calls(what?: string, about: Partial<Call> = {}): Call[] {
    const same = (call: Call) =>
      Object.entries(about).every(([key, value]) => call[key as keyof Call] === value);
    return readCalls(this.#log).filter((call) => (what === undefined || call.what === what) && same(call));
  }

  /** Lets the agents of a ticket, or all of them, go on. */
  go(ticketId = 'all'): void {
    writeFileSync(join(this.#go, ticketId), '');
  }

  events(planId: string): StoredEvent[] {
    const file = join(this.stateDir, 'plans', planId, 'events.jsonl');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as StoredEvent] : []));
  }

  jobDirs(): string[] {
    const root = join(this.stateDir, 'jobs');
    const below = (dir: string) =>
      existsSync(dir)
        ? readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
            entry.isDirectory() ? [join(dir, entry.name)] : [],
          )
        : [];
    return below(root).flatMap(below).flatMap(below);
  }

  /** Appends to a file in the scratch directory. */
  append(name: string, text: string): void {
    mkdirSync(dirname(join(this.dir, name)), { recursive: true });
    appendFileSync(join(this.dir, name), text);
  }

  /** Makes a file look as if it had been written so many seconds ago. */
  age(name: string, seconds: number): void {
    const then = Date.now() / 1000 - seconds;
    utimesSync(join(this.dir, name), then, then);
  }

  /** Changes a plan file as a planner would. */
  editPlan(id: string, edit: (plan: { status: string; tickets: Record<string, unknown>[] }) => void): void {
    const plan = JSON.parse(readFileSync(this.planFile(id), 'utf8'));
    edit(plan);
    this.#write(this.planFile(id), plan);
  }

  remove(path: string): void {
    rmSync(path, { recursive: true, force: true });
  }

  /** Waits for a file in the scratch directory. */
  async until(name: string): Promise<void> {
    await waitFor(`the file ${name}`, () => this.exists(name));
  }

  exists(name: string): boolean {
    return existsSync(join(this.dir, name));
  }

  read(name: string): string {
    return readFileSync(join(this.dir, name), 'utf8');
  }

  describe(planId: string, ticketId: string): string {
    const outputs = this.#started.map((each) => `--- ${each.pid}\n${each.out}${each.err}`);
    return [JSON.stringify(this.ticket(planId, ticketId), null, 1), ...outputs].join('\n');
  }
}

/** `phase#attempt status` of every attempt, in order. */
export function story(ticket: Ticket): string[] {
  return ticket.phaseHistory.map((entry: Attempt) => `${entry.phase} ${entry.status}`);
}
