import type { Context } from '../git/context.ts';
import { fetchBranch } from '../git/fetch.ts';
import { branchRef, isOid, originRef, readRef } from '../git/refs.ts';
import type { Repo } from '../git/repository.ts';
import { originTrunk, recordTrunk } from '../git/trunk.ts';
import { readHead } from '../git/worktrees.ts';
import { WorkspaceError } from '../model/errors.ts';
import { integrationBranch } from '../model/own-branch.ts';

/** What work starts from. `ref` is recorded (`main`, `origin/main`); `name` is the branch that work is merged into. */
export interface Base {
  ref: string;
  name: string | undefined;
  commit: string;
  notes: string[];
}

export { integrationBranch };

/** Resolves the plan's base, else origin's default branch, else the current branch. */
export async function resolveBase(
  context: Context,
  repo: Repo,
  wanted: string | null,
  options: { fetch: boolean },
): Promise<Base> {
  if (wanted !== null) return namedBase(context, repo, wanted, options);
  const { name, note } = await originTrunk(context, repo, { ask: options.fetch });
  const notes = note ? [note] : [];
  const base = name === undefined ? undefined : await remoteBase(context, repo, name, options);
  if (base?.name && options.fetch) await recordTrunk(context, repo, base.name);
  const found = base ?? (await currentBase(context, repo));
  return { ...found, notes: [...notes, ...found.notes] };
}

async function namedBase(
  context: Context,
  repo: Repo,
  wanted: string,
  options: { fetch: boolean },
): Promise<Base> {
  if (isOid(wanted)) {
    const asked = ['rev-parse', '--quiet', '--verify', `${wanted}^{commit}`];
    const { code, stdout } = await context.git(asked, { at: repo, ok: [0, 1, 128] });
    if (code === 0) return { ref: wanted, name: undefined, commit: stdout.trim(), notes: [] };
    throw new WorkspaceError(
      'workspace/base-missing',
      `The base ${wanted} is no commit that ${repo.workTree} has.`,
      {
        hint: `Correct \`base\` of the plan, or fetch it: git -C ${repo.workTree} fetch origin ${wanted}`,
        details: { base: wanted, repo: repo.workTree },
      },
    );
  }
  const local = await readRef(context.git, repo, branchRef(wanted));
  if (local) return { ref: wanted, name: wanted, commit: local, notes: [] };
  const short = wanted.startsWith('origin/') ? wanted.slice('origin/'.length) : wanted;
  const remote = await remoteBase(context, repo, short, options);
  if (remote) return remote;
  throw new WorkspaceError(
    'workspace/base-missing',
    `The base branch ${wanted} does not exist in ${repo.workTree}.`,
    {
      hint: `Correct \`base\` of the plan, or create it: git -C ${repo.workTree} branch ${wanted}`,
      details: { base: wanted, repo: repo.workTree },
    },
  );
}

async function remoteBase(
  context: Context,
  repo: Repo,
  name: string,
  options: { fetch: boolean },
): Promise<Base | undefined> {
  const note = options.fetch ? await fetchBranch(context, repo, name) : undefined;
  const commit = await readRef(context.git, repo, originRef(name));
  return commit ? { ref: `origin/${name}`, name, commit, notes: note ? [note] : [] } : undefined;
}

async function currentBase(context: Context, repo: Repo): Promise<Base> {
  const head = readHead(repo.gitDir);
  const name = head.branch;
  const commit = name === undefined ? head.oid : await readRef(context.git, repo, branchRef(name));
  if (commit !== undefined) return { ref: name ?? commit, name, commit, notes: [] };
  const { stdout } = await context.git(['rev-parse', '--verify', 'HEAD^{commit}'], { at: repo });
  const { stdout: short } = await context.git(['symbolic-ref', '--quiet', '--short', 'HEAD'], {
    at: repo,
    ok: [0, 1],
  });
  return {
    ref: short.trim() || stdout.trim(),
    name: short.trim() || undefined,
    commit: stdout.trim(),
    notes: [],
  };
}

/** The commit new work starts from: what was integrated so far where that contains the base, else the base. */
export async function startingPoint(context: Context, repo: Repo, base: Base): Promise<string> {
  if (base.name === undefined) return base.commit;
  const integrated = await readRef(context.git, repo, branchRef(integrationBranch(base.name)));
  if (integrated && (await contains(context, repo, integrated, base.commit))) return integrated;
  return base.commit;
}

/** True when `ancestor` is reachable from `commit`. */
export async function contains(
  context: Context,
  repo: Repo,
  commit: string,
  ancestor: string,
): Promise<boolean> {
  if (commit === ancestor) return true;
  const key = `${commit}:${ancestor}`;
  const known = context.ancestry.get(key);
  if (known !== undefined) return known;
  const { code } = await context.git(['merge-base', '--is-ancestor', ancestor, commit], {
    at: repo,
    ok: [0, 1],
  });
  remember(context, commit, ancestor, code === 0);
  return code === 0;
}

export function remember(context: Context, commit: string, ancestor: string, answer: boolean): void {
  if (context.ancestry.size > 5000) context.ancestry.clear();
  context.ancestry.set(`${commit}:${ancestor}`, answer);
}
