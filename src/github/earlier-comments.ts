import { asRecord } from '../model/text/json.ts';
import { askForge } from './ask.ts';
import type { RepositoryName } from './gh/repository-name.ts';
import type { GhOptions } from './gh/run-gh.ts';
import { earlierQuery } from './watch-query.ts';
import { readTalk, type Watched } from './watched.ts';

/** So many pages are read back; what is older is told by its address alone. */
const MOST_PAGES = 8;

/** An open pull request with what was said before the first page. */
export async function withEarlier(
  repository: RepositoryName,
  pull: Watched,
  gh: GhOptions,
): Promise<Watched> {
  let whole = pull;
  for (let page = 0; page < MOST_PAGES; page++) {
    if (whole.state !== 'OPEN' || Object.keys(whole.earlier).length === 0) break;
    const { data } = await askForge(repository, earlierQuery(repository, whole.number, whole.earlier), gh);
    const older = readTalk(asRecord(asRecord(data.repository).pullRequest));
    whole = {
      ...whole,
      reviews: [...older.reviews, ...whole.reviews],
      threads: [...older.threads, ...whole.threads],
      comments: [...older.comments, ...whole.comments],
      earlier: older.earlier,
      cut: whole.cut || older.cut,
    };
  }
  return whole;
}
