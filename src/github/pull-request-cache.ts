import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withLock } from '../machine/file-lock.ts';
import { readOrEmpty } from '../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import { digest } from '../model/ids-and-branch-names.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asArray, asRecord, asText } from '../model/text/values-of-unknown-type.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import { GhError, type GhOptions } from './gh/run-gh.ts';
import { MAX_WATCHES, queryWatches, type Watch, type Watched, withEarlier } from './query-pull-requests.ts';
import { RateLimitFile } from './remember-rate-limit.ts';

interface SnapshotOptions {
  cacheDir: string;
  repository: RepositoryName;
  /** Answers younger than this are good enough. */
  maxAgeSeconds: number;
  /** Points of GitHub's budget that are left to people and other programs. */
  reserve: number;
  gh: GhOptions;
  now: () => string;
}

type Seen =
  /** Newest first. */
  | { pulls: Watched[]; at: string }
  /** GitHub could not be asked now. */
  | { later: string };

interface Stored {
  at: string;
  /** Null where all of the branch were asked for. */
  number: number | null;
  pulls: Watched[];
}

const FORMAT = 2;
/** Longer than one query may take. */
const TURN_MS = 90_000;

type Kept = Pick<SnapshotOptions, 'cacheDir' | 'repository'>;

/**
 * The pull requests of one branch, from one query for everything that is waited for in the repository. A recent answer
 * is used again, also one of another process; `others` lists what else is waited for, and is called only when a query is due.
 */
export async function readPullRequests(
  watch: Watch,
  options: SnapshotOptions,
  others: () => readonly Watch[],
): Promise<Seen> {
  const file = fileOf(options);
  const fresh = () => {
    const known = read(file).get(watch.branch);
    const suffices = known && (known.number === null || known.number === watch.number);
    return suffices && isFresh(known, options) ? known : undefined;
  };
  const known = fresh();
  if (known) return known;
  const query = async () => {
    // Another process may have asked while this one waited for its turn.
    const meanwhile = fresh();
    if (meanwhile) return meanwhile;
    const { cacheDir, repository, reserve, now } = options;
    const low = new RateLimitFile(cacheDir).blockingLimit(repository.host, reserve, now());
    if (low) {
      const { remaining, limit, resetAt } = low;
      const state = `GitHub's budget is low (${remaining} of ${limit})`;
      return { later: `${state}; the next request is sent after ${resetAt}` };
    }
    return ask(file, watch, options, others());
  };
  return inTurn(file, query, options.gh.signal);
}

/** Forgets what is known of a branch: something was just done that changes it. */
export async function forgetPull(options: Kept, branch: string): Promise<void> {
  const file = fileOf(options);
  await inTurn(file, () => {
    const all = read(file);
    if (all.delete(branch)) write(file, all);
  });
}

/** The last answer, however old it is. */
export function lastSeen(options: Kept, branch: string): Watched | null {
  const pulls = read(fileOf(options)).get(branch)?.pulls ?? [];
  return pulls.find(({ state }) => state === 'OPEN') ?? pulls[0] ?? null;
}

function inTurn<T>(file: string, work: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return withLock(`${file}.lock`, work, { timeoutMs: TURN_MS, signal });
}

async function ask(
  file: string,
  watch: Watch,
  options: SnapshotOptions,
  others: readonly Watch[],
): Promise<Seen> {
  const { repository, gh, now, cacheDir } = options;
  const rateLimits = new RateLimitFile(cacheDir);
  const all = read(file);
  for (const [branch, stored] of all) if (!isFresh(stored, options)) all.delete(branch);
  const rest = others.filter(({ branch }) => branch !== watch.branch && !all.has(branch));
  const watches = [watch, ...rest].slice(0, MAX_WATCHES);
  try {
    const { pulls, rateLimit } = await queryWatches(repository, watches, gh);
    const at = now();
    if (rateLimit) rateLimits.note(repository.host, rateLimit, at);
    const found = await Promise.all(
      pulls.map((each) => Promise.all(each.map((pull) => withEarlier(repository, pull, gh)))),
    );
    for (const [index, { branch, number }] of watches.entries())
      all.set(branch, { at, number, pulls: found[index] ?? [] });
    write(file, all);
    return { at, pulls: found[0] ?? [] };
  } catch (error) {
    if (!(error instanceof GhError) || error.failure !== 'rate-limited') throw error;
    const resetAt = error.resetAt ?? new Date(Date.parse(now()) + 300_000).toISOString();
    rateLimits.exhausted(repository.host, resetAt, now());
    return { later: `GitHub accepts no more requests until ${resetAt}: rate limit` };
  }
}

function isFresh({ at }: Stored, { maxAgeSeconds, now }: SnapshotOptions): boolean {
  const age = (Date.parse(now()) - Date.parse(at)) / 1000;
  return age >= 0 && age < maxAgeSeconds;
}

/** A readable name that is different for repositories whose names differ in characters that a file cannot have. */
function fileOf({ cacheDir, repository }: Kept): string {
  const text = repositoryText(repository).toLowerCase();
  const hash = digest(`${repository.host}/${text}`, 10);
  return join(cacheDir, `${text.replace(/[^a-z0-9._-]/g, '-').slice(0, 80)}-${hash}.json`);
}

/** Reads the cache. An unreadable entry is queried again, since GitHub has the original. */
function read(file: string): Map<string, Stored> {
  const { format, pulls } = asRecord(parseJson(readOrEmpty(file)));
  if (format !== FORMAT) return new Map();
  return new Map(
    asArray(pulls).map((each) => {
      const { branch, at, number, pulls: stored } = asRecord(each);
      const asked = typeof number === 'number' ? number : null;
      return [asText(branch), { at: asText(at), number: asked, pulls: asArray(stored) as Watched[] }];
    }),
  );
}

function write(file: string, all: ReadonlyMap<string, Stored>): void {
  const pulls = [...all].map(([branch, stored]) => ({ branch, ...stored }));
  writeAtomic(file, `${JSON.stringify({ format: FORMAT, pulls })}\n`);
}
