import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { MARKER } from '../../src/machine/jobs/start-and-read-job.ts';
import { markedProcesses } from '../../src/machine/process-identity-and-signals.ts';
import type { Attempt, Ticket, Usage } from '../../src/model/ticket.ts';
import { commandOf } from '../../tools/agents/install.mjs';
import { ModelServer, type Received, type Scenario, USAGE } from '../support/model-server/index.ts';
import { World } from '../support/world.ts';
import { CLIS, type Cli } from './clis.ts';

const asked = (process.env.SIGNALBOX_CONTRACT_AGENTS ?? '').split(',').filter(Boolean);

/** The CLIs to prove: those that were asked for, else all. */
export const SELECTED = CLIS.filter(({ name }) => asked.length === 0 || asked.includes(releaseFor(name)));

/** `name@version` where a version was asked for. */
export function releaseFor(name: string): string {
  return asked.find((each) => each.startsWith(`${name}@`)) ?? name;
}

/** What nothing in a test may reach; loopback is let through. */
const OFFLINE = {
  HTTPS_PROXY: 'http://127.0.0.1:9',
  https_proxy: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
};

let server: ModelServer;
let scenarios = 0;

/** Call once in a suite file. */
export function withModelServer(): void {
  beforeAll(async () => {
    server = await ModelServer.start();
  });
  afterAll(() => server.close());
}

/** One CLI, one plan of one ticket, and a model that plays a scenario. */
export class Bench extends World {
  #scenario = '';
  /** What its entry in the settings has besides. */
  entry: Record<string, unknown> = {};

  // Codex finds no helper of its sandbox when its home is in the place for temporary files.
  override get env(): NodeJS.ProcessEnv {
    const TMPDIR = join(this.dir, 'tmp');
    mkdirSync(TMPDIR, { recursive: true });
    return { ...super.env, ...OFFLINE, TERM: 'dumb', LANG: 'C.UTF-8', TMPDIR };
  }

  /** Phases of the one ticket `p/t`, one after the other; failure ends with a person, and so the worktree stays. */
  prepare(cli: Cli, scenario: Scenario, ...phases: Record<string, unknown>[]): void {
    this.#scenario = `${cli.name}-${++scenarios}`;
    const base = server.play(this.#scenario, scenario);
    const entry = cli.setup(join(this.dir, 'user'), base);
    this.config({
      defaultAgent: cli.name,
      agents: { [cli.name]: { ...entry, command: commandOf(releaseFor(cli.name)), ...this.entry } },
    });
    const wholes = phases.map((phase, index) => ({
      id: index === 0 ? 'build' : `build${index + 1}`,
      type: 'agent',
      prompt: 'Do what the model server says.',
      maxRetries: 0,
      timeoutSeconds: 90,
      idleSeconds: 40,
      onFailure: 'person',
      onSuccess: index < phases.length - 1 ? `build${index + 2}` : 'fine',
      ...phase,
    }));
    const fine = JSON.stringify(wholes).includes('"fine"') ? [{ id: 'fine', type: 'terminal' }] : [];
    this.workflow('work', [...wholes, ...fine, { id: 'person', type: 'terminal', notify: true }]);
    this.plan('p', { tickets: { t: {} } });
  }

  /** Runs the ticket to its end. */
  async run(): Promise<Ticket> {
    const { out, err } = await this.cli('run', 'p');
    const ticket = this.ticket('p', 't');
    if (ticket.phaseHistory.length === 0) throw new Error(`nothing ran: ${out}${err}`);
    return ticket;
  }

  get requests(): Received[] {
    return server.work(this.#scenario);
  }

  get tree(): string {
    return this.worktree('p', 't');
  }

  jobDir(attempt = 'build.1.1'): string {
    return join(this.stateDir, 'jobs', 'p', 't', attempt);
  }

  /** Everything that an attempt started and that is still there. */
  left(attempt?: string): Promise<number[]> {
    return markedProcesses(`${MARKER}=${this.jobDir(attempt)}`);
  }
}

/** A test with a bench of its own, which is gone afterwards together with every process in it. */
export const it = test.extend<{ bench: Bench }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names from the pattern
  bench: async ({}, use) => {
    const bench = new Bench();
    try {
      await use(bench);
    } finally {
      await bench.close();
    }
  },
});

/** What an attempt must have recorded after so many calls of the model. */
export function usageOf(cli: Cli, calls: number): Partial<Usage> {
  const total = {
    input: USAGE.input * calls,
    output: USAGE.output * calls,
    cacheRead: USAGE.cacheRead * calls,
  };
  const cost = cli.cost === 'own' ? {} : { costUsd: cli.cost ? cli.cost(total) : null };
  return { inputTokens: total.input, outputTokens: total.output, cacheReadTokens: total.cacheRead, ...cost };
}

export function attempts(ticket: Ticket): Attempt[] {
  return ticket.phaseHistory.filter((attempt) => attempt.phase !== 'person');
}

export function secondsOf({ startedAt, completedAt }: Attempt): number {
  return (Date.parse(completedAt ?? '') - Date.parse(startedAt)) / 1000;
}
