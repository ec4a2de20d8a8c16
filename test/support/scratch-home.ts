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
import { Plan } from '../../src/model/plan-schema.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';
import { writeExecutable } from './agents.ts';
import { makeRepo } from './repo.ts';

type TicketInput = Partial<Ticket> & Record<string, unknown> & { blockedBy?: string[]; order?: number };
type PlanInput = Partial<Omit<Plan, 'tickets'>> &
  Record<string, unknown> & { tickets: Record<string, TicketInput> };
type Config = Record<string, unknown> & { agents?: Record<string, unknown> };

/** A scratch home, a scratch repository and everything a person or planner would write into them. */
export class ScratchHome {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-test-')));
  readonly home = join(this.dir, 'home');
  readonly stateDir = join(this.home, 'state');
  readonly worktrees = join(this.dir, 'worktrees');
  readonly repo = makeRepo(join(this.dir, 'repo'));
  /** What agents append to, and where they look whether they may go on. */
  protected readonly places = { log: join(this.dir, 'agents.log'), go: join(this.dir, 'go') };
  /** Without checks of the base, which would cost every test with checks a worktree. */
  #config: Config = {
    ...{ defaultAgent: 'rehearsal', defaultWorkflow: 'work' },
    pollInterval: 60,
    baseCheck: 'off',
  };

  constructor() {
    for (const name of ['user', 'bin', 'go', 'home/workflows', 'home/prompts', 'home/scripts'])
      mkdirSync(join(this.dir, name), { recursive: true });
    this.config({});
  }

  /** Changes the config file; `agents` are added to those that are there. */
  config(more: Config): void {
    this.#config = { ...this.#config, ...more, agents: { ...this.#config.agents, ...more.agents } };
    writeFileSync(join(this.home, 'config.yaml'), JSON.stringify(this.#config));
  }

  /** A `custom` agent made of shell lines; see agents.ts for what they may call. The one called `agent` is the default. */
  agent(name: string, body: string, more: Record<string, unknown> = {}): string {
    const command = writeExecutable(join(this.dir, 'bin', name), body, this.places);
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
    return writeExecutable(join(this.home, 'scripts', name), body, this.places);
  }

  prompt(name: string, text: string): void {
    writeFileSync(join(this.home, 'prompts', name), text);
  }

  workflow(name: string, phases: Record<string, unknown>[]): void {
    writeFileSync(join(this.home, 'workflows', `${name}.yaml`), JSON.stringify({ name, phases }));
  }

  /** An active plan in the scratch repository, unless the input says otherwise. */
  plan(id: string, input: PlanInput): void {
    const { tickets, ...rest } = input;
    for (const [ticketId, { blockedBy: _, order: __, ...ticket }] of Object.entries(tickets))
      this.writeTicket(id, ticketId, { title: `Title of ${ticketId}`, ...ticket });
    const entries = Object.entries(tickets).map(([ticketId, { blockedBy = [], order = 0 }]) => ({
      ticketId,
      order,
      blockedBy,
    }));
    replace(this.planFile(id), { id, repo: this.repo, status: 'active', ...rest, tickets: entries });
  }

  writeTicket(planId: string, ticketId: string, ticket: Record<string, unknown>): void {
    replace(this.ticketFile(planId, ticketId), { planId, ticketId, ...ticket });
  }

  /** Changes a plan file as a planner would. */
  editPlan(id: string, edit: (plan: { status: string; tickets: Record<string, unknown>[] }) => void): void {
    const plan = JSON.parse(readFileSync(this.planFile(id), 'utf8'));
    edit(plan);
    replace(this.planFile(id), plan);
  }

  planFile(id: string): string {
    return join(this.stateDir, 'plans', id, 'plan.json');
  }

  ticketFile(planId: string, ticketId: string): string {
    return join(this.stateDir, 'plans', planId, 'tickets', `${ticketId}.json`);
  }

  readPlan(id: string): Plan {
    const data: object = JSON.parse(readFileSync(this.planFile(id), 'utf8'));
    return { ...data, ...Plan.parse(data) };
  }

  ticket(planId: string, ticketId: string): Ticket {
    const data: object = JSON.parse(readFileSync(this.ticketFile(planId, ticketId), 'utf8'));
    return { ...data, ...Ticket.parse(data) };
  }

  worktree(planId: string, ticketId: string): string {
    return join(this.worktrees, 'ticket', planId, ticketId);
  }

  /** The prompt an attempt was given; its key is `phase.visit.attempt`. */
  promptOf(planId: string, ticketId: string, attempt: string): string {
    return readFileSync(join(this.stateDir, 'jobs', planId, ticketId, attempt, 'prompt.md'), 'utf8');
  }

  /** The command line an attempt was started with. */
  argvOf(planId: string, ticketId: string, attempt: string): string[] {
    const file = join(this.stateDir, 'jobs', planId, ticketId, attempt, 'command.json');
    return (JSON.parse(readFileSync(file, 'utf8')) as { argv: string[] }).argv;
  }

  jobDirs(): string[] {
    return directories(join(this.stateDir, 'jobs')).flatMap(directories).flatMap(directories);
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

  remove(path: string): void {
    rmSync(path, { recursive: true, force: true });
  }

  exists(name: string): boolean {
    return existsSync(join(this.dir, name));
  }

  read(name: string): string {
    return readFileSync(join(this.dir, name), 'utf8');
  }
}

/** Replaces a file in one step, as a careful planner does. */
function replace(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify(value, null, 2));
  renameSync(`${file}.new`, file);
}

function directories(path: string): string[] {
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [join(path, entry.name)] : []));
}
