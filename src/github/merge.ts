import { GhError } from './gh/error.ts';
import { repositoryText } from './gh/repository-name.ts';
import { type GhOptions, type GhResult, runGh } from './gh/run-gh.ts';
import { ghProblem } from './gh-problem.ts';
import { findPullRequests, type Head, type PullRequest } from './pull-request.ts';

export interface MergeWish {
  head: Head;
  number: number;
  /** Nothing is merged when the branch has moved on from this commit. */
  commit: string;
  method: 'merge' | 'squash' | 'rebase';
}

/** Merges a pull request and looks it up again: what counts is what GitHub has, not what the call said. */
export async function mergePullRequest(wish: MergeWish, options: GhOptions): Promise<PullRequest> {
  const { head, number, commit, method } = wish;
  const repository = repositoryText(head.repository);
  const args = ['pr', 'merge', String(number), '--repo', repository, `--${method}`];
  let result: GhResult | GhError;
  try {
    result = await runGh([...args, '--match-head-commit', commit], { timeoutMs: 60_000, ...options });
  } catch (error) {
    if (!(error instanceof GhError)) throw error;
    result = error;
  }
  const found = (await findPullRequests(head, options)).find((pull) => pull.number === number);
  if (found?.state === 'MERGED') return found;
  if (result instanceof GhError) throw result;
  if (result.code !== 0)
    throw ghProblem({
      result,
      repository: head.repository,
      what: `could not merge pull request #${number} of ${repository}`,
    });
  throw new GhError('unknown', `GitHub has not merged pull request #${number} yet.`, {
    hint: 'It may have put it into a merge queue.',
  });
}
