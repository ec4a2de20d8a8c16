import type { Context } from './context.ts';
import type { Place } from './git.ts';
import type { Repo } from './repo.ts';

export type Merged = { commit: string } | { conflict: string[] };

/** Merges `theirs` into `ours` as a new commit, without any checkout. */
export async function mergeCommits(
  context: Context,
  repo: Repo,
  merge: { ours: string; theirs: string; message: string },
): Promise<Merged> {
  const [{ code, stdout }, who] = await Promise.all([
    context.git(
      ['merge-tree', '--write-tree', '--name-only', '--no-messages', '-z', merge.ours, merge.theirs],
      {
        at: repo,
        ok: [0, 1],
        write: true,
      },
    ),
    identity(context, repo),
  ]);
  const [tree = '', ...files] = stdout.split('\0').filter((field) => field !== '');
  if (code === 1) return { conflict: [...new Set(files)].sort() };
  const made = await context.git(['commit-tree', tree, '-p', merge.ours, '-p', merge.theirs, '-F', '-'], {
    at: repo,
    write: true,
    input: `${merge.message.trim()}\n`,
    env: who,
  });
  return { commit: made.stdout.trim() };
}

/** Nothing where the repository knows who commits, else our own name: git would refuse or invent one. */
export async function identity(context: Context, repo: Place): Promise<Record<string, string>> {
  const { stdout } = await context.git(
    ['config', '-z', '--get-regexp', '^(user|author|committer)\\.(name|email)$'],
    {
      at: repo,
      ok: [0, 1],
    },
  );
  const known = new Set(stdout.split('\0').map((entry) => entry.split('\n')[0]));
  const env: Record<string, string> = {};
  for (const role of ['author', 'committer']) {
    for (const [field, fallback] of [
      ['name', 'Signalbox'],
      ['email', 'signalbox@localhost'],
    ] as const) {
      const variable = `GIT_${role}_${field}`.toUpperCase();
      const configured = known.has(`user.${field}`) || known.has(`${role}.${field}`);
      if (!configured && !context.env[variable]) env[variable] = fallback;
    }
  }
  return env;
}
