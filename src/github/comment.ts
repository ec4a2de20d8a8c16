import { asArray, asRecord, asText } from '../model/text/json.ts';
import { ghProblem } from './gh/failure.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import { GhError, type GhOptions, trySlowGh } from './gh/run-gh.ts';
import { askRepository } from './watch-query.ts';

/** What every comment of ours begins with; it is not shown. */
export const MARK = '<!-- signalbox-comment ';

interface NewComment {
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
  const fields = `pullRequest(number: ${Math.trunc(number)}) { comments(last: 100) { nodes { url body viewerDidAuthor } } }`;
  const { found } = await askRepository(repository, { fields }, options);
  const all = asArray(asRecord(asRecord(found.pullRequest).comments).nodes).map(asRecord);
  const mark = markOf(key);
  const own = all.find((each) => each.viewerDidAuthor === true && asText(each.body).startsWith(mark));
  return own && asText(own.url);
}

/** Comments on a pull request unless the comment exists, and checks afterwards: a lost answer does not make a second one. */
export async function commentOnce(
  comment: NewComment,
  options: GhOptions,
): Promise<{ url: string; posted: boolean }> {
  const there = await findComment(comment, options);
  if (there !== undefined) return { url: there, posted: false };
  const { repository, number, bodyFile } = comment;
  const where = repositoryText(repository);
  const args = ['pr', 'comment', String(number), '--repo', where, '--body-file', bodyFile];
  const result = await trySlowGh(args, options);
  const url = await findComment(comment, options);
  if (url !== undefined) return { url, posted: true };
  if (result instanceof GhError) throw result;
  throw ghProblem(result, repository, `could not comment on pull request #${number} of ${where}`);
}
