import type { Access } from '../model/agent.ts';
import { InputError } from '../model/errors.ts';

export interface Arguments {
  session: string;
  resumed: boolean;
  access: Access;
  model: string | null;
  scenario: string | null;
  schema: string | null;
}

const FLAGS = ['scenario', 'session', 'resume', 'access', 'model', 'schema'] as const;
const LEVELS: Record<Access, true> = { read: true, write: true, full: true };
const USAGE =
  'Use: rehearsal (--session ID | --resume ID) --access read|write|full [--scenario FILE] [--model NAME] [--schema FILE]';

/** Reads the command line; anything it does not know is refused. */
export function parseArguments(argv: string[]): Arguments {
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
  if (!isAccess(given.access)) throw wrong(`--access ${given.access} is none of read, write, full.`);
  return {
    session,
    resumed: given.resume !== undefined,
    access: given.access,
    model: given.model ?? null,
    scenario: given.scenario ?? null,
    schema: given.schema ?? null,
  };
}

function isAccess(text: string): text is Access {
  return Object.hasOwn(LEVELS, text);
}

function wrong(message: string): InputError {
  return new InputError('rehearsal/arguments', message, { hint: USAGE });
}
