import { copyFileSync, existsSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findUnreadableEntry } from '../machine/files/read-and-remove-files.ts';
import { ignoring } from '../model/errors.ts';
import { type GitLocation, gitDirOf, sharedDirOf } from './locate-git-directories.ts';
import { type Git, GitError, NO_DIFF_PROGRAMS, wouldBlock } from './run-git.ts';

/** `git status` of a checkout, and the changes that marks in the index hide from it. */
export interface Status {
  /** The commit of HEAD; undefined on a branch without commits. */
  head: string | undefined;
  branch: string | undefined;
  /** Changed tracked files, hidden ones included. */
  changed: string[];
  /** Changed files that `git status` itself does not name. */
  hidden: string[];
  marks: IndexMarks;
  /** Directories end in `/`. */
  untracked: string[];
  ignored: string[];
  /** The entries as git wrote them, and those of hidden changes. */
  raw: string;
}

interface StatusOptions {
  /** List every untracked file instead of the topmost untracked directories. */
  all?: boolean;
  ignored?: boolean;
}

export async function readStatus(git: Git, at: GitLocation, options: StatusOptions = {}): Promise<Status> {
  const args = [
    'status',
    '--porcelain=v2',
    '-z',
    '--branch',
    '--no-ahead-behind',
    '--no-renames',
    // Submodules are checked separately: git's own check would trust their config.
    '--ignore-submodules=dirty',
    `--untracked-files=${options.all ? 'all' : 'normal'}`,
    `--ignored=${options.ignored ? 'matching' : 'no'}`,
  ];
  const plain = await git.script(STATUS_IF_PLAIN, args, { at });
  if (plain !== '') return { ...parseStatus(plain), hidden: [], marks: NO_MARKS };
  const marks = await readMarks(git, at);
  const links = await findLinks(at, marks.links);
  const { stdout } = await git(args, { at });
  const hidden = await hiddenEdits(git, at, marks);
  const status = { ...parseStatus(stdout), hidden, marks };
  const seen = new Set(status.changed);
  for (const file of [...hidden, ...(await dirtyLinks(git, links))]) {
    if (seen.has(file)) continue;
    status.changed.push(file);
    status.raw += `${file}\0`;
  }
  return status;
}

/** A script that prints the status of a checkout without marks and submodules; nothing for any other. */
const STATUS_IF_PLAIN = `
list=$("$0" ls-files -v --stage) || exit
case "
$list" in
*"
"[!H]* | *"
H 160000 "*) ;;
*) exec "$0" "$@" ;;
esac
`;

/** Submodules, and other repositories committed like them. Git is not started if an entry would block it. */
async function findLinks(at: GitLocation, names: readonly string[]): Promise<Link[]> {
  const links: Link[] = [];
  for (const name of names) {
    const workTree = join(at.workTree, name);
    const gitDir = gitDirOf(workTree);
    if (gitDir === undefined) continue;
    const odd = await findUnreadableEntry(gitDir, 'followed');
    if (odd !== undefined) throw wouldBlock(['status'], join(gitDir, odd));
    const commonDir = sharedDirOf(gitDir);
    const shared = commonDir === gitDir ? undefined : await findUnreadableEntry(commonDir, 'followed');
    if (shared !== undefined) throw wouldBlock(['status'], join(commonDir, shared));
    links.push({ name, at: { workTree, gitDir, commonDir } });
  }
  return links;
}

interface Link {
  name: string;
  at: GitLocation;
}

/** Submodules with uncommitted changes. */
async function dirtyLinks(git: Git, links: readonly Link[]): Promise<string[]> {
  const dirty: string[] = [];
  const hasty = git.limited({ timeoutMs: LINK_MS });
  for (const link of links) if (await isDirty(hasty, link.at)) dirty.push(link.name);
  return dirty;
}

const LINK_MS = 60_000;

/** A broken repository differs from what was committed. */
async function isDirty(git: Git, at: GitLocation): Promise<boolean> {
  const status = await ignoring(GitError, () => readStatus(git, at));
  return !status || status.changed.length + status.untracked.length > 0;
}

/** The number of fields before the path, by the entry's first character. */
const FIELDS: Record<string, number> = { '1': 8, u: 10, '?': 1, '!': 1 };

/** The status that git itself reports. */
type GitStatus = Omit<Status, 'hidden' | 'marks'>;

export function parseStatus(raw: string): GitStatus {
  const status: GitStatus = {
    head: undefined,
    branch: undefined,
    changed: [],
    untracked: [],
    ignored: [],
    raw,
  };
  for (const line of raw.split('\0')) {
    const kind = line[0] ?? '';
    if (line.startsWith('# branch.oid ')) status.head = known(line.slice(13), '(initial)');
    if (line.startsWith('# branch.head ')) status.branch = known(line.slice(14), '(detached)');
    const fields = FIELDS[kind];
    if (fields === undefined) continue;
    const path = line.split(' ').slice(fields).join(' ');
    if (kind === '?') status.untracked.push(path);
    else if (kind === '!') status.ignored.push(path);
    else status.changed.push(path);
  }
  return status;
}

function known(value: string, none: string): string | undefined {
  return value === none ? undefined : value;
}

/** What the index says about files besides their content. */
export interface IndexMarks {
  /** Files with the mark `assume-unchanged`. */
  assumed: string[];
  /** Files with the mark `skip-worktree`; a sparse checkout consists of these. */
  skipped: string[];
  /** Commits of other repositories: submodules. */
  links: string[];
}

const NO_MARKS: IndexMarks = { assumed: [], skipped: [], links: [] };

export async function readMarks(git: Git, at: GitLocation): Promise<IndexMarks> {
  const { stdout } = await git(['ls-files', '-v', '--stage', '-z'], { at });
  const marks: IndexMarks = { assumed: [], skipped: [], links: [] };
  for (const line of stdout.split('\0')) {
    const isLink = line.startsWith('160000', 2);
    // `H` is a file without marks.
    if (line === '' || (line[0] === 'H' && !isLink)) continue;
    const tag = line.slice(0, 1);
    const path = line.slice(line.indexOf('\t') + 1);
    if (tag !== tag.toUpperCase()) marks.assumed.push(path);
    if (tag === 'S' || tag === 's') marks.skipped.push(path);
    if (isLink) marks.links.push(path);
  }
  return marks;
}

/** Changed files that `git status` does not name, because the index marks them. */
async function hiddenEdits(git: Git, at: GitLocation, marks: IndexMarks): Promise<string[]> {
  // What a sparse checkout leaves out is not there; everything else with a mark may have been edited.
  const skipped = marks.skipped.filter((file) => isThere(at, file));
  if (marks.assumed.length + skipped.length === 0) return [];
  return withScratchIndex(at, async (env) => {
    await clearMarks(git, at, marks, env);
    const args = ['diff', '--name-only', '-z', '--no-renames', ...NO_DIFF_PROGRAMS];
    const { stdout } = await git([...args, '--ignore-submodules=dirty'], { at, env, config: NOT_SPARSE });
    const marked = new Set([...marks.assumed, ...skipped]);
    return stdout.split('\0').filter((file) => marked.has(file));
  });
}

const NOT_SPARSE = [['core.sparseCheckout', 'false']] as const;

function isThere(at: GitLocation, file: string): boolean {
  return lstatSync(join(at.workTree, file), { throwIfNoEntry: false }) !== undefined;
}

/** Removes the marks of existing files, in the index that `env` names or in the real one. */
export async function clearMarks(
  git: Git,
  at: GitLocation,
  marks: IndexMarks,
  env: Record<string, string> = {},
): Promise<void> {
  const skipped = marks.skipped.filter((file) => isThere(at, file));
  for (const [flag, files] of [
    ['--no-assume-unchanged', marks.assumed],
    ['--no-skip-worktree', skipped],
  ] as const) {
    if (files.length === 0) continue;
    const input = `${files.join('\0')}\0`;
    await git(['update-index', flag, '-z', '--stdin'], { at, env, input, write: true, config: NOT_SPARSE });
  }
}

/** Runs `fn` with a copy of a checkout's index as `GIT_INDEX_FILE`, so that the real one does not change. */
export async function withScratchIndex<T>(
  { gitDir }: GitLocation,
  fn: (env: { GIT_INDEX_FILE: string }) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-index-'));
  try {
    const copy = join(directory, 'index');
    const index = join(gitDir, 'index');
    if (existsSync(index)) copyFileSync(index, copy);
    return await fn({ GIT_INDEX_FILE: copy });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
