import type { PullOutcome, PullWait } from '../model/actions.ts';
import { capital, cleanLine, cleanText, plural } from '../model/text/clean-escape-quote-plural.ts';
import { shellWord } from '../model/text/quote-values-for-shell.ts';
import { MARK } from './pull-request.ts';
import type { Comment, Thread, Watched } from './query-pull-requests.ts';

export interface Standing {
  outcome: PullOutcome;
  /** For people and agents, many lines. */
  message: string;
  /** Ids of the feedback in the message. */
  ids: string[];
}

interface OwnBranch extends Listening {
  /** Commits that the branch may have unless other people pushed: the last known one, and the local one. */
  heads: readonly string[];
  /** The branch itself has the last of these: GitHub may need a moment until its pull request shows a push. */
  lags: boolean;
  /** Commits are here that are not in what was merged. */
  left: boolean;
  /** The branch was pushed and no longer exists on the forge; only checked without a pull request. */
  gone: boolean;
  /** The command that opens its pull request. */
  opening: string;
}

/** Messages stay below what the engine keeps of a script's output. */
const MAX_FEEDBACK_BYTES = 12_000;

/** The state of a pull request for a phase that waits, or why there is nothing new. */
export function standingOf(
  pull: Watched | null,
  awaited: PullWait,
  own: OwnBranch,
): Standing | { waiting: string } {
  if (!pull && own.gone) {
    const message = 'The branch was deleted on the forge before there was a pull request for it.';
    return { outcome: 'deleted', message, ids: [] };
  }
  if (!pull) {
    const none = 'there is no pull request for the branch yet';
    return { waiting: awaited === 'open' ? `${none}; open it: ${own.opening}` : none };
  }
  const name = `pull request #${pull.number}`;
  const end = endOf(pull, name, own);
  // A phase that waits for `open` captures the address, also of a pull request that has ended since.
  if (end) return awaited === 'open' ? { ...end, message: pull.url } : end;
  if (awaited === 'end') return { waiting: `${name} is open` };
  if (awaited === 'open') {
    return pull.isDraft ? { waiting: draft(pull, name) } : { outcome: 'open', message: pull.url, ids: [] };
  }
  if (!own.heads.includes(pull.head)) {
    if (own.lags) return { waiting: `${name} does not show the last push yet` };
    const message = `Other people pushed to ${cleanLine(pull.branch, 200)}: it is at ${pull.head.slice(0, 10)} now.`;
    return { outcome: 'moved', message, ids: [] };
  }
  const items = feedbackOf(pull, own);
  if (items.length > 0) return asked(pull, items);
  const pending = pull.checks.filter(({ state }) => state === 'pending').length;
  if (pending > 0) return { waiting: `${name}: ${pending} of ${pull.checks.length} checks are not done` };
  const red = pull.checks.filter(({ state }) => state === 'failed');
  if (red.length > 0) return { waiting: `${name}: ${plural(red.length, 'red check')}, answered` };
  if (awaited === 'merge')
    return { waiting: pull.isDraft ? draft(pull, name) : `${name} waits to be merged` };
  const approved = approval(pull, own);
  return 'missing' in approved
    ? { waiting: `${name} ${approved.missing}` }
    : { outcome: 'approved', message: approved.text, ids: [] };
}

function draft({ url }: Watched, name: string): string {
  return `${name} is a draft; make it ready: gh pr ready ${shellWord(url)}`;
}

function endOf(
  { state, hasBranch, branch }: Watched,
  name: string,
  { left }: OwnBranch,
): Standing | undefined {
  if (state === 'MERGED' && left) {
    const message = `${capital(name)} was merged without the last commits of ${cleanLine(branch, 200)} that are here.`;
    return { outcome: 'unmerged', message, ids: [] };
  }
  if (state === 'MERGED') return { outcome: 'merged', message: `${capital(name)} was merged.`, ids: [] };
  if (!hasBranch) {
    const message = `The branch ${cleanLine(branch, 200)} was deleted, and ${name} is not merged.`;
    return { outcome: 'deleted', message, ids: [] };
  }
  if (state === 'OPEN') return undefined;
  return { outcome: 'closed', message: `${capital(name)} was closed without being merged.`, ids: [] };
}

/** One name for all that is asked: people go before conflicts, and these before checks. */
function asked(pull: Watched, items: readonly FeedbackItem[]): Standing {
  const kinds = new Set(items.map(({ kind }) => kind));
  const people = kinds.has('review') || kinds.has('thread') || kinds.has('comment');
  const outcome = people ? 'changes' : kinds.has('conflict') ? 'conflict' : 'red';
  const taken: FeedbackItem[] = [];
  let room = MAX_FEEDBACK_BYTES;
  for (const item of items) {
    room -= Buffer.byteLength(item.text) + 2;
    if (room < 0) break;
    taken.push(item);
  }
  const left = items.length - taken.length;
  const notes = [
    ...(left > 0 ? [`${left} more in the next round; see ${pull.url}`] : []),
    ...(pull.cut || Object.keys(pull.earlier).length > 0 ? [`Older words are at ${pull.url}`] : []),
  ];
  const message = [...taken.map(({ text }) => text), ...notes].join('\n\n');
  return { outcome, message, ids: taken.flatMap(({ ids }) => ids) };
}

/** Why it should not be merged, answered or not; undefined where nothing is against it. */
export function objectionTo(pull: Watched, reviewers: readonly string[]): string | undefined {
  const against = verdicts(pull, reviewers).filter(({ state }) => state === 'CHANGES_REQUESTED');
  const objected = objectedBy(pull, against);
  if (objected !== undefined) return `waits for ${objected}, who requested changes`;
  const red = pull.checks.filter(({ state }) => state === 'failed').map(({ name }) => cleanLine(name, 80));
  return red.length > 0 ? `has red checks: ${red.slice(0, 3).join(', ')}` : undefined;
}

/** Names of checks that may still say anything. */
export function pendingChecks(pull: Watched): string[] {
  return pull.checks.filter(({ state }) => state === 'pending').map(({ name }) => cleanLine(name, 80));
}

/** The last verdict of every reviewer who counts. */
function verdicts(pull: Watched, reviewers: readonly string[]): Watched['reviews'] {
  const latest = new Map<string, Watched['reviews'][number]>();
  for (const review of [...pull.reviews].sort((a, b) => a.at.localeCompare(b.at))) {
    if (mayComment(review, reviewers) && review.state !== 'COMMENTED' && review.state !== 'PENDING')
      latest.set(review.author, review);
  }
  return [...latest.values()];
}

/** The reviews that decide about the commits that a pull request has now: those against it, or enough for it. */
export function decidingReviews(pull: Watched): Watched['reviews'] {
  const latest = verdicts(pull, []);
  const current = latest.filter(({ commit }) => commit === '' || commit === pull.head);
  const against = current.filter(({ state }) => state === 'CHANGES_REQUESTED');
  if (against.length > 0) return against;
  // A request for changes of older commits still counts. With a rule of its own, GitHub knows how many approvals it takes.
  const open = latest.some(({ state }) => state === 'CHANGES_REQUESTED');
  const enough = pull.decision === '' ? !open : pull.decision === 'APPROVED';
  return enough ? current.filter(({ state }) => state === 'APPROVED') : [];
}

function names(reviews: readonly { author: string }[]): string {
  return reviews.map(({ author }) => author).join(', ');
}

/** Who requested changes; where GitHub has rules of its own, these decide whether that counts. */
function objectedBy({ decision }: Watched, against: Watched['reviews']): string | undefined {
  if (decision !== 'CHANGES_REQUESTED' && (decision !== '' || against.length === 0)) return undefined;
  return cleanLine(names(against), 200) || 'a reviewer';
}

/** Who approves the commits that it has now, or what is missing. */
function approval(pull: Watched, { reviewers }: OwnBranch): { text: string } | { missing: string } {
  const latest = verdicts(pull, reviewers);
  const approving = latest.filter(
    ({ state, commit }) => state === 'APPROVED' && (commit === '' || commit === pull.head),
  );
  const against = latest.filter(({ state }) => state === 'CHANGES_REQUESTED');
  // With a rule of its own, GitHub knows how many it takes and whether one for older commits counts.
  const objected = objectedBy(pull, against);
  if (objected !== undefined) return { missing: `waits for ${objected}, who requested changes` };
  if (pull.decision === '' ? approving.length === 0 : pull.decision !== 'APPROVED')
    return { missing: 'waits for a review' };
  if (approving.length === 0) return { text: 'It is approved.' };
  // Words that came with it are for people: an agent that acted on them would make the approval void.
  const words = approving.filter(({ text }) => text !== '').map((each) => `${each.author}: ${each.text}`);
  return {
    text: [`${names(approving)} approved it.`, ...words.map((each) => cleanText(each, 1000))].join('\n'),
  };
}

/** One thing to answer by a change or by a comment. */
interface FeedbackItem {
  /** Stable while the feedback is the same. */
  ids: string[];
  kind: 'review' | 'thread' | 'comment' | 'check' | 'conflict';
  text: string;
}

interface Listening {
  /** What was answered before. */
  answered: ReadonlySet<string>;
  /** Logins that are listened to although they may not write to the repository, such as bots that review. */
  reviewers: readonly string[];
}

const MAX_QUOTE_CHARS = 3000;
/** Limit of one item, so that a message has room for at least two. */
const MAX_ITEM_BYTES = 5500;
/** Limit of earlier, answered comments, which are shown as context. */
const MAX_CONTEXT_CHARS = 300;

/** Everything that is open and not answered yet, people's words first. */
function feedbackOf(pull: Watched, listening: Listening): FeedbackItem[] {
  const { answered } = listening;
  const open = (item: FeedbackItem) => item.ids.some((id) => !answered.has(id));
  return [...said(pull, listening), ...conflict(pull), ...checks(pull)].filter(open);
}

function said(pull: Watched, { reviewers, answered }: Listening): FeedbackItem[] {
  const counts = (each: Comment) => mayComment(each, reviewers) && !(each.own && each.text.startsWith(MARK));
  const reviews = pull.reviews
    .filter(counts)
    .filter(({ state, text }) => state === 'CHANGES_REQUESTED' || (state === 'COMMENTED' && text !== ''))
    .map((each): FeedbackItem => {
      const verb = each.state === 'COMMENTED' ? 'says' : 'requests changes';
      return { ids: [`review:${each.id}`], kind: 'review', text: quote(`${each.author} ${verb}`, each.text) };
    });
  const threads = pull.threads
    .filter(({ resolved }) => !resolved)
    .map((thread) => ({ ...thread, comments: thread.comments.filter(counts) }))
    .map((thread) => threadItem(thread, answered));
  const comments = pull.comments.filter(counts).map((each): FeedbackItem => {
    return {
      ids: [`comment:${each.id}`],
      kind: 'comment',
      text: quote(`${each.author} comments`, each.text),
    };
  });
  return [...reviews, ...threads, ...comments];
}

function conflict({ mergeable, head, base, baseCommit }: Watched): FeedbackItem[] {
  if (mergeable !== 'CONFLICTING') return [];
  const where = cleanLine(base, 200);
  const text = `The branch conflicts with ${where}. Merge origin/${where} into it, resolve the conflicts and commit the merge.`;
  return [{ ids: [`conflict:${head}:${baseCommit}`], kind: 'conflict', text }];
}

/** Failed checks, once all checks have ended: a partial result would be fixed twice. */
function checks(pull: Watched): FeedbackItem[] {
  if (pull.checks.some(({ state }) => state === 'pending')) return [];
  return pull.checks
    .filter(({ state }) => state === 'failed')
    .map(({ id, name, result, url }): FeedbackItem => {
      const more = url === '' ? '' : ` See ${cleanLine(url, 300)}`;
      const text = `The check ${cleanLine(name, 200)} ended with ${cleanLine(result, 40)}.${more}`;
      return { ids: [`check:${pull.head}:${id}`], kind: 'check', text };
    });
}

/** New comments of a thread, up to the limit of an item, after some answered ones as context. The rest comes next time. */
function threadItem({ path, line, comments }: Thread, answered: ReadonlySet<string>): FeedbackItem {
  const place = cleanLine(line === null ? path : `${path}:${line}`, 300);
  const isNew = ({ id }: Comment) => !answered.has(`thread:${id}`);
  const first = comments.findIndex(isNew);
  const words = comments
    .slice(Math.max(0, first - 3), Math.max(0, first))
    .map((each) => quote(`${each.author} on ${place}`, each.text, MAX_CONTEXT_CHARS));
  const ids: string[] = [];
  let room = MAX_ITEM_BYTES - Buffer.byteLength(words.join('\n\n'));
  const news = first < 0 ? [] : comments.slice(first);
  for (const each of news) {
    const text = quote(`${each.author} on ${place}`, each.text);
    room -= Buffer.byteLength(text) + 2;
    if (room < 0 && ids.length > 0) break;
    words.push(text);
    ids.push(`thread:${each.id}`);
  }
  const left = news.length - ids.length;
  if (left > 0) words.push(`(${left} more of this thread in the next round.)`);
  return { ids, kind: 'thread', text: words.join('\n\n') };
}

function quote(who: string, text: string, most = MAX_QUOTE_CHARS): string {
  const words = cutBytes(cleanText(text, most).trim(), MAX_ITEM_BYTES - 1500);
  return words === '' ? `${who}.` : `${who}:\n${words}`;
}

/** Cuts a text to a number of bytes: a character may have four. */
function cutBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  return `${Buffer.from(text)
    .subarray(0, most)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')}…`;
}

/** Every account may comment on a public repository; these belong to it. */
const TRUSTED = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

/** Whether an author may write to the repository. Comments of others never reach an agent, and their reviews do not count. */
function mayComment(comment: Comment, reviewers: readonly string[]): boolean {
  if (comment.own || TRUSTED.has(comment.association)) return true;
  return reviewers.some((login) => login.toLowerCase() === comment.author.toLowerCase());
}
