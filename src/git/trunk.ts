import { join } from 'node:path';
import { messageOf } from '../model/errors.ts';
import type { Context } from './context.ts';
import { isRecent, trustedAccess } from './fetch.ts';
import { branchRef, originRef, readRef, readSymref, readText } from './refs.ts';
import type { Repo } from './repository.ts';

const ASK_TIMEOUT_MS = 20_000;
/** What servers call it where nobody chose another name. */
const USUAL = ['main', 'master'];

export interface Trunk {
  /** Of the branch, without `origin/`; undefined where there is no origin, or nobody can tell. */
  name: string | undefined;
  note?: string;
}

/**
 * Origin's default branch: as it is recorded here since a clone, else as origin itself says, else the usual name that it
 * has. Without the record, the current branch could be anything: a person's own work must not go out with a ticket's.
 */
export async function originTrunk(
  context: Context,
  repo: Repo,
  { ask = false }: { ask?: boolean } = {},
): Promise<Trunk> {
  const target = await readSymref(context.git, repo, originRef('HEAD'));
  if (target?.startsWith(originRef(''))) return { name: target.slice(originRef('').length) };
  if (!hasOrigin(repo)) return { name: undefined };
  const asked = ask ? await askOnce(context, repo) : undefined;
  return asked?.name === undefined ? { ...asked, name: await usualName(context, repo) } : asked;
}

/** Writes down, as a clone does, which branch it is, once that branch is here. */
export async function recordTrunk(context: Context, repo: Repo, name: string): Promise<void> {
  const target = await readSymref(context.git, repo, originRef('HEAD'));
  if (target !== undefined || !(await readRef(context.git, repo, originRef(name)))) return;
  await context.git(['symbolic-ref', originRef('HEAD'), originRef(name)], { at: repo, write: true });
}

/** Read and not asked for: most repositories of a test or a trial have no remote, and a git process takes long. */
function hasOrigin(repo: Repo): boolean {
  return /^\s*\[remote "origin"\]/m.test(readText(join(repo.commonDir, 'config')) ?? '');
}

function askOnce(context: Context, repo: Repo): Promise<Trunk> {
  const known = context.trunks.get(repo.commonDir);
  if (known && isRecent(known.at)) return known.trunk;
  const trunk = askOrigin(context, repo);
  context.trunks.set(repo.commonDir, { at: Date.now(), trunk });
  return trunk;
}

async function askOrigin(context: Context, repo: Repo): Promise<Trunk> {
  const args = ['ls-remote', '--quiet', '--symref', '--upload-pack=git-upload-pack', 'origin', 'HEAD'];
  try {
    const { entries, env } = await trustedAccess(context, repo);
    const options = { at: repo, config: entries, env, timeoutMs: ASK_TIMEOUT_MS };
    const { stdout } = await context.git(args, options);
    return { name: /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(stdout)?.[1] };
  } catch (error) {
    return { name: undefined, note: `origin did not say what its default branch is: ${messageOf(error)}` };
  }
}

/** Without an origin: the branch of a usual name, where there is one and no other. */
export function localTrunk(context: Context, repo: Repo): Promise<string | undefined> {
  return usualName(context, repo, branchRef);
}

async function usualName(
  context: Context,
  repo: Repo,
  refOf: (name: string) => string = originRef,
): Promise<string | undefined> {
  const there = await Promise.all(USUAL.map((name) => readRef(context.git, repo, refOf(name))));
  const names = USUAL.filter((_, at) => there[at]);
  return names.length === 1 ? names[0] : undefined;
}
