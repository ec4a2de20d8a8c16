import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Plan } from '../../src/model/plan.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import type { Ended } from '../support/cli.ts';
import type { World } from '../support/index.ts';

export { git, it, World, waitFor, worktreesOf } from '../support/index.ts';
export type { Ended };

export const CLI = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url));

/** What `status --json` shows of one plan. */
export interface Shown {
  plan: Plan | null;
  tickets: (Ticket & { why: string; next: string })[];
  problems: { planId: string; ticketId: string | null; path: string; message: string }[];
}

/** The usual workflow of a test: one agent phase, then the end, or a person when it fails. */
export const BUILD = {
  id: 'build',
  type: 'agent',
  prompt: 'Do {{ title }}.',
  expect: { commits: true },
  onSuccess: 'done',
  onFailure: 'stuck',
};
export const DONE = { id: 'done', type: 'terminal' };
export const STUCK = { id: 'stuck', type: 'terminal', notify: true };

/** An agent made of shell lines, the usual workflow, and a plan `p` with these tickets. */
export function setUp(
  world: World,
  body = 'commit',
  tickets: Parameters<World['plan']>[1]['tickets'] = { a: {} },
): void {
  world.agent('agent', body);
  world.workflow('work', [BUILD, DONE, STUCK]);
  if (Object.keys(tickets).length > 0) world.plan('p', { tickets });
}

/** Runs a command in some directory, with more variables. */
export function cliIn(
  world: World,
  cwd: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  return world.invoke(args, env, cwd).ended;
}

export interface Said {
  code: string;
  message: string;
  hint: string | null;
}

/** The error of a command that was asked for JSON: one object on stderr, nothing on stdout. */
export function errorIn({ out, err }: Ended): Said {
  expect(out).toBe('');
  return (JSON.parse(err) as { error: Said }).error;
}

/** Refused for a person: the message and the way on, never a stack. */
export function refusal({ out, err }: Ended): string {
  expect(out).toBe('');
  expect(err).toMatch(/^❌ /);
  expect(err).not.toMatch(/\n\s+at .*\d+:\d+/);
  return err;
}

export function linesOf<T>(text: string): T[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

/** A command line of a shell, with the CLI as $SIGNALBOX. */
export function shell(
  world: World,
  line: string,
  program = '/bin/sh',
  more: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const env = { ...world.env, SIGNALBOX: `${process.execPath} ${CLI}`, ...more };
    const child = spawn(program, ['-c', line], { cwd: world.dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.err += text;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ ...said, code, signal }));
  });
}

/** Every file of the state directory that a person or planner wrote, as it is now. */
export function stateOf(world: World, planId = 'p'): Record<string, string> {
  const plan = world.readPlan(planId);
  const files = [
    world.planFile(planId),
    ...plan.tickets.map(({ ticketId }) => world.ticketFile(planId, ticketId)),
  ];
  return Object.fromEntries(files.map((file) => [file, readFileSync(file, 'utf8')]));
}

export function write(world: World, name: string, text: string): string {
  writeFileSync(join(world.dir, name), text);
  return join(world.dir, name);
}

/** Runs everything there is once; the good plan must be complete afterwards whatever else there was. */
export async function othersGoOn(world: World): Promise<string> {
  world.plan('good', { tickets: { fine: {} } });
  const { out, err } = await world.cli('tick');
  expect(err).toBe('');
  expect(world.ticket('good', 'fine').status).toBe('complete');
  return out;
}
