import type { Commands } from './command-definition.ts';

/** Commands for a store that many machines share. */
export const FLEET_COMMANDS = {
  fleet: {
    about: 'share plans between machines, in PostgreSQL',
    examples: ['fleet init postgres://owner@db.local/sb'],
  },
  worker: {
    about: 'drive tickets of a fleet on this machine',
    options: {
      '--slots <n>': 'maximum number of tickets at once (default: maxConcurrency)',
      '--labels <list>': 'what this machine has, separated by commas: tickets may ask for it',
      '-v, --verbose': 'show what agents say and do',
      '--detach': 'run in the background',
      '--plain': 'one line per event, also on a terminal',
    },
    json: 'print events as JSON lines',
    notes: `One worker per state directory. It drives only repositories that its own settings name under "repos".
Ctrl-C lets the running phases end, and other workers continue the tickets; a second Ctrl-C stops the agents.`,
    examples: ['worker --slots 4 --labels linux,gpu', 'worker --detach'],
  },
  'fleet init [address]': {
    about: 'create or migrate the schemas of a store, and print the rights that its users need',
    args: { address: 'postgres://owner@host/database, without a password (default: the store in use)' },
    notes: `The password comes from PGPASSWORD, PGPASSFILE, or the address in SIGNALBOX_STORE. The login has to be the
owner's: no other role can change the schemas. Two at once wait for each other.`,
    examples: ['PGPASSFILE=~/.pgpass signalbox fleet init postgres://owner@db.local/sb', 'fleet init --json'],
  },
  'fleet status': {
    about: 'show the workers of a fleet and what they drive',
    examples: ['fleet status', 'fleet status --json'],
  },
  'fleet drain <worker>': {
    about: 'let a worker end: it takes no more tickets, and others continue those it has',
    args: { worker: 'its id, as fleet status shows it' },
    examples: ['fleet drain build-1-3fa92c'],
  },
  'fleet remove <worker>': {
    about: 'forget a worker that is gone',
    args: { worker: 'its id, as fleet status shows it' },
    notes: 'Refused while its lease is valid, since its agents may still run.',
    examples: ['fleet remove build-1-3fa92c'],
  },
  'fleet import [plans...]': {
    about: 'move plans of the state directory into the store of the fleet',
    args: { plans: 'ids of plans (default: all that are not archived)' },
    notes: 'A plan that is being worked on is refused. The files stay, as an archived plan.',
    examples: ['fleet import night-42'],
  },
  'fleet export <plans...>': {
    about: 'move plans of the fleet back into files of the state directory',
    args: { plans: 'ids of plans' },
    notes: 'A plan that is being worked on is refused. In the store it stays as an archived plan.',
    examples: ['fleet export night-42'],
  },
} as const satisfies Commands;
