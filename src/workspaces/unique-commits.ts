import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { commitsAhead } from '../git/ahead.ts';
import type { Context } from '../git/context.ts';
import { branchRef, hasFileRefs, isOid, readText } from '../git/refs.ts';
import type { Repo } from '../git/repository.ts';
import { readStatus } from '../git/status.ts';
import type { Worktree } from '../git/worktrees.ts';

/** What the worktree's branch is known to hold. */
export interface OwnBranch {
  branch: string;
  tip?: string | undefined;
  base?: string | undefined;
}

/**
 * Commits that go with a worktree, because only its HEAD's reflog or its own refs name them: those made on a detached
 * HEAD that was left, say. Where everything is the branch's own history, no process is started.
 */
export async function commitsOnlyHere(
  context: Context,
  repo: Repo,
  adminDir: string,
  own?: OwnBranch,
): Promise<string[]> {
  const named = hasFileRefs(repo.commonDir)
    ? [...headLog(adminDir), ...ownRefs(adminDir)]
    : await askGit(context, adminDir, repo);
  const held = own ? heldBy(repo.commonDir, own) : new Set<string>();
  const open = new Set(named.filter((oid) => !held.has(oid) && !/^0+$/.test(oid)));
  if (open.size === 0) return [];
  const { stdout } = await context.git(
    ['rev-list', '--ignore-missing', '--stdin', '--single-worktree', '--not', '--all'],
    { at: repo, input: `${[...open].join('\n')}\n` },
  );
  return stdout.split('\n').filter(isOid);
}

/** Copies that a rebase makes on its way; what they are copied from is in the branch's reflog. */
const REBASED = /^(rebase|pull)\b[^:]*\((pick|fixup|squash|reword)\)/;

/** Whether a worktree holds something that git deletes with it unasked: hidden edits, or commits that nothing else names. */
export async function holdsUnseen(context: Context, repo: Repo, worktree: Worktree): Promise<boolean> {
  const { hidden } = await readStatus(context.git, worktree.at);
  return hidden.length > 0 || (await commitsOnlyHere(context, repo, worktree.adminDir)).length > 0;
}

/** Where HEAD has been, by its reflog. */
function headLog(adminDir: string): string[] {
  const lines = (readText(join(adminDir, 'logs', 'HEAD')) ?? '').split('\n');
  return lines.flatMap((line) => {
    const [, oid = ''] = line.split(' ', 2);
    const [, message = ''] = line.split('\t', 2);
    return isOid(oid) && !REBASED.test(message) ? [oid] : [];
  });
}

/** What comes from elsewhere, or is no commit. */
const FOREIGN = ['HEAD', 'FETCH_HEAD', 'AUTO_MERGE'];

/** Refs that only this worktree has: those below `refs/`, and names such as ORIG_HEAD. */
function ownRefs(adminDir: string): string[] {
  const names = readdirSync(adminDir).filter(
    (name) => /^[A-Z][A-Z0-9_]*$/.test(name) && !FOREIGN.includes(name),
  );
  const refs = join(adminDir, 'refs');
  const below = existsSync(refs) ? readdirSync(refs, { recursive: true, encoding: 'utf8' }) : [];
  const files = [...names, ...below.map((name) => join('refs', name))];
  return files.map((name) => readText(join(adminDir, name)) ?? '').filter(isOid);
}

/** Commits that the branch holds: its history down to the base, and what its own reflog remembers. */
function heldBy(commonDir: string, { branch, tip, base }: OwnBranch): Set<string> {
  const held = new Set([tip, base].filter((oid) => oid !== undefined));
  for (const oid of (tip && base && commitsAhead(commonDir, tip, base)) || []) held.add(oid);
  const log = readText(join(commonDir, 'logs', branchRef(branch))) ?? '';
  for (const line of log.split('\n')) for (const oid of line.split(' ', 2)) held.add(oid);
  return held;
}

async function askGit(context: Context, adminDir: string, repo: Repo): Promise<string[]> {
  const at = { gitDir: adminDir, workTree: repo.workTree };
  const log = await context.git(['rev-list', '--walk-reflogs', 'HEAD'], { at, ok: [0, 128] });
  const own = ['refs/worktree', 'refs/bisect', 'refs/rewritten'];
  const refs = await context.git(['for-each-ref', '--format=%(objectname)', ...own], { at });
  return `${log.stdout}\n${refs.stdout}`.split('\n').filter(isOid);
}

export function sayCommits(commits: readonly string[]): string {
  const first = commits[0]?.slice(0, 10);
  const count = commits.length === 1 ? 'a commit' : `${commits.length} commits`;
  return `no branch holds ${count} made in it, ${first}; save with: git branch <name> ${first}`;
}
