import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  GITHUB,
  HOST,
  isOtherForge,
  MAX_NUMBER,
  NAME,
  OWNER,
  parseRepository,
  type RepositoryName,
  repositoryName,
} from '../github/gh/repository-name.ts';
import { InputError } from '../model/errors.ts';
import { quoted } from '../model/text/clean-escape-quote-plural.ts';

/** A mention of an issue; without a repository, the issue is in the repository of the text. */
export interface IssueMention {
  repository: RepositoryName | null;
  number: number;
}

/** `#12`, `owner/repo#12`, `host/owner/repo#12`; the source of a pattern with four groups. */
const SHORT = `(?:(?:(${HOST})/)?(${OWNER})/(${NAME}))?#(\\d+)(?![\\w.]*\\w)`;
const ADDRESS = `https?://([A-Za-z0-9.-]+(?::\\d{1,5})?)/(${OWNER})/(${NAME})/(issues|pull)/(\\d+)(?:[/?#][^\\s)>\\]]*)?`;

const SHORT_HERE = new RegExp(SHORT, 'y');
const ADDRESS_HERE = new RegExp(ADDRESS, 'iy');

/**
 * Reads an issue written at this place of a text. `host` is that of `owner/repo#12` without one. `pull` is true for the address of
 * a pull request, and `end` the index of the text behind it.
 */
export function readIssue(text: string, at: number, host = GITHUB) {
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

export interface GithubReference {
  kind: 'github';
  text: string;
  host?: string | undefined;
  /** Missing together with `repo` when the number alone was given. */
  owner?: string | undefined;
  repo?: string | undefined;
  number: number;
}

export interface LinearReference {
  kind: 'linear';
  text: string;
  key: string;
}

export interface MarkdownReference {
  kind: 'markdown';
  text: string;
  path: string;
}

/** A directory: a spec. */
export interface SpecReference {
  kind: 'spec';
  text: string;
  path: string;
}

export type Reference = GithubReference | LinearReference | MarkdownReference | SpecReference;

const FORMS =
  'Name an issue as 12, #12, owner/repo#12, https://github.com/owner/repo/issues/12 or ENG-12 (Linear), or a Markdown file as path/to/issue.md.';

const MARKDOWN = /\.(md|markdown)$/i;

/** Reads what a person typed as work to do; throws an InputError that says what is wrong with it. */
export function parseReference(input: string, { cwd }: { cwd: string }): Reference {
  const text = input.trim();
  if (text === '') throw refuse('An issue reference is empty.');
  return fromNumber(text) ?? fromIssue(text) ?? fromLinear(text) ?? fromPath(text, cwd);
}

function fromNumber(text: string): GithubReference | undefined {
  if (!/^#?[-+]?[\d.,]+(e\d+)?$/i.test(text) || !/\d/.test(text)) return undefined;
  const number = issueNumber(text.replace(/^#/, ''));
  if (number === undefined) throw badNumber(text);
  return { kind: 'github', text, number };
}

function fromIssue(text: string): GithubReference | undefined {
  // The host of `owner/repo#12` is settled by the source, which knows where gh goes by default.
  const read = readIssue(text, 0, '');
  if (!read || read.end !== text.length) {
    if (/^[^\s#]+\/[^\s#]+#/.test(text) && !MARKDOWN.test(text) && !text.includes('://'))
      throw badNumber(text);
    return undefined;
  }
  if (read.pull) throw refuse(`${quoted(text)} is a pull request; an issue is wanted.`);
  const { repository, number } = read.mention;
  if (isOtherForge(repository?.host))
    throw refuse(`${quoted(text)} is not on GitHub; issues of ${repository?.host} cannot be read.`);
  const { host, owner, name } = repository ?? {};
  return { kind: 'github', text, number, owner, repo: name, ...(host ? { host } : {}) };
}

function fromLinear(text: string): LinearReference | undefined {
  const key = readLinear(text);
  return key === undefined ? undefined : { kind: 'linear', text, key };
}

function fromPath(text: string, cwd: string): MarkdownReference | SpecReference {
  if (/^[a-z][a-z+.-]*:\/\//i.test(text)) throw refuse(`${quoted(text)} is not the address of an issue.`);
  if (text.includes('\0')) throw refuse(`${quoted(text)} is not a path.`);
  const path = resolve(cwd, text);
  const stats = statsOf(path, text);
  const markdown = MARKDOWN.test(text);
  if (!stats) throw markdown ? refuse(`There is no file ${path}.`, 'Check the path.') : notAReference(text);
  if (stats.isDirectory()) return { kind: 'spec', text, path };
  if (!markdown || !stats.isFile()) throw refuse(`${path} is not a Markdown file; its name must end in .md.`);
  try {
    accessSync(path, constants.R_OK);
  } catch (cause) {
    throw refuse(`${path} cannot be read.`, `Check its permissions: ls -l ${path}`, cause);
  }
  return { kind: 'markdown', text, path };
}

function statsOf(path: string, text: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return undefined;
    throw refuse(`${quoted(text)} cannot be read (${code ?? 'unknown error'}).`, 'Check the path.', error);
  }
}

function badNumber(text: string): InputError {
  const digits = text.slice(text.lastIndexOf('#') + 1);
  const why = /^0+$/.test(digits) ? 'they start at 1' : 'it must be a positive whole number such as 12';
  return refuse(`${quoted(text)} is not an issue number: ${why}.`);
}

function notAReference(text: string): InputError {
  const key = readLinear(text.toUpperCase());
  if (key !== undefined)
    return refuse(`${quoted(text)} is not an issue reference. Did you mean ${quoted(key)}?`);
  if (parseRepository(text) !== undefined)
    return refuse(`${quoted(text)} is neither a directory nor an issue; an issue number is missing.`);
  return refuse(`${quoted(text)} is not an issue reference.`);
}

function refuse(message: string, hint = FORMS, cause?: unknown): InputError {
  return new InputError('source/reference', message, { hint, cause });
}

const NUMBER_KEY = 'number:';

/** The key of an issue that only has a number, whatever its repository. */
export function numberKey(number: number): string {
  return `${NUMBER_KEY}${number}`;
}

/** The number in such a key; undefined for all other keys. */
export function numberOfKey(key: string): number | undefined {
  return key.startsWith(NUMBER_KEY) ? Number(key.slice(NUMBER_KEY.length)) : undefined;
}

/** The reference of a key, to fetch a dependency that was not asked for; null for ids of Markdown files. */
export function referenceFromKey(key: string): Reference | null {
  const colon = key.indexOf(':');
  const [kind, rest] = [key.slice(0, colon), key.slice(colon + 1)];
  if (kind === 'linear') return { kind, text: rest, key: rest };
  const number = numberOfKey(key);
  if (number !== undefined) return { kind: 'github', text: rest, number };
  if (kind === 'markdown') return rest.startsWith('/') ? { kind, text: rest, path: rest } : null;
  if (kind !== 'github') return null;
  const read = readIssue(rest, 0);
  if (!read?.mention.repository) return null;
  const { host, owner, name } = read.mention.repository;
  return { kind, text: rest, host, owner, repo: name, number: read.mention.number };
}
