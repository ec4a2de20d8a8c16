import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomic } from '../machine/files/atomic.ts';
import { withLock } from '../machine/lock.ts';
import { asArray, asRecord, asText, parseJson } from '../model/text/json.ts';
import { askForge } from './ask.ts';
import { withEarlier } from './earlier-comments.ts';
import { GhError } from './gh/error.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import type { GhOptions } from './gh/run-gh.ts';
import { BudgetBook, type KnownBudget } from './rate-limit.ts';
import { MOST_AT_ONCE, readWatches, type Watch, watchQuery } from './watch-query.ts';
import type { Watched } from './watched.ts';

export interface SnapshotOptions {
  stateDir: string;
  repository: RepositoryName;
  /** Answers younger than this are good enough. */
  maxAgeSeconds: number;
  /** Points of GitHub's budget that are left to people and other programs. */
  reserve: number;
  gh: GhOptions;
  now: () => string;
}

export type Seen =
  /** Newest first. */
  | { pulls: Watched[]; at: string }
  /** Nothing could be asked now. */
  | { later: string };

interface Stored {
  at: string;
  /** Null where all of the branch were asked for. */
  number: number | null;
  pulls: Watched[];
}

const FORMAT = 2;
/** Longer than one question may take. */
const TURN_MS = 90_000;

/**
 * The pull requests of one branch, out of one question for everybody who waits in the repository. What was asked lately
 * is not asked again, by whichever process; `others` says who else waits, and is called only when a question is due.
 */
export async function seePull(
  watch: Watch,
  options: SnapshotOptions,
  others: () => readonly Watch[],
): Promise<Seen> {
  const dir = join(options.stateDir, 'forge');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, `${fileName(options.repository)}.json`);
  const fresh = () => {
    const known = read(file).get(watch.branch);
    const suffices = known && (known.number === null || known.number === watch.number);
    return suffices && isFresh(known, options) ? known : undefined;
  };
  const known = fresh();
  if (known) return known;
  return withLock(
    `${file}.lock`,
    async () => {
      // Somebody else may have asked while this one waited for its turn.
      const meanwhile = fresh();
      if (meanwhile) return meanwhile;
      const low = lowBudget(options);
      if (low) return { later: budgetText(low) };
      return ask(file, watch, options, others());
    },
    { timeoutMs: TURN_MS },
  );
}

/** Forgets what is known of a branch: something was just done that changes it. */
export async function forgetPull(
  options: Pick<SnapshotOptions, 'stateDir' | 'repository'>,
  branch: string,
): Promise<void> {
  const dir = join(options.stateDir, 'forge');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, `${fileName(options.repository)}.json`);
  await withLock(
    `${file}.lock`,
    () => {
      const all = read(file);
      if (all.delete(branch)) write(file, all);
    },
    { timeoutMs: TURN_MS },
  );
}

/** The last answer, however old it is. */
export function lastSeen(
  options: Pick<SnapshotOptions, 'stateDir' | 'repository'>,
  branch: string,
): Watched | null {
  const file = join(options.stateDir, 'forge', `${fileName(options.repository)}.json`);
  const pulls = read(file).get(branch)?.pulls ?? [];
  return pulls.find(({ state }) => state === 'OPEN') ?? pulls[0] ?? null;
}

async function ask(
  file: string,
  watch: Watch,
  options: SnapshotOptions,
  others: readonly Watch[],
): Promise<Seen> {
  const { repository, gh, now, stateDir } = options;
  const budgets = new BudgetBook(stateDir);
  const all = read(file);
  for (const [branch, stored] of all) if (!isFresh(stored, options)) all.delete(branch);
  const rest = others.filter(({ branch }) => branch !== watch.branch && !all.has(branch));
  const watches = [watch, ...rest].slice(0, MOST_AT_ONCE);
  try {
    const { data, budget } = await askForge(repository, watchQuery(repository, watches), gh);
    const at = now();
    if (budget) budgets.note(repository.host, budget, at);
    const found = await Promise.all(
      readWatches(data, watches).map((pulls) =>
        Promise.all(pulls.map((pull) => withEarlier(repository, pull, gh))),
      ),
    );
    for (const [index, { branch, number }] of watches.entries())
      all.set(branch, { at, number, pulls: found[index] ?? [] });
    write(file, all);
    return { at, pulls: found[0] ?? [] };
  } catch (error) {
    if (!(error instanceof GhError) || error.failure !== 'rate-limited') throw error;
    const resetAt = error.resetAt ?? new Date(Date.parse(now()) + 300_000).toISOString();
    budgets.exhausted(repository.host, resetAt, now());
    return { later: `GitHub takes no more questions until ${resetAt}` };
  }
}

function lowBudget({ stateDir, repository, reserve, now }: SnapshotOptions): KnownBudget | undefined {
  return new BudgetBook(stateDir).low(repository.host, reserve, now());
}

function budgetText({ remaining, limit, resetAt }: KnownBudget): string {
  return `GitHub's budget is low (${remaining} of ${limit}); the next question is asked after ${resetAt}`;
}

function isFresh({ at }: Stored, { maxAgeSeconds, now }: SnapshotOptions): boolean {
  const age = (Date.parse(now()) - Date.parse(at)) / 1000;
  return age >= 0 && age < maxAgeSeconds;
}

/** Readable, and different for repositories whose names differ in characters that a file cannot have. */
function fileName(repository: RepositoryName): string {
  const text = repositoryText(repository).toLowerCase();
  const hash = createHash('sha256').update(`${repository.host}/${text}`).digest('hex').slice(0, 10);
  return `${text.replace(/[^a-z0-9._-]/g, '-').slice(0, 80)}-${hash}`;
}

/** What cannot be read is asked again: nothing here is kept nowhere else. */
function read(file: string): Map<string, Stored> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw error;
  }
  const { format, pulls } = asRecord(parseJson(text));
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
