import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularText } from '../machine/files/regular.ts';
import { messageOf } from '../model/errors.ts';
import { type Context, lockRepo } from './context.ts';
import { retryRaces } from './git.ts';
import type { GitLocation } from './location.ts';
import { originRef } from './refs.ts';

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
 * Never fails: without the network work continues with what is here, and the note says so.
 */
export function fetchBranch(
  context: Context,
  repo: GitLocation,
  branch: string,
): Promise<string | undefined> {
  const key = `${repo.commonDir}\n${branch}`;
  const known = context.fetches.get(key);
  if (known && isRecent(known.at)) return known.note;
  const note = lockRepo(repo, () => fetchNow(context, repo, branch)).catch(
    (error) => `origin/${branch} was not fetched: ${messageOf(error)}`,
  );
  context.fetches.set(key, { at: Date.now(), note });
  return note;
}

/** What was asked of origin less than a minute ago need not be asked again. */
export function isRecent(at: number): boolean {
  const age = Date.now() - at;
  return age >= 0 && age < EVERY_MS;
}

/** Fetches origin's branch, however recently that was done; throws when it fails. */
export async function fetchAnew(context: Context, repo: GitLocation, branch: string): Promise<void> {
  await lockRepo(repo, () => fetchNow(context, repo, branch, true), context.git.signal);
}

/** Gets a branch's commits and moves no ref; for a git that writes its objects elsewhere. */
export async function fetchAside(context: Context, repo: GitLocation, branch: string): Promise<void> {
  const { entries, env } = await trustedAccess(context, repo);
  const options = { at: repo, write: true, timeoutMs: FETCH_TIMEOUT_MS, config: entries, env };
  await context.git([...FETCH, `refs/heads/${branch}`], options);
}

async function fetchNow(
  context: Context,
  repo: GitLocation,
  branch: string,
  anew = false,
): Promise<undefined> {
  const stamp = join(repo.commonDir, STAMP);
  const stamps = parseStamps(readRegularText(stamp));
  if (!anew && isRecent(stamps[branch] ?? 0)) return;
  const { entries, env } = await trustedAccess(context, repo);
  const at = Date.now();
  await retryRaces(() =>
    context.git([...FETCH, `+refs/heads/${branch}:${originRef(branch)}`], {
      at: repo,
      write: true,
      timeoutMs: FETCH_TIMEOUT_MS,
      config: entries,
      env,
    }),
  );
  stamps[branch] = at;
  writeFileSync(stamp, JSON.stringify(stamps));
}

function parseStamps(text: string | undefined): Record<string, number> {
  try {
    return { ...(JSON.parse(text ?? '{}') as Record<string, number>) };
  } catch {
    return {};
  }
}

/** Credential helpers and the ssh command as the user's own config has them; those of the repository may be planted. */
export async function trustedAccess({ git, env: { GIT_SSH_COMMAND } }: Context, repo: GitLocation) {
  const mine = (await git.config(repo)).filter(({ users }) => users);
  const credentials = mine.filter(({ key }) => key.startsWith('credential.'));
  const entries: Array<[string, string]> = [['credential.helper', '']];
  for (const { key, value } of credentials) entries.push([key, value]);
  const ssh = mine.findLast(({ key }) => key === 'core.sshcommand');
  const env: Record<string, string> = ssh && !GIT_SSH_COMMAND ? { GIT_SSH_COMMAND: ssh.value } : {};
  return { entries, env };
}
