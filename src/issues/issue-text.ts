import {
  GITHUB,
  HOST,
  MAX_NUMBER,
  NAME,
  OWNER,
  type RepositoryName,
  repositoryName,
} from '../github/gh/repository-name.ts';

/** An issue as written somewhere; without a repository it is one of the place it was written in. */
export interface IssueMention {
  repository: RepositoryName | null;
  number: number;
}

/** `#12`, `owner/repo#12`, `host/owner/repo#12`; the source of a pattern with four groups. */
const SHORT = `(?:(?:(${HOST})/)?(${OWNER})/(${NAME}))?#(\\d+)(?![\\w.]*\\w)`;
const ADDRESS = `https?://([A-Za-z0-9.-]+(?::\\d{1,5})?)/(${OWNER})/(${NAME})/(issues|pull)/(\\d+)(?:[/?#][^\\s)>\\]]*)?`;

const SHORT_HERE = new RegExp(SHORT, 'y');
const ADDRESS_HERE = new RegExp(ADDRESS, 'iy');

export interface Read {
  mention: IssueMention;
  /** True for the address of a pull request. */
  pull: boolean;
  /** Where the text goes on behind it. */
  end: number;
}

/** Reads an issue written at this place of a text. `host` is that of `owner/repo#12` without one. */
export function readIssue(text: string, at: number, host = GITHUB): Read | undefined {
  ADDRESS_HERE.lastIndex = at;
  const address = ADDRESS_HERE.exec(text);
  if (address) {
    const [, where = '', owner, name, kind, digits] = address;
    const mention = issueMention(repositoryName(where, owner, name), digits);
    return mention && { mention, pull: kind?.toLowerCase() === 'pull', end: ADDRESS_HERE.lastIndex };
  }
  SHORT_HERE.lastIndex = at;
  const short = SHORT_HERE.exec(text);
  if (!short) return undefined;
  const [, where, owner, name, digits] = short;
  const repository = owner === undefined ? null : repositoryName(where ?? host, owner, name);
  const mention = issueMention(repository, digits);
  return mention && { mention, pull: false, end: SHORT_HERE.lastIndex };
}

function issueMention(
  repository: RepositoryName | null | undefined,
  digits: string | undefined,
): IssueMention | undefined {
  const number = issueNumber(digits ?? '');
  return repository === undefined || number === undefined ? undefined : { repository, number };
}

/** A positive whole number without leading zeros, or undefined. */
export function issueNumber(digits: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(digits)) return undefined;
  const number = Number(digits);
  return number <= MAX_NUMBER ? number : undefined;
}

export const LINEAR_KEY = '[A-Z][A-Z0-9]{0,9}-[1-9]\\d{0,8}';
const LINEAR_ADDRESS = new RegExp(
  `^https?://linear\\.app/[^/\\s]+/issue/(${LINEAR_KEY})(?:[/?#]\\S*)?$`,
  'i',
);

/** `ENG-12` or the address of a Linear issue. */
export function readLinear(text: string): string | undefined {
  if (new RegExp(`^${LINEAR_KEY}$`).test(text)) return text;
  return LINEAR_ADDRESS.exec(text)?.[1]?.toUpperCase();
}
