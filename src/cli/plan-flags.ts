import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { PlanEdit } from '../engine/plan-edit.ts';
import { InputError } from '../model/errors.ts';
import type { EntryEdit, TicketEdit } from '../model/plan-edits.ts';
import type { Io } from './io.ts';
import { type GlobalOptions, positiveInteger } from './open.ts';

export interface Flags extends GlobalOptions {
  from?: string[];
  unit?: 'parent' | 'leaf';
  name?: string;
  base?: string;
  worktreeRoot?: string;
  concurrency?: string;
  title?: string;
  description?: string;
  descriptionFile?: string;
  criteria?: string[];
  blockedBy?: string[];
  path?: string[];
  url?: string;
  order?: string;
  repo?: string;
  workflow?: string;
  agent?: string;
  branch?: string;
  worktree?: string;
}

const OF_PLANS = ['name', 'base', 'worktreeRoot', 'concurrency'] as const;
const OF_TICKETS = [
  'title',
  'description',
  'descriptionFile',
  'criteria',
  'blockedBy',
  'path',
  'branch',
  'worktree',
  'url',
  'order',
] as const;

export function refuseMixed(ticketId: string | undefined, flags: Flags): void {
  const wrong = ticketId === undefined ? OF_TICKETS : OF_PLANS;
  const found = wrong.find((name) => flags[name] !== undefined);
  if (!found) return;
  const flag = `--${found.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const whose = ticketId === undefined ? 'a ticket, and none is named' : 'the plan, and a ticket is named';
  throw new InputError('usage', `${flag} is of ${whose}.`, {
    hint: ticketId === undefined ? 'signalbox plan edit <plan> <ticket> …' : 'signalbox plan edit <plan> …',
  });
}

/** An empty text takes a value out, so that the default counts again. */
function orNull(text: string): string | null {
  return text === '' ? null : text;
}

export function planEdit(flags: Flags, io: Io): PlanEdit {
  const { name, repo, workflow, agent, base, worktreeRoot } = flags;
  const concurrency = flags.concurrency === '' ? null : positiveInteger('--concurrency', flags.concurrency);
  return {
    ...(name === undefined ? {} : { name }),
    ...(repo === undefined ? {} : { repo: repoPath(repo, io) }),
    ...(workflow === undefined ? {} : { workflow: orNull(workflow) }),
    ...(agent === undefined ? {} : { agent: orNull(agent) }),
    ...(base === undefined ? {} : { base: orNull(base) }),
    ...(worktreeRoot === undefined ? {} : { worktreeRoot: repoPath(worktreeRoot, io) }),
    ...(concurrency === undefined ? {} : { concurrency }),
  };
}

export function ticketEdit(flags: Flags, io: Io): TicketEdit {
  const { title, criteria, path, url, repo, workflow, agent, branch, worktree } = flags;
  const description = descriptionOf(flags, io);
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(criteria === undefined ? {} : { acceptanceCriteria: criteria.filter((text) => text.trim() !== '') }),
    ...(path === undefined ? {} : { paths: path.filter((text) => text.trim() !== '') }),
    ...(url === undefined ? {} : { linearUrl: orNull(url) }),
    ...(repo === undefined ? {} : { repo: repoPath(repo, io) }),
    ...(workflow === undefined ? {} : { workflow: orNull(workflow) }),
    ...(agent === undefined ? {} : { agent: orNull(agent) }),
    ...(branch === undefined ? {} : { branch: orNull(branch) }),
    ...(worktree === undefined ? {} : { worktree: repoPath(worktree, io) }),
  };
}

export function entryEdit({ blockedBy, order }: Flags): EntryEdit {
  const ids = blockedBy?.flatMap((text) => text.split(/[\s,]+/)).filter((id) => id !== '');
  if (order !== undefined && !/^-?\d+(\.\d+)?$/.test(order))
    throw new InputError('usage', `Invalid --order value: ${order}. Must be a number.`);
  return {
    ...(ids === undefined ? {} : { blockedBy: [...new Set(ids)] }),
    ...(order === undefined ? {} : { order: Number(order) }),
  };
}

/** Plans are read from anywhere, so that a path of this directory must be whole. */
function repoPath(path: string, io: Io): string | null {
  if (path === '') return null;
  return path.startsWith('~/') ? path : resolve(io.cwd, path);
}

function descriptionOf({ description, descriptionFile }: Flags, io: Io): string | undefined {
  if (descriptionFile === undefined) return description;
  if (description !== undefined)
    throw new InputError('usage', 'Say --description or --description-file, not both.');
  try {
    return readFileSync(descriptionFile === '-' ? 0 : resolve(io.cwd, descriptionFile), 'utf8');
  } catch (error) {
    throw new InputError(
      'usage',
      `${descriptionFile} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
      {
        hint: 'Check the path given with --description-file.',
        cause: error,
      },
    );
  }
}
