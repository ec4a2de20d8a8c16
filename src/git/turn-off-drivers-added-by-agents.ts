import { isAbsolute, join, relative } from 'node:path';
import { makeDirectory } from '../machine/files/make-directory-and-handle-storage-errors.ts';
import { readRegularText } from '../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../machine/files/write-atomic-and-note-facts.ts';
import { digest } from '../model/ids-and-branch-names.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asArray, asRecord } from '../model/text/values-of-unknown-type.ts';
import type { ConfigEntry } from './environment-and-config.ts';
import { fileStamp, type GitLocation } from './locate-git-directories.ts';

type Entries = ReadonlyArray<readonly [key: string, value: string]>;

/** How long a list of the config is used: the user's own config may change without a change of the repository's. */
const LISTED_MS = 10_000;

/** Merges text as git does without a driver; anything that does not merge is a conflict. */
const PLAIN_MERGE = 'git merge-file -q --marker-size=%L %A %O %B || exit 1';

interface Answer {
  listed: readonly ConfigEntry[];
  overrides: Entries;
}

/**
 * Turns off drivers that were added to the repository's config after its first use: an agent can write there, and git would run
 * them outside the agent's sandbox. Drivers of the user's own config are always used. The config is listed again when its file
 * has changed, or after a while.
 */
export function createConfigGuard<Limits>(
  list: (at: GitLocation, limits: Limits) => Promise<ConfigEntry[]>,
  { memory, protectsGit = false }: { memory?: string | undefined; protectsGit?: boolean | undefined },
) {
  const adopted = new Set<string>();
  const known = new Map<string, { at: number; stamp: string; answer: Promise<Answer> }>();

  const ask = async (at: GitLocation, limits: Limits): Promise<Answer> => {
    const listed = await list(at, limits);
    const drivers = listed.filter(isDriver);
    const first = adopted.has(at.commonDir) ? drivers : undefined;
    const trusted = new Set(memory === undefined ? [] : knownDrivers(memory, at.commonDir, first));
    // If an agent is sandboxed, a driver must not run anything that the agent can write.
    const isTrusted = (each: ConfigEntry) =>
      (!each.own || trusted.has(entryOf(each))) &&
      (!protectsGit || each.key.endsWith('.required') || isOutsideProgram(each.value, at.workTree));
    return { listed, overrides: overridesOf(drivers, isTrusted) };
  };

  const answerFor = (at: GitLocation, limits: Limits): Promise<Answer> => {
    // Worktrees without a config of their own all read the same.
    const own = fileStamp(join(at.gitDir, 'config.worktree'));
    const key = own === '' && !protectsGit ? at.commonDir : at.gitDir;
    const stamp = `${fileStamp(join(at.commonDir, 'config'))} ${own}`;
    const cached = known.get(key);
    if (cached?.stamp === stamp && performance.now() - cached.at < LISTED_MS)
      // A cancelled call has no result for other callers.
      return cached.answer.catch(() => answerFor(at, limits));
    const answer = ask(at, limits);
    known.set(key, { at: performance.now(), stamp, answer });
    const forget = () => {
      if (known.get(key)?.answer === answer) known.delete(key);
    };
    // Included files may change without a change of the config file.
    answer.then(({ listed }) => {
      if (listed.some((each) => each.own && isInclude(each))) forget();
    }, forget);
    return answer;
  };

  return {
    /** Config for a call there that turns off drivers. */
    overrides: async (at: GitLocation, limits: Limits) => (await answerFor(at, limits)).overrides,
    /** Marks a repository as the user's own, so that the drivers in its config may be remembered. */
    adopt(commonDir: string): void {
      if (adopted.has(commonDir)) return;
      adopted.add(commonDir);
      known.clear();
    },
    isAdopted: (commonDir: string) => adopted.has(commonDir),
    config: async (at: GitLocation, limits: Limits) => (await answerFor(at, limits)).listed,
  };
}

const isInclude = ({ key }: ConfigEntry) => key.startsWith('include');
const isDriver = ({ key }: ConfigEntry) => /^(filter|merge)\.|\.(uploadpack|receivepack)$/.test(key);
const entryOf = ({ key, value }: ConfigEntry) => `${key}=${value}`;

/**
 * The drivers that the repository's config had at its first use, stored where agents do not write. `now` is stored if nothing is
 * yet; a repository inside a worktree is never stored.
 */
function knownDrivers(memory: string, commonDir: string, now: readonly ConfigEntry[] | undefined): string[] {
  const file = join(memory, `${digest(commonDir)}.json`);
  const kept = readRegularText(file);
  // A damaged record is ignored.
  if (kept !== undefined)
    return asArray(asRecord(parseJson(kept)).drivers).filter((each) => typeof each === 'string');
  if (now === undefined) return [];
  const drivers = now.filter((each) => each.own).map(entryOf);
  try {
    makeDirectory(memory);
    writeAtomic(file, `${JSON.stringify({ version: 1, repository: commonDir, drivers }, null, 2)}\n`);
  } catch (error) {
    // Commands that only read work on a full or read-only disk; running does not, and says so itself.
    if (!UNWRITABLE.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  return drivers;
}

const UNWRITABLE = ['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT'];

const PROGRAMS = ['clean', 'smudge', 'process'];

function overridesOf(drivers: readonly ConfigEntry[], isTrusted: (each: ConfigEntry) => boolean): Entries {
  const planted = new Set(drivers.filter((each) => !isTrusted(each)).map(({ key }) => key));
  const result = new Map<string, string>();
  for (const key of planted) {
    const mine = drivers.findLast((each) => each.key === key && isTrusted(each));
    result.set(key, mine?.value ?? valueThatTurnsOff(key));
  }
  // A filter without a program does nothing.
  for (const key of planted) {
    const [, name, part] = /^(filter\..*)\.([^.]*)$/.exec(key) ?? [];
    if (name === undefined) continue;
    const left = PROGRAMS.some((each) =>
      drivers.some((entry) => entry.key === `${name}.${each}` && isTrusted(entry)),
    );
    if (!left) for (const each of PROGRAMS) result.set(`${name}.${each}`, '');
    if (!left || part !== 'required') result.set(`${name}.required`, 'false');
  }
  return [...result];
}

function valueThatTurnsOff(key: string): string {
  if (key.startsWith('merge.')) return PLAIN_MERGE;
  if (key.endsWith('.required')) return 'false';
  if (key.endsWith('.uploadpack')) return 'git-upload-pack';
  if (key.endsWith('.receivepack')) return 'git-receive-pack';
  return '';
}

/** Programs that run a text or a module, which may be in the tree where git starts them. */
const INTERPRETERS =
  /^(ba|da|z|k|fi)?sh$|^(python|perl|ruby|node|php|lua|tclsh|deno|bun|java|make|gmake|sed|g?awk|npx|npm|pnpm|yarn|uv|uvx|env|xargs|sudo|nice|timeout)[\d.]*$/;
/** Flags, git's own placeholders and plain words; no paths. */
const PLAIN_WORD = /^(-[\w=:,.+-]*|%[A-Za-z]|[\w:=,+-]+)$/;

/**
 * Whether a driver of git's config runs nothing that is in the work tree. A sandboxed agent writes there, and git would
 * run what it wrote outside of the sandbox. True only for what is plainly so: a program by its name or full path, and plain
 * words.
 */
export function isOutsideProgram(command: string, workTree: string): boolean {
  if (command.trim() === '') return true;
  const words = command.trim().split(/\s+/).map(unquoted);
  const [program = '', ...rest] = words;
  if (words.includes(undefined) || program === undefined) return false;
  if (!rest.every((word) => word !== undefined && PLAIN_WORD.test(word))) return false;
  if (isAbsolute(program))
    return /^[\w./+@-]+$/.test(program) && relative(workTree, program).startsWith('..');
  return /^[\w.+-]+$/.test(program) && !INTERPRETERS.test(program);
}

/** Undefined where quotes are more than a pair around the word. */
function unquoted(word: string): string | undefined {
  const inner = /^"([^"]*)"$|^'([^']*)'$/.exec(word);
  const text = inner ? (inner[1] ?? inner[2] ?? '') : word;
  return /["'\\`$;|&<>(){}*?[\]~#!\n]/.test(text) ? undefined : text;
}
