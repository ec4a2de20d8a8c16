import { existsSync } from 'node:fs';
import type { Env } from '../../machine/paths-and-user-home.ts';
import { type ProgramResult, type RunEnd, type RunOptions, run } from '../../machine/run-process.ts';
import { orError, SignalboxError, type SignalboxErrorOptions } from '../../model/errors.ts';
import { capital, cleanLine } from '../../model/text/clean-escape-quote-plural.ts';
import { GITHUB, type RepositoryName, repositoryText } from './repository-name.ts';

export type GhFailure =
  | 'missing'
  | 'auth'
  | 'not-found'
  | 'forbidden'
  | 'rate-limited'
  | 'network'
  | 'timeout'
  | 'server'
  | 'unknown';

/** A call of the GitHub CLI that gave no answer; `code` is `gh/<failure>`. */
export class GhError extends SignalboxError {
  readonly failure: GhFailure;
  readonly resetAt: string | null;

  /** `resetAt`: when a rate limit ends (ISO time). */
  constructor(
    failure: GhFailure,
    message: string,
    options: SignalboxErrorOptions & { resetAt?: string | undefined } = {},
  ) {
    const { resetAt, details, ...rest } = options;
    super(`gh/${failure}`, message, { ...rest, details: { ...details, ...(resetAt ? { resetAt } : {}) } });
    this.failure = failure;
    this.resetAt = resetAt ?? null;
  }
}

export interface GhOptions extends Pick<RunOptions, 'signal'> {
  cwd: string;
  env: Env;
  timeoutMs?: number | undefined;
  /** The GitHub CLI: a name on PATH or a path. */
  gh: string;
}

/** Keeps gh from asking, colouring, paging and printing debug lines. */
const QUIET = {
  GH_PROMPT_DISABLED: '1',
  GH_NO_UPDATE_NOTIFIER: '1',
  GH_DEBUG: '',
  GH_FORCE_TTY: '',
  GH_PAGER: 'cat',
  NO_COLOR: '1',
  CLICOLOR_FORCE: '0',
};

/** Runs gh to its end, whatever its exit code; throws a GhError when it could not be run or did not end in time. */
export async function runGh(args: readonly string[], options: GhOptions): Promise<ProgramResult> {
  const end = await run(options.gh, args, { ...options, env: { ...options.env, ...QUIET } });
  if (end.stopped === 'abort') options.signal?.throwIfAborted();
  const { code, stdout, stderr } = end;
  if (code === null) throw notRun(end, options);
  return { code, stdout, stderr };
}

/** Throws a GhError where gh cannot be run or has no login for the host. Asks no server. */
export async function requireLogin(host: string, options: GhOptions): Promise<void> {
  const result = await runGh(['auth', 'token', '--hostname', host], options);
  // Before 2.17 there is no such command: then it is unknown.
  if (result.code === 0 || /unknown command/i.test(result.stderr)) return;
  const isLoggedOut = /no oauth token|not logged in/i.test(result.stderr);
  throw ghFailure(isLoggedOut ? { ...result, code: LOGGED_OUT } : result, { host, what: 'its login' });
}

/** For calls that change something or read a lot. */
const SLOW_MS = 60_000;

export function runSlowGh(args: readonly string[], options: GhOptions): Promise<ProgramResult> {
  return runGh(args, { timeoutMs: SLOW_MS, ...options });
}

/** The same for a change that is verified afterwards: a call without an answer may have had an effect. */
export function trySlowGh(args: readonly string[], options: GhOptions): Promise<ProgramResult | GhError> {
  return orError(GhError, () => runSlowGh(args, options));
}

function notRun({ error, stopped }: RunEnd, { gh, cwd, timeoutMs }: GhOptions): GhError {
  if (stopped === 'timeout') {
    const seconds = Math.round((timeoutMs ?? 30_000) / 100) / 10;
    return new GhError('timeout', `The GitHub CLI (${gh}) gave no answer in ${seconds} s.`, {
      hint: 'Check the network and try again; `gh api rate_limit` shows whether GitHub answers.',
    });
  }
  if (stopped === 'output')
    return new GhError('unknown', `The GitHub CLI (${gh}) printed more than can be read at once.`, {
      hint: 'Ask for fewer issues at once.',
    });
  if (error?.code === 'ENOENT' && existsSync(cwd))
    return new GhError('missing', `The GitHub CLI (${gh}) is not installed or not on PATH.`, {
      hint: 'Install it from https://cli.github.com and run `gh auth login`, or set ghCommand to where it is. Markdown files need no GitHub.',
      cause: error,
    });
  const why = error?.code === 'ENOENT' ? `${cwd} does not exist` : (error?.message ?? 'it was killed');
  return new GhError('missing', `The GitHub CLI (${gh}) cannot be started: ${why}.`, {
    hint: 'Check ghCommand in the settings and the permissions of that file.',
    cause: error,
  });
}

/** Takes apart what `gh api --include` prints. The status is 0 without a status line; names of headers are in lower case. */
export function splitAnswer(stdout: string) {
  const headers = new Map<string, string>();
  const status = /^HTTP\/[\d.]+ (\d{3})/.exec(stdout)?.[1];
  if (status === undefined) return { status: 0, headers, body: stdout };
  let at = stdout.indexOf('\n') + 1;
  while (at > 0) {
    const end = stdout.indexOf('\n', at);
    if (end < 0) return { status: Number(status), headers, body: '' };
    const line = stdout.slice(at, end).trim();
    at = end + 1;
    if (line === '') break;
    const colon = line.indexOf(':');
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { status: Number(status), headers, body: at > 0 ? stdout.slice(at) : '' };
}

export interface FailureContext {
  host?: string;
  /** What was asked for, as in "#12 of owner/repo". */
  what?: string;
  answer?: ReturnType<typeof splitAnswer>;
  /** Message and type out of a GraphQL answer, which say more than what gh prints. */
  message?: string | undefined;
  type?: string | undefined;
}

/** Types of GraphQL errors, which need no reading of prose. */
const TYPES: Record<string, GhFailure> = {
  RATE_LIMITED: 'rate-limited',
  NOT_FOUND: 'not-found',
  FORBIDDEN: 'forbidden',
  INSUFFICIENT_SCOPES: 'forbidden',
};
const AUTH =
  /gh auth login|not logged in|bad credentials|requires authentication|authentication token|HTTP 401|401 Unauthorized/i;
const RATE = /rate limit|abuse detection|HTTP 429/i;
const NETWORK =
  /error connecting to|check your internet connection|no such host|connection refused|connection reset|network is unreachable|i\/o timeout|TLS handshake|context deadline exceeded|dial tcp|proxyconnect|\bEOF\b|certificate/i;
const FORBIDDEN =
  /SAML|not accessible by|must have admin|resource protected|insufficient|required scopes?|forbidden|HTTP 403/i;
const NOT_FOUND = /could not resolve to|HTTP 404|not found/i;
const SERVER = /HTTP 5\d\d|something went wrong|bad gateway|timedout/i;

/** The exit code of gh where it needs a login. */
const LOGGED_OUT = 4;

/** What kind of failure it is: by type, by status, and only then by what gh says. */
function kindOf(result: ProgramResult, { type, message, answer }: FailureContext): GhFailure {
  const typed = TYPES[type ?? ''];
  if (typed) return typed;
  // Names in quotes are the user's: a repository called saml-login is no refusal.
  const prose = `${message ?? ''} ${result.stderr.slice(0, 10_000)}`.replace(/'[^'\n]*'/g, '');
  const status = answer?.status ?? 0;
  const spent = (status === 403 || status === 429) && answer?.headers.get('x-ratelimit-remaining') === '0';
  if (spent || status === 429 || RATE.test(prose)) return 'rate-limited';
  if (status === 401 || result.code === LOGGED_OUT || AUTH.test(prose)) return 'auth';
  if (status === 0 && NETWORK.test(prose)) return 'network';
  if (status === 403 || FORBIDDEN.test(prose)) return 'forbidden';
  if (status === 404 || NOT_FOUND.test(prose)) return 'not-found';
  return status >= 500 || SERVER.test(prose) ? 'server' : 'unknown';
}

/** Says in one sentence why GitHub gave no answer, and what to do about it. */
export function ghFailure(result: ProgramResult, context: FailureContext = {}): GhError {
  const failure = kindOf(result, context);
  const host = context.host ?? GITHUB;
  const said = (context.message && cleanLine(context.message)) || firstLine(result.stderr);
  const resetAt = failure === 'rate-limited' ? resetTime(context) : undefined;
  const [message, hint] = sentence(failure, {
    host,
    what: context.what ?? 'what was asked for',
    said: said || `exit code ${result.code}`,
    resetAt,
  });
  const details = { host, status: context.answer?.status ?? 0, exitCode: result.code, said };
  return new GhError(failure, message, { hint, resetAt, details });
}

type Facts = Record<'host' | 'what' | 'said', string> & { resetAt: string | undefined };

function sentence(failure: GhFailure, { host, what, said, resetAt }: Facts): [message: string, hint: string] {
  const variable = host === GITHUB || host.endsWith('.ghe.com') ? 'GH_TOKEN' : 'GH_ENTERPRISE_TOKEN';
  const login = host === GITHUB ? 'gh auth login' : `gh auth login --hostname ${host}`;
  switch (failure) {
    case 'rate-limited':
      return [
        `GitHub (${host}) accepts no more requests${resetAt ? ` until ${resetAt}` : ' for now'}: rate limit.`,
        resetAt ? `Try again after ${resetAt}.` : 'Try again later; `gh api rate_limit` says when.',
      ];
    case 'auth':
      return [
        `The GitHub CLI is not logged in to ${host}, or its token is no longer valid.`,
        `Run \`${login}\`, or set ${variable}; \`gh auth status\` shows what is in use.`,
      ];
    case 'forbidden':
      return [
        `GitHub refuses access to ${what}: ${said}`,
        'Ask for access, authorise the token for the organisation (SSO), or run `gh auth refresh -s repo`.',
      ];
    case 'not-found':
      return [
        `${capital(what)} does not exist, or you have no access to it.`,
        'Check the number and the repository; `gh auth status` shows whose access is used.',
      ];
    case 'network':
      return [
        `GitHub (${host}) cannot be reached: ${said}`,
        'Check the network, proxy and VPN, or https://githubstatus.com.',
      ];
    case 'server':
      return [
        `GitHub (${host}) failed to answer: ${said}`,
        'Try again in a moment; https://githubstatus.com shows outages.',
      ];
    default:
      return [
        `The GitHub CLI could not fetch ${what}: ${said}`,
        'Run `gh issue view` with the same number to see more.',
      ];
  }
}

/** From Retry-After, counted from the answer's own date, else from the time the limit's window ends. */
function resetTime({ answer }: FailureContext): string | undefined {
  const after = Number(answer?.headers.get('retry-after') ?? Number.NaN);
  if (Number.isFinite(after)) {
    const sent = Date.parse(answer?.headers.get('date') ?? '');
    const start = Number.isNaN(sent) ? Date.now() : sent;
    return iso(start + after * 1000);
  }
  const epoch = Number(answer?.headers.get('x-ratelimit-reset') ?? Number.NaN);
  return Number.isFinite(epoch) ? iso(epoch * 1000) : undefined;
}

function iso(time: number): string | undefined {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function firstLine(text: string): string {
  const line = text.split('\n').find((each) => each.trim() !== '') ?? '';
  return cleanLine(line.slice(0, 2_000).replace(/^(gh|GraphQL): /, ''));
}

/** A failed call: a known trouble in its own words, else what gh was to do (`could not list …`) and what it said. */
export function ghProblem(result: ProgramResult, repository: RepositoryName, what: string): GhError {
  const known = ghFailure(result, { host: repository.host, what: repositoryText(repository) });
  if (known.failure !== 'unknown') return known;
  const message = `The GitHub CLI ${what}: ${String(known.details.said || 'it said nothing.')}`;
  const hint = 'Run `gh pr status` in the repository to see what GitHub knows.';
  return new GhError('unknown', message, { hint, details: known.details });
}
