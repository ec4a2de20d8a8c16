import { createHash } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeAtomic } from '../machine/files/atomic.ts';
import { makeDirectory } from '../machine/files/directory.ts';
import type { Patience, Place } from './git.ts';
import { isOutsideProgram } from './outside-program.ts';
import { readText } from './refs.ts';

type Entries = ReadonlyArray<readonly [key: string, value: string]>;

/** Programs that git runs when it reads, writes or merges files; a repository may need them, as for LFS. */
export const DRIVER_KEYS =
  '^(filter\\..*\\.(clean|smudge|process|required)|merge\\..*\\.driver|remote\\..*\\.(uploadpack|receivepack)|include(if\\..*)?\\.path)$';

/** Merges text as git does without a driver; anything that does not merge is a conflict. */
const PLAIN_MERGE = 'git merge-file -q --marker-size=%L %A %O %B || exit 1';

export interface DriverGuard {
  /** Config for a call there that puts drivers out of force. */
  (at: Place, patience: Patience): Promise<Entries>;
  /** Says that the user works with this repository, so that what its config has now may be remembered. */
  adopt(commonDir: string): void;
}

/**
 * Puts out of force which drivers the repository's own config has got since it was first used: an agent can write there,
 * and git would run it outside of the agent. Those of the user's own config are always used.
 */
export function createDriverGuard(
  list: (at: Place, patience: Patience) => Promise<string>,
  { memory, walls = false }: { memory?: string | undefined; walls?: boolean | undefined },
): DriverGuard {
  const adopted = new Set<string>();
  const commonDirs = new Map<string, string>();
  const known = new Map<string, { stamp: string; entries: Promise<Entries> }>();

  const ask = async (at: Place, commonDir: string, patience: Patience) => {
    const listed = parseListing(await list(at, patience));
    const trusted =
      memory === undefined ? [] : recall(memory, commonDir, adopted.has(commonDir) ? listed : undefined);
    const known = new Set(trusted);
    // Behind walls also what was always there counts only where it runs nothing that the agent can write.
    const isTrusted = (each: Listed) =>
      (!each.own || known.has(entryOf(each))) &&
      (!walls || each.key.endsWith('.required') || isOutsideProgram(each.value, at.workTree));
    return { entries: overrides(listed, isTrusted), cacheable: !listed.some(isInclude) };
  };

  const guard = (at: Place, patience: Patience) => {
    const commonDir = commonDirs.get(at.gitDir) ?? commonDirOf(at.gitDir);
    commonDirs.set(at.gitDir, commonDir);
    // Worktrees without a config of their own all read the same.
    const own = stampOf(join(at.gitDir, 'config.worktree'));
    const key = own === '' && !walls ? commonDir : at.gitDir;
    const stamp = `${stampOf(join(commonDir, 'config'))} ${own}`;
    const cached = known.get(key);
    if (cached?.stamp === stamp) return cached.entries;
    const asked = ask(at, commonDir, patience);
    const entries = asked.then((answer) => answer.entries);
    known.set(key, { stamp, entries });
    const forget = () => {
      if (known.get(key)?.entries === entries) known.delete(key);
    };
    // Files that are included may change without a trace in the config itself.
    asked.then(({ cacheable }) => cacheable || forget(), forget);
    return entries;
  };
  const adopt = (commonDir: string) => {
    if (adopted.has(commonDir)) return;
    adopted.add(commonDir);
    known.clear();
  };
  return Object.assign(guard, { adopt });
}

function commonDirOf(gitDir: string): string {
  return realpathSync.native(resolve(gitDir, readText(join(gitDir, 'commondir')) ?? '.'));
}

function stampOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.ino}:${stat.size}:${stat.ctimeNs}` : '';
}

const PROGRAMS = ['clean', 'smudge', 'process'];

interface Listed {
  /** Of the repository or worktree, and not of the user or the system. */
  own: boolean;
  key: string;
  value: string;
}

function parseListing(text: string): Listed[] {
  const fields = text.split('\0');
  const listed: Listed[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const scope = fields[index];
    const [key = '', ...value] = (fields[index + 1] ?? '').split('\n');
    listed.push({ own: scope === 'local' || scope === 'worktree', key, value: value.join('\n') });
  }
  return listed;
}

const isInclude = ({ own, key }: Listed) => own && key.startsWith('include');

/**
 * What the repository's config had when it was first used, kept where agents have no business. `now` is remembered where
 * nothing is yet; a repository that only lies in a worktree is never remembered.
 */
function recall(memory: string, commonDir: string, now: readonly Listed[] | undefined): string[] {
  const id = createHash('sha256').update(commonDir).digest('hex').slice(0, 16);
  const file = join(memory, `${id}.json`);
  const kept = readText(file);
  if (kept !== undefined) return parseRecord(kept);
  if (now === undefined) return [];
  const drivers = now.filter((each) => each.own && !isInclude(each)).map(entryOf);
  try {
    makeDirectory(memory);
    writeAtomic(file, `${JSON.stringify({ version: 1, repository: commonDir, drivers }, null, 2)}\n`);
  } catch (error) {
    // Looking is possible on a full or read-only disk; running is not, and says so itself.
    if (!UNWRITABLE.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  return drivers;
}

const UNWRITABLE = ['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT'];

function parseRecord(text: string): string[] {
  try {
    const { drivers } = JSON.parse(text) as { drivers?: unknown };
    return Array.isArray(drivers) ? drivers.filter((each) => typeof each === 'string') : [];
  } catch {
    // Damaged: nothing of it is believed.
    return [];
  }
}

const entryOf = ({ key, value }: Listed) => `${key}=${value}`;

function overrides(listed: readonly Listed[], isTrusted: (each: Listed) => boolean): Entries {
  const planted = new Set(
    listed.filter((each) => !isTrusted(each) && !isInclude(each)).map(({ key }) => key),
  );
  const result = new Map<string, string>();
  for (const key of planted) {
    const mine = listed.findLast((each) => each.key === key && isTrusted(each));
    result.set(key, mine?.value ?? neutral(key));
  }
  // A filter of which no program is left stands for nothing: files are taken as they are.
  for (const key of planted) {
    const [, name, part] = /^(filter\..*)\.([^.]*)$/.exec(key) ?? [];
    if (name === undefined) continue;
    const left = PROGRAMS.some((each) =>
      listed.some((entry) => entry.key === `${name}.${each}` && isTrusted(entry)),
    );
    if (!left) for (const each of PROGRAMS) result.set(`${name}.${each}`, '');
    if (!left || part !== 'required') result.set(`${name}.required`, 'false');
  }
  return [...result];
}

function neutral(key: string): string {
  if (key.startsWith('merge.')) return PLAIN_MERGE;
  if (key.endsWith('.required')) return 'false';
  if (key.endsWith('.uploadpack')) return 'git-upload-pack';
  if (key.endsWith('.receivepack')) return 'git-receive-pack';
  return '';
}
