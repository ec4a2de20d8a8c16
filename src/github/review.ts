import { asArray, asRecord, asText, parseJson } from '../model/text/json.ts';
import { ghProblem } from './gh/failure.ts';
import { type RepositoryName, repositoryText } from './gh/repository-name.ts';
import { type GhOptions, runSlowGh } from './gh/run-gh.ts';
import { isPullState, type PullState } from './pull-request.ts';
import { isTrusted } from './watched.ts';

interface Review {
  author: string;
  approves: boolean;
  text: string;
}

export interface Reviewed {
  state: PullState;
  /** What the reviews come to; null while they come to nothing. */
  verdict: 'approve' | 'reject' | null;
  /** Those that count and say so, oldest first. */
  reviews: Review[];
}

const FIELDS = 'state,headRefOid,reviewDecision,reviews';

/** What people said of the commits that a pull request has now. */
export async function readReviews(
  repository: RepositoryName,
  number: number,
  options: GhOptions,
): Promise<Reviewed> {
  const args = ['pr', 'view', String(number), '--repo', repositoryText(repository), '--json', FIELDS];
  const result = await runSlowGh(args, options);
  const what = `pull request #${number} of ${repositoryText(repository)}`;
  if (result.code !== 0) throw ghProblem(result, repository, `could not read ${what}`);
  const pull = asRecord(parseJson(result.stdout));
  const { state } = pull;
  if (!isPullState(state)) throw ghProblem(result, repository, `gave no state of ${what}`);
  return { state, ...judge(pull) };
}

function judge(pull: Record<string, unknown>): Pick<Reviewed, 'verdict' | 'reviews'> {
  const decision = asText(pull.reviewDecision);
  const head = asText(pull.headRefOid);
  const latest = new Map<string, Record<string, unknown>>();
  for (const review of asArray(pull.reviews).map(asRecord).sort(byTime)) {
    if (isTrusted(asText(review.authorAssociation)) && asText(review.state) !== 'COMMENTED')
      latest.set(asText(asRecord(review.author).login), review);
  }
  // What was said of other commits is said of something else; an older gh does not tell.
  const current = [...latest.values()].filter((review) => {
    const commit = asText(asRecord(review.commit).oid);
    return commit === '' || head === '' || commit === head;
  });
  const reviews = current.flatMap((review): Review[] => {
    const state = asText(review.state);
    if (state !== 'APPROVED' && state !== 'CHANGES_REQUESTED') return [];
    const author = asText(asRecord(review.author).login);
    return [{ author, approves: state === 'APPROVED', text: asText(review.body).trim() }];
  });
  const refused = reviews.some(({ approves }) => !approves);
  const approved = reviews.some(({ approves }) => approves);
  // Whoever requested changes of older commits has not taken that back.
  const against = [...latest.values()].some(({ state }) => asText(state) === 'CHANGES_REQUESTED');
  // With a rule of its own, GitHub knows how many approvals it takes.
  const enough = decision === '' ? !against : decision === 'APPROVED';
  return { verdict: refused ? 'reject' : approved && enough ? 'approve' : null, reviews };
}

function byTime(a: Record<string, unknown>, b: Record<string, unknown>): number {
  return asText(a.submittedAt).localeCompare(asText(b.submittedAt));
}
