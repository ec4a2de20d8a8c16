import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ACCESS, type Access } from '../model/agent-and-adapter-types.ts';
import { InputError, messageOf } from '../model/errors.ts';
import type { Json } from '../model/ticket.ts';
import { type Ending, perform } from './perform-steps.ts';
import { defaultSteps, matchRule, type Rule, type Situation } from './scenario-rules.ts';
import { standardOutput as output, readStandardInput } from './stdio.ts';

interface Arguments {
  session: string;
  resumed: boolean;
  access: Access;
  model: string | null;
  scenario: string | null;
  schema: string | null;
}

const FLAGS = ['scenario', 'session', 'resume', 'access', 'model', 'schema'] as const;
const USAGE =
  'Use: rehearsal (--session ID | --resume ID) --access read|write|full [--scenario FILE] [--model NAME] [--schema FILE]';

/** Reads the command line; anything it does not know is refused. */
function parseArguments(argv: string[]): Arguments {
  const given: Partial<Record<(typeof FLAGS)[number], string>> = {};
  for (let i = 0; i < argv.length; i += 2) {
    const flag = FLAGS.find((name) => argv[i] === `--${name}`);
    if (!flag) throw wrong(`The rehearsal agent has no argument "${argv[i]}".`);
    const value = argv[i + 1];
    if (value === undefined || value === '') throw wrong(`--${flag} needs a value.`);
    given[flag] = value;
  }
  const session = given.session ?? given.resume;
  if (session === undefined) throw wrong('Either --session or --resume is needed.');
  if (given.session !== undefined && given.resume !== undefined)
    throw wrong('--session and --resume exclude each other.');
  if (given.access === undefined) throw wrong('--access is needed.');
  const access = ACCESS.find((level) => level === given.access);
  if (!access) throw wrong(`--access ${given.access} is none of ${ACCESS.join(', ')}.`);
  return {
    session,
    resumed: given.resume !== undefined,
    access,
    model: given.model ?? null,
    scenario: given.scenario ?? null,
    schema: given.schema ?? null,
  };
}

function wrong(message: string): InputError {
  return new InputError('rehearsal/arguments', message, { hint: USAGE });
}

/** An agent without a model: it performs the scenario's steps for this attempt in its working directory. */
async function main(): Promise<Ending> {
  const args = parseArguments(process.argv.slice(2));
  output.line({ type: 'session', id: args.session });
  const prompt = readStandardInput();
  const schema = args.schema === null ? null : readSchema(args.schema);
  const cwd = process.cwd();
  const situation = situationFrom(process.env, args);
  const rules = await readRules(cwd, args.scenario ?? (process.env.SIGNALBOX_REHEARSAL || null));
  const steps = matchRule(rules, situation)?.do ?? defaultSteps(situation, args.access, prompt);
  return perform({ output, access: args.access, prompt, schema, cwd, env: process.env }, steps);
}

async function readRules(cwd: string, file: string | null): Promise<Rule[]> {
  if (file === null) return [];
  const { loadScenario } = await import('./load-scenario.ts');
  return loadScenario(resolve(cwd, file));
}

function situationFrom(env: NodeJS.ProcessEnv, args: Arguments): Situation {
  return {
    plan: env.SIGNALBOX_PLAN || 'plan',
    ticket: env.SIGNALBOX_TICKET || 'ticket',
    phase: env.SIGNALBOX_PHASE || 'phase',
    visit: Number(env.SIGNALBOX_VISIT || 1),
    attempt: Number(env.SIGNALBOX_ATTEMPT || 1),
    resumed: args.resumed,
  };
}

function readSchema(file: string): { [key: string]: Json } {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { [key: string]: Json };
  } catch (error) {
    throw new InputError('rehearsal/schema', `Schema ${file} cannot be used: ${messageOf(error)}.`);
  }
}

function report(error: unknown): Ending {
  const known = error instanceof InputError;
  const message = [messageOf(error), ...(known && error.hint ? [error.hint] : [])].join(' ');
  output.line({ type: 'error', class: known ? 'config' : 'crash', message });
  return { exit: known ? 2 : 1 };
}

/** Ends the process. A signal needs a moment to arrive, and a hang lasts until the process is killed. */
function end(ending: Ending): void {
  if ('exit' in ending) process.exit(ending.exit);
  if ('signal' in ending) process.kill(process.pid, ending.signal);
  else hang(ending.stubborn);
  setInterval(() => 'waiting', 1 << 30);
}

function hang(stubborn: boolean): void {
  const ignore = (signal: string) => output.line({ type: 'text', text: `Ignoring ${signal}.` });
  if (stubborn) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, ignore);
  output.line({ type: 'text', text: 'Hanging.' });
}

void main().catch(report).then(end);
