import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularText } from '../machine/files/read-and-remove-files.ts';
import { messageOf } from '../model/errors.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asRecord } from '../model/text/values-of-unknown-type.ts';
import { type Context, lockRepo, type Repository, type Trunk } from './context-and-locks.ts';
import type { GitLocation } from './locate-git-directories.ts';
import { branchRef, originRef, readRef, readRefs, readSymref } from './refs.ts';
import { retryRaces } from './run-git.ts';

const EVERY_MS = 60_000;
const FETCH_TIMEOUT_MS = 60_000;
const STAMP = 'signalbox-fetched';
const FETCH = [
  'fetch',
  '--quiet',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-recurse-submodules',
  '--refmap=',
  '--upload-pack=git-upload-pack',
  'origin',
];

/**
 * Brings origin's branch up to date, at most once a minute for all tickets and processes together.
 * Never fails: without a network, work continues with the last fetched state, and the note says so.
 */
export function fetchBranch(repo: Repository, branch: string): Promise<string | undefined> {
  const key = `${repo.commonDir}\n${branch}`;
  const known = repo.fetches.get(key);
  if (known && isRecent(known.at)) return known.note;
  const note = lockRepo(repo, () => fetchUnlessRecent(repo, branch)).catch(
    (error) => `origin/${branch} was not fetched: ${messageOf(error)}`,
  );
  repo.fetches.set(key, { at: Date.now(), note });
  return note;
}

/** Whether origin was asked less than a minute ago. */
function isRecent(at: number): boolean {
  const age = Date.now() - at;
  return age >= 0 && age < EVERY_MS;
}

/** Fetches origin's branch, however recently that was done; throws when it fails. */
export async function fetchNow(repo: Repository, branch: string): Promise<void> {
  await lockRepo(repo, () => fetchUnlessRecent(repo, branch, true), repo.git.signal);
}

/** Fetches what refspecs name. Without a destination, only the objects arrive. */
export async function fetchRefs(repo: Repository, refspecs: readonly string[]): Promise<void> {
  const { entries, env } = await trustedAccess(repo);
  const options = { at: repo, write: true, timeoutMs: FETCH_TIMEOUT_MS, config: entries, env };
  await retryRaces(() => repo.git([...FETCH, ...refspecs], options));
}

async function fetchUnlessRecent(repo: Repository, branch: string, always = false): Promise<undefined> {
  const stamp = join(repo.commonDir, STAMP);
  const stamps = asRecord(parseJson(readRegularText(stamp) ?? ''));
  if (!always && isRecent(Number(stamps[branch] ?? 0))) return;
  const at = Date.now();
  await fetchRefs(repo, [`+refs/heads/${branch}:${originRef(branch)}`]);
  stamps[branch] = at;
  writeFileSync(stamp, JSON.stringify(stamps));
}

/** Credential helpers and the ssh command of the user's own config. An agent may have written the repository's. */
export async function trustedAccess(repo: Repository) {
  const mine = (await repo.git.config(repo)).filter(({ users }) => users);
  const credentials = mine.filter(({ key }) => key.startsWith('credential.'));
  const entries = [{ key: 'credential.helper', value: '' }, ...credentials].map(
    ({ key, value }) => [key, value] as const,
  );
  const ssh = mine.findLast(({ key }) => key === 'core.sshcommand');
  const env: Record<string, string> = ssh && !repo.env.GIT_SSH_COMMAND ? { GIT_SSH_COMMAND: ssh.value } : {};
  return { entries, env };
}

const ASK_TIMEOUT_MS = 20_000;
/** The names that servers choose. */
const USUAL_TRUNK_NAMES = ['main', 'master'];

/**
 * Origin's default branch: as it is recorded here since a clone, else as origin itself says, else the usual name that it
 * has. The current branch is no substitute: a person's own work must not be published with a ticket's.
 */
export async function originTrunk(repo: Repository, { ask = false }: { ask?: boolean } = {}): Promise<Trunk> {
  const recorded = await recordedTrunk(repo);
  if (recorded !== undefined) return { name: recorded };
  const config = await repo.git.config(repo);
  if (!config.some(({ key }) => key === 'remote.origin.url')) return { name: undefined };
  const asked = ask ? await askOnce(repo) : undefined;
  return asked?.name === undefined ? { ...asked, name: await usualName(repo) } : asked;
}

/** Origin's default branch as the clone recorded it. Read at most once a minute, because every new worktree needs it. */
async function recordedTrunk(repo: Repository): Promise<string | undefined> {
  const known = repo.recordedTrunks.get(repo.commonDir);
  if (known && isRecent(known.at) && (await readRef(repo, originRef(known.name)))) return known.name;
  return rememberTrunk(repo, repo, await readSymref(repo, originRef('HEAD')));
}

/** `target` is the ref that origin's HEAD points to. */
export function rememberTrunk(
  { recordedTrunks }: Pick<Context, 'recordedTrunks'>,
  { commonDir }: GitLocation,
  target: string | undefined,
): string | undefined {
  if (!target?.startsWith(originRef('')) || target === originRef('HEAD')) return undefined;
  const name = target.slice(originRef('').length);
  recordedTrunks.set(commonDir, { at: Date.now(), name });
  return name;
}

/** Records origin's default branch as a clone does, once that branch was fetched. */
export async function recordTrunk(repo: Repository, name: string): Promise<void> {
  if (repo.recordedTrunks.has(repo.commonDir) || (await recordedTrunk(repo)) !== undefined) return;
  const target = await readSymref(repo, originRef('HEAD'));
  if (target !== undefined || !(await readRef(repo, originRef(name)))) return;
  await repo.git(['symbolic-ref', originRef('HEAD'), originRef(name)], { at: repo, write: true });
}

function askOnce(repo: Repository): Promise<Trunk> {
  const known = repo.trunks.get(repo.commonDir);
  if (known && isRecent(known.at)) return known.trunk;
  const trunk = askDefaultBranch(repo, 'origin', { timeoutMs: ASK_TIMEOUT_MS }).then(
    (name) => ({ name }),
    (error) => ({
      name: undefined,
      note: `origin did not say what its default branch is: ${messageOf(error)}`,
    }),
  );
  repo.trunks.set(repo.commonDir, { at: Date.now(), trunk });
  return trunk;
}

/** What a remote says is its default branch at this moment. */
export async function askDefaultBranch(
  repo: Repository,
  remote: string,
  limits: { timeoutMs?: number } = {},
): Promise<string | undefined> {
  const { entries, env } = await trustedAccess(repo);
  const args = ['ls-remote', '--quiet', '--symref', '--upload-pack=git-upload-pack', '--', remote, 'HEAD'];
  const { stdout } = await repo.git(args, { at: repo, config: entries, env, ...limits });
  return /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(stdout)?.[1];
}

/** The trunk of a repository without origin: its only branch with a usual name. */
export function localTrunk(repo: Repository): Promise<string | undefined> {
  return usualName(repo, branchRef);
}

async function usualName(
  repo: Repository,
  refOf: (name: string) => string = originRef,
): Promise<string | undefined> {
  const refs = await readRefs(repo, USUAL_TRUNK_NAMES.map(refOf));
  const names = USUAL_TRUNK_NAMES.filter((name) => refs.has(refOf(name)));
  return names.length === 1 ? names[0] : undefined;
}
