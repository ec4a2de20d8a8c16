import { cleanLine, cleanText } from '../sources/text.ts';
import { MARK } from './comment.ts';
import type { Said, Watched } from './watched.ts';

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

/** Anybody may say anything on a public repository; these people may write to it. */
const TRUSTED = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);
const MOST_TEXT = 3000;

/** Whether an author is listened to: what others say never reaches an agent. */
export function isHeard(said: Said, reviewers: readonly string[]): boolean {
  if (said.own || TRUSTED.has(said.association)) return true;
  return reviewers.some((login) => login.toLowerCase() === said.author.toLowerCase());
}

/** Everything that is open and not answered yet, people's words first. */
export function feedbackOf(pull: Watched, listening: Listening): FeedbackItem[] {
  const { answered } = listening;
  const open = (item: FeedbackItem) => item.ids.some((id) => !answered.has(id));
  return [...said(pull, listening), ...conflict(pull), ...checks(pull)].filter(open);
}

function said(pull: Watched, { reviewers }: Listening): FeedbackItem[] {
  const heard = (each: Said) => isHeard(each, reviewers) && !(each.own && each.text.startsWith(MARK));
  const reviews = pull.reviews
    .filter((each) => heard(each) || (pull.decision !== '' && each.state === 'CHANGES_REQUESTED'))
    .filter(({ state, text }) => state === 'CHANGES_REQUESTED' || (state === 'COMMENTED' && text !== ''))
    .map((each): FeedbackItem => {
      const verb = each.state === 'COMMENTED' ? 'says' : 'requests changes';
      return { ids: [`review:${each.id}`], kind: 'review', text: quote(`${each.author} ${verb}`, each.text) };
    });
  const threads = pull.threads
    .filter(({ resolved }) => !resolved)
    .map(({ path, line, comments }) => ({ path, line, comments: comments.filter(heard) }))
    .map(({ path, line, comments }): FeedbackItem => {
      const place = cleanLine(line === null ? path : `${path}:${line}`, 300);
      const words = comments.map((each) => quote(`${each.author} on ${place}`, each.text));
      return { ids: comments.map(({ id }) => `thread:${id}`), kind: 'thread', text: words.join('\n\n') };
    });
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

function quote(who: string, text: string): string {
  const words = cleanText(text, MOST_TEXT).trim();
  return words === '' ? `${who}.` : `${who}:\n${words}`;
}
