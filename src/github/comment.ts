import { asArray, asRecord, asText } from '../model/text/json.ts';
import { askForge } from './ask.ts';
import { GhError } from './gh/error.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import { type GhOptions, type GhResult, runGh } from './gh/run-gh.ts';
import { ghProblem } from './gh-problem.ts';

/** What every comment of ours begins with; nobody sees it. */
export const MARK = '<!-- signalbox-comment ';

export interface NewComment {
  repository: RepositoryName;
  number: number;
  /** Two comments with the same key are the same comment. */
  key: string;
  bodyFile: string;
}

export function markOf(key: string): string {
  return `${MARK}${key.replace(/[^\w.:/-]/g, '_')} -->`;
}

/** The address of the comment with this key; undefined while there is none. Only our own account's count. */
export async function findComment(
  { repository, number, key }: Omit<NewComment, 'bodyFile'>,
  options: GhOptions,
): Promise<string | undefined> {
  const text = `query($owner: String!, $name: String!) {
  rateLimit { limit remaining cost resetAt }
  repository(owner: $owner, name: $name) {
    pullRequest(number: ${Math.trunc(number)}) { comments(last: 100) { nodes { url body viewerDidAuthor } } }
  }
}`;
  const { owner, name } = repository;
  const { data } = await askForge(repository, { text, variables: { owner, name } }, options);
  const { comments } = asRecord(asRecord(data.repository).pullRequest);
  const all = asArray(asRecord(comments).nodes).map(asRecord);
  const mark = markOf(key);
  const own = all.find((each) => each.viewerDidAuthor === true && asText(each.body).startsWith(mark));
  return own && asText(own.url);
}

/** Comments on a pull request unless the comment is there, and looks again: a lost answer does not make a second one. */
export async function commentOnce(
  comment: NewComment,
  options: GhOptions,
): Promise<{ url: string; posted: boolean }> {
  const there = await findComment(comment, options);
  if (there !== undefined) return { url: there, posted: false };
  const { repository, number, bodyFile } = comment;
  const where = repositoryText(repository);
  const args = ['pr', 'comment', String(number), '--repo', where, '--body-file', bodyFile];
  let result: GhResult | GhError;
  try {
    result = await runGh(args, { timeoutMs: 60_000, ...options });
  } catch (error) {
    if (!(error instanceof GhError)) throw error;
    result = error;
  }
  const url = await findComment(comment, options);
  if (url !== undefined) return { url, posted: true };
  if (result instanceof GhError) throw result;
  throw ghProblem({ result, repository, what: `could not comment on pull request #${number} of ${where}` });
}
