import { createHash } from 'node:crypto';
import { InputError } from './errors.ts';

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const MAX_ID_CHARS = 100;

/** The rules of ids and branches as far as editors can check them by a JSON Schema. */
export const ID_PATTERN = '^(?!.*\\.\\.)(?!.*\\.(?:lock)?$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}$';
export const BRANCH_PATTERN =
  '^(?!-|/|refs/|@$|HEAD$)(?!.*(?:\\.\\.|@\\{|//))(?!.*[/.]$)(?!(?:.*/)?\\.)(?!.*\\.lock(?:/|$))[^\\x00-\\x20\\x7f~^:?*[\\\\]{1,200}$';

/** Says why a text cannot be an id, or undefined when it can. Ids become file names, so the rule is strict. */
export function idProblem(text: string): string | undefined {
  if (text.length === 0) return 'is empty';
  if (text.length > MAX_ID_CHARS)
    return `is ${text.length} characters long; at most ${MAX_ID_CHARS} are allowed`;
  if (!ID.test(text))
    return 'may contain only letters, digits, ".", "_" and "-", and must start with a letter or digit';
  if (text.includes('..')) return 'must not contain ".."';
  if (text.endsWith('.lock') || text.endsWith('.')) return 'must not end in ".lock" or "."';
  return undefined;
}

/** The id, or an error when it cannot be one. Every id passes here before it becomes a part of a path. */
export function requireId(id: string, what: string): string {
  const problem = idProblem(id);
  if (problem)
    throw new InputError('id/illegal', `The ${what} id ${JSON.stringify(id.slice(0, 60))} ${problem}.`, {
      hint: id.startsWith('@') && what === 'plan' ? 'The latest plan is @last.' : undefined,
    });
  return id;
}

/** The first hexadecimal digits of a text's hash. */
export function digest(data: string | Uint8Array, digits = 16): string {
  return createHash('sha256').update(data).digest('hex').slice(0, digits);
}

/** Names one ticket of one plan. */
export interface TicketRef {
  planId: string;
  ticketId: string;
}

/** Names a plan (`ticketId` is null) or one of its tickets. */
export interface StateRef {
  planId: string;
  ticketId: string | null;
}

/** What changed. `unknown`: everything has to be read again. A new or deleted plan counts as a change of the plan. */
export type Changed = readonly StateRef[] | 'unknown';

export function refKey(ref: TicketRef): string {
  return `${ref.planId}/${ref.ticketId}`;
}

/** The branch of a ticket that names none. */
export function defaultBranch(ref: TicketRef): string {
  return `ticket/${ref.planId}/${ref.ticketId}`;
}

/** Reads `ticket` (same plan) or `plan/ticket` as written in blockedBy. */
export function parseRef(text: string, planId: string): TicketRef {
  const slash = text.indexOf('/');
  if (slash < 0) return { planId, ticketId: text };
  return { planId: text.slice(0, slash), ticketId: text.slice(slash + 1) };
}

/** Says why a text cannot be a branch name, by git's own ref rules plus "no leading dash". */
export function branchProblem(name: string): string | undefined {
  if (name.length === 0) return 'is empty';
  // Each part becomes a file name in .git, and file systems count bytes.
  if (new TextEncoder().encode(name).length > 200) return 'is longer than 200 bytes';
  if (name.startsWith('-')) return 'starts with "-"';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses control characters in refs
  if (/[\x00-\x20\x7f~^:?*[\\]/.test(name)) return 'contains a space or one of ~ ^ : ? * [ \\';
  if (name.includes('..') || name.includes('@{') || name.includes('//')) return 'contains "..", "@{" or "//"';
  if (name.startsWith('refs/')) return 'is a full ref name; leave out "refs/heads/"';
  if (name === '@' || name === 'HEAD' || name.startsWith('/') || name.endsWith('/') || name.endsWith('.'))
    return 'is not a branch name git accepts';
  if (name.split('/').some((part) => part.startsWith('.') || part.endsWith('.lock')))
    return 'has a part that starts with "." or ends in ".lock"';
  return undefined;
}

/** Makes a readable part of a branch or directory name out of any text; letters lose their accents. */
export function slug(text: string, max = 40): string {
  return (
    text
      .normalize('NFKD')
      .replace(/\p{M}+/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, max)
      .replace(/-+$/, '') || 'work'
  );
}

/** The same, cut behind a word unless that would lose more than half. */
export function slugOfWords(text: string, max = 40): string {
  const whole = slug(text, Number.POSITIVE_INFINITY);
  if (whole.length <= max) return whole;
  const end = whole.lastIndexOf('-', max);
  return end > max / 2 ? whole.slice(0, end) : slug(text, max);
}

/** The branch that finished work is merged into while the base itself is checked out. */
export const integrationBranch = (base: string) => `signalbox/${base}`;

/** The branches that work is merged into; null where there is none, or none is known. */
export interface Trunks {
  /** `main` or `origin/main`. */
  base: string | null;
  /** The repository's default branch. */
  trunk: string | null;
}

/** Why a ticket must not work on this branch: its commits would be merged without a check. */
export function ownBranchProblem(branch: string, { base, trunk }: Trunks): string | undefined {
  const name = base?.replace(/^origin\//, '');
  if (branch === base || branch === name) return 'is the base that its work is merged into';
  if (branch === trunk) return "is the repository's default branch";
  const gathers = [name, trunk].find((each) => each && branch === integrationBranch(each));
  return gathers ? `is where finished work for ${gathers} is gathered` : undefined;
}

/** The names above a branch: git keeps a branch as a file, so `x` and `x/y` cannot both be there. */
export function namesAbove(branch: string): string[] {
  const parts = branch.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** True when git can have only one of the two branches. */
export function cannotCoexist(a: string, b: string): boolean {
  return a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

export function refOf(ticket: TicketRef): TicketRef {
  return { planId: ticket.planId, ticketId: ticket.ticketId };
}

/** Where the page of `signalbox web` shows a plan or ticket; `publicUrl` is the setting of that name. */
export function pageAddress(publicUrl: string, planId: string, ticketId: string | null): string {
  const plan = `${publicUrl.replace(/\/+$/, '')}/plans/${encodeURIComponent(planId)}`;
  return ticketId === null ? plan : `${plan}/tickets/${encodeURIComponent(ticketId)}`;
}
