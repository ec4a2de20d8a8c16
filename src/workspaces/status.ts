import type { Git, Place } from './git.ts';

/** `git status` of a checkout, in one call. */
export interface Status {
  /** The commit HEAD stands for; undefined on a branch without commits. */
  head: string | undefined;
  branch: string | undefined;
  /** Changed tracked files. */
  changed: string[];
  /** Directories end in `/`. */
  untracked: string[];
  ignored: string[];
  /** The entries as git wrote them. */
  raw: string;
}

export interface StatusOptions {
  /** List every untracked file instead of the topmost untracked directories. */
  all?: boolean;
  ignored?: boolean;
}

export async function readStatus(git: Git, at: Place, options: StatusOptions = {}): Promise<Status> {
  const args = [
    'status',
    '--porcelain=v2',
    '-z',
    '--branch',
    '--no-ahead-behind',
    '--no-renames',
    '--ignore-submodules=none',
    `--untracked-files=${options.all ? 'all' : 'normal'}`,
    `--ignored=${options.ignored ? 'matching' : 'no'}`,
  ];
  const { stdout } = await git(args, { at });
  return parseStatus(stdout);
}

/** How many fields stand before the path, by the entry's first character. */
const FIELDS: Record<string, number> = { '1': 8, u: 10, '?': 1, '!': 1 };

export function parseStatus(raw: string): Status {
  const status: Status = { head: undefined, branch: undefined, changed: [], untracked: [], ignored: [], raw };
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
