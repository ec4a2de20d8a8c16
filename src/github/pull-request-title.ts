import { cleanLine } from '../model/text/clean.ts';
import { inertPlain } from './escape-markdown.ts';
import {
  parseRepository,
  type RepositoryName,
  repositoryText,
  sameRepository,
} from './gh/repository-name.ts';

const MAX_TITLE = 200;

/** What a piece of work is in its tracker. */
export interface Tracked {
  number: number | null;
  /** `owner/repo` or `host/owner/repo`; null when it has none of its own. */
  repository: string | null;
  labels: readonly string[];
}

/** `#12`, `owner/repo#12` when it belongs to another repository, null without a number. */
export function issueReference({ number, repository }: Tracked, here: RepositoryName): string | null {
  if (number === null) return null;
  const own = repository === null ? undefined : parseRepository(repository, here.host);
  return own === undefined || sameRepository(own, here) ? `#${number}` : `${repositoryText(own)}#${number}`;
}

/** One line: `feat(#12): …`, `fix(#12): …` for a bug, without the number where there is none. It closes and calls nothing. */
export function pullRequestTitle(title: string, tracked: Tracked, reference: string | null): string {
  const kind = tracked.labels.some((label) => /^bug/i.test(label.trim())) ? 'fix' : 'feat';
  // `fix: #3` would close it.
  const said = inertPlain(cleanLine(`${kind}: ${title}`, MAX_TITLE)).slice(kind.length);
  return cleanLine(`${kind}${reference === null ? '' : `(${reference})`}${said}`, MAX_TITLE);
}
