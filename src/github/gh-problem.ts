import { GhError } from './gh/error.ts';
import { ghFailure } from './gh/failure.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import type { GhResult } from './gh/run-gh.ts';

export interface Failed {
  result: GhResult;
  repository: RepositoryName;
  /** What gh did not do: `could not list …`. */
  what: string;
}

/** What is known to go wrong with gh in its own words; anything else says what was tried and what gh said. */
export function ghProblem({ result, repository, what }: Failed): GhError {
  const known = ghFailure(result, { host: repository.host, what: repositoryText(repository) });
  if (known.failure !== 'unknown') return known;
  return new GhError(
    'unknown',
    `The GitHub CLI ${what}: ${String(known.details.said || 'it said nothing')}`,
    {
      hint: 'Run `gh pr status` in the repository to see what GitHub knows.',
      details: known.details,
    },
  );
}
