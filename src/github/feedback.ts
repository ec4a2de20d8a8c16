import { cleanLine, cleanText } from '../model/text/clean.ts';
import { MARK } from './comment.ts';
import { isHeard, type Said, type Thread, type Watched } from './watched.ts';

/** One thing that somebody should answer by a change or by words. */
export interface FeedbackItem {
  /** Stays the same for as long as the same thing is meant. */
  ids: string[];
  kind: 'review' | 'thread' | 'comment' | 'check' | 'conflict';
  text: string;
}

export interface Listening {
  /** What was answered before. */
  answered: ReadonlySet<string>;
  /** Logins that are listened to although they may not write to the repository, such as bots that review. */
  reviewers: readonly string[];
}

const MOST_TEXT = 3000;
/** Of one item: a round has room for two at least. */
const MOST_ITEM_BYTES = 5500;
/** Of words that were answered before, shown for what they say of the newer ones. */
const MOST_CONTEXT = 300;

/** Everything that is open and not answered yet, people's words first. */
export function feedbackOf(pull: Watched, listening: Listening): FeedbackItem[] {
  const { answered } = listening;
  const open = (item: FeedbackItem) => item.ids.some((id) => !answered.has(id));
  return [...said(pull, listening), ...conflict(pull), ...checks(pull)].filter(open);
}

function said(pull: Watched, { reviewers, answered }: Listening): FeedbackItem[] {
  const heard = (each: Said) => isHeard(each, reviewers) && !(each.own && each.text.startsWith(MARK));
  const reviews = pull.reviews
    .filter(heard)
    .filter(({ state, text }) => state === 'CHANGES_REQUESTED' || (state === 'COMMENTED' && text !== ''))
    .map((each): FeedbackItem => {
      const verb = each.state === 'COMMENTED' ? 'says' : 'requests changes';
      return { ids: [`review:${each.id}`], kind: 'review', text: quote(`${each.author} ${verb}`, each.text) };
    });
  const threads = pull.threads
    .filter(({ resolved }) => !resolved)
    .map((thread) => ({ ...thread, comments: thread.comments.filter(heard) }))
    .map((thread) => threadItem(thread, answered));
  const comments = pull.comments.filter(heard).map((each): FeedbackItem => {
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

/** Red checks count once all have ended: a half-read result would be mended twice. */
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

/** What is new in a thread, as much as one item holds, after a little of what was answered; the rest comes next time. */
function threadItem({ path, line, comments }: Thread, answered: ReadonlySet<string>): FeedbackItem {
  const place = cleanLine(line === null ? path : `${path}:${line}`, 300);
  const isNew = ({ id }: Said) => !answered.has(`thread:${id}`);
  const first = comments.findIndex(isNew);
  const words = comments
    .slice(Math.max(0, first - 3), Math.max(0, first))
    .map((each) => quote(`${each.author} on ${place}`, each.text, MOST_CONTEXT));
  const ids: string[] = [];
  let room = MOST_ITEM_BYTES - Buffer.byteLength(words.join('\n\n'));
  const news = first < 0 ? [] : comments.slice(first);
  for (const each of news) {
    const text = quote(`${each.author} on ${place}`, each.text);
    room -= Buffer.byteLength(text) + 2;
    if (room < 0 && ids.length > 0) break;
    words.push(text);
    ids.push(`thread:${each.id}`);
  }
  const left = news.length - ids.length;
  if (left > 0) words.push(`(${left} more in this thread are left for the next round.)`);
  return { ids, kind: 'thread', text: words.join('\n\n') };
}

function quote(who: string, text: string, most = MOST_TEXT): string {
  const words = cutBytes(cleanText(text, most).trim(), MOST_ITEM_BYTES - 1500);
  return words === '' ? `${who}.` : `${who}:\n${words}`;
}

/** Characters may have four bytes each. */
function cutBytes(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  return `${Buffer.from(text)
    .subarray(0, most)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')}…`;
}
