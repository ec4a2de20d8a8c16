import { WorkspaceError } from '../model/errors.ts';
import { resolveBase, startingPoint } from './base.ts';
import type { Context } from './context.ts';
import { mergeCommits } from './merge.ts';
import { branchRef, originRef, readRef } from './refs.ts';
import type { Repo } from './repo.ts';

export interface StartSpec {
  branch: string;
  base: string | null;
  stackOn: string[];
  recordedBase: { ref: string; commit: string } | null;
}

/** Where a ticket's branch begins; `tip` is the branch itself when it exists already. */
export interface Start {
  tip: string | undefined;
  base: { ref: string; commit: string };
  notes: string[];
}

/** An existing branch is continued; a new one begins at the base with every finished prerequisite in it. */
export async function findStart(context: Context, repo: Repo, spec: StartSpec): Promise<Start> {
  const tip = await readRef(context.git, repo, branchRef(spec.branch));
  if (tip && spec.recordedBase) return { tip, base: spec.recordedBase, notes: [] };
  const base = await resolveBase(context, repo, spec.recordedBase?.ref ?? spec.base, { fetch: true });
  if (tip) {
    const { stdout } = await context.git(['merge-base', tip, base.commit], { at: repo, ok: [0, 1] });
    return { tip, base: { ref: base.ref, commit: stdout.trim() || tip }, notes: base.notes };
  }
  const start = await startingPoint(context, repo, base);
  const stacked = await stack(context, repo, { start, branch: spec.branch, stackOn: spec.stackOn });
  return { tip, base: { ref: base.ref, commit: stacked.commit }, notes: [...base.notes, ...stacked.notes] };
}

interface Tip {
  name: string;
  commit: string;
}

async function stack(
  context: Context,
  repo: Repo,
  spec: { start: string; branch: string; stackOn: string[] },
) {
  const { tips, notes } = await prerequisiteTips(context, repo, spec.stackOn);
  const open = await notContained(context, repo, spec.start, tips);
  if (open.length === 0) return { commit: spec.start, notes };
  // A prerequisite that is in the base already may not be in the others: then the base is merged too.
  const candidates = open.length < tips.length ? [...open, { name: 'the base', commit: spec.start }] : open;
  const [first, ...rest] = await independent(context, repo, candidates);
  let commit = first?.commit ?? spec.start;
  const names = [first?.name];
  for (const tip of rest) {
    const message = `Merge ${tip.name} as a prerequisite of ${spec.branch}`;
    const merged = await mergeCommits(context, repo, { ours: commit, theirs: tip.commit, message });
    if ('conflict' in merged)
      throw new WorkspaceError(
        'workspace/stack-conflict',
        `The prerequisites of ${spec.branch} do not merge: ${tip.name} conflicts with ${names.join(', ')} in ${merged.conflict.join(', ')}.`,
        {
          hint: 'Merge them into the base branch by hand, then retry this ticket.',
          details: { branches: [...names, tip.name], files: merged.conflict },
        },
      );
    commit = merged.commit;
    names.push(tip.name);
  }
  return { commit, notes };
}

async function prerequisiteTips(context: Context, repo: Repo, stackOn: string[]) {
  const tips: Tip[] = [];
  const notes: string[] = [];
  for (const name of stackOn) {
    const commit =
      (await readRef(context.git, repo, branchRef(name))) ??
      (await readRef(context.git, repo, originRef(name)));
    if (commit) tips.push({ name, commit });
    else notes.push(`The prerequisite's branch ${name} is gone; it is taken as merged.`);
  }
  return { tips, notes };
}

async function notContained(context: Context, repo: Repo, start: string, tips: Tip[]): Promise<Tip[]> {
  const others = tips.filter((tip) => tip.commit !== start);
  if (others.length === 0) return [];
  const args = ['rev-list', ...others.map((tip) => tip.commit), '--not', start];
  const { stdout } = await context.git(args, { at: repo });
  const open = new Set(stdout.split('\n'));
  return others.filter((tip) => open.has(tip.commit));
}

/** Leaves out tips that others contain, in the given order. */
async function independent(context: Context, repo: Repo, tips: Tip[]): Promise<Tip[]> {
  if (tips.length === 1) return tips;
  const { stdout } = await context.git(['merge-base', '--independent', ...tips.map((tip) => tip.commit)], {
    at: repo,
  });
  const left = new Set(stdout.split('\n'));
  return tips.filter((tip) => left.delete(tip.commit));
}
