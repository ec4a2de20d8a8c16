import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { noteFact, readFacts } from '../machine/files/write-atomic-and-note-facts.ts';
import { run } from '../machine/run-process.ts';
import { InputError } from '../model/errors.ts';
import { parseJson } from '../model/text/parse-json-and-find-places.ts';
import { asRecord, asText } from '../model/text/values-of-unknown-type.ts';
import type { RepositoryName } from './gh/repository-name.ts';
import { GITHUB, isOtherForge, parseRemote, parseRepository } from './gh/repository-name.ts';
import { type GhOptions, ghFailure, runGh } from './gh/run-gh.ts';

const HINT = 'Write owner/repo#12 instead of the number, or name Markdown files, which need no GitHub.';

/**
 * The repository that a plain number means: $GH_REPO, what `gh repo set-default` recorded, or origin. gh itself is
 * only asked when the remotes do not name one, and once for an address where `memory` is given.
 */
export async function ownRepository(options: GhOptions, memory?: Memory): Promise<RepositoryName> {
  const given = options.env.GH_REPO;
  if (given) {
    const repository = parseRepository(given, defaultHost(options));
    if (repository) return repository;
    throw unknown(`GH_REPO is ${JSON.stringify(given.slice(0, 80))}, which is not [host/]owner/repo.`);
  }
  const remotes = await readRemotes(options);
  if (!remotes)
    throw unknown(`${options.cwd} is not in a git repository, so a plain issue number is not enough.`);
  const local = remotes.resolved ?? parseRemote(remotes.origin ?? '');
  if (!local?.host.includes('.')) {
    const address = remotes.origin ?? options.cwd;
    const known = memory?.get(address) ?? (await askGh(options, remotes.origin));
    memory?.set(address, known);
    return known;
  }
  if (isOtherForge(local.host)) throw unknown(`The remote origin is on ${local.host}, which is not GitHub.`);
  return local;
}

/** The host of `owner/repo` without one. */
export function defaultHost({ env }: Pick<GhOptions, 'env'>): string {
  return env.GH_HOST || GITHUB;
}

/** Undefined outside a git repository. Read through git, which knows worktrees, includes and insteadOf. */
async function readRemotes(options: GhOptions) {
  const { cwd, env, signal } = options;
  const git = (...args: string[]) => run('git', args, { cwd, env, signal, timeoutMs: 10_000 });
  const [list, config] = await Promise.all([
    git('remote', '-v'),
    git('config', '--get-regexp', '^remote\\..+\\.gh-resolved$'),
  ]);
  if (list.stopped === 'abort') signal?.throwIfAborted();
  if (list.error?.code === 'ENOENT' && existsSync(cwd)) throw unknown('git is not installed or not on PATH.');
  if (list.code !== 0) return undefined;
  const urls = new Map<string, string>();
  for (const line of list.stdout.split('\n')) {
    const [, name, url] = /^(\S+)\t(.+) \(fetch\)/.exec(line) ?? [];
    if (name !== undefined && url !== undefined) urls.set(name, url);
  }
  const [, remote = '', value = ''] = /^remote\.(.+)\.gh-resolved (.+)$/m.exec(config.stdout) ?? [];
  const at = parseRemote(urls.get(remote) ?? '');
  const resolved = value === 'base' ? at : parseRepository(value, at?.host ?? defaultHost(options));
  return { origin: urls.get('origin') ?? [...urls.values()][0], resolved };
}

async function askGh(options: GhOptions, origin: string | undefined): Promise<RepositoryName> {
  const none = unknown(`${options.cwd} has no remote on GitHub, so a plain issue number is not enough.`);
  // Without any remote, neither gh nor a login would help.
  if (origin === undefined) throw none;
  const result = await runGh(['repo', 'view', '--json', 'nameWithOwner,url'], options);
  if (result.code === 0) {
    const { nameWithOwner, url } = asRecord(parseJson(result.stdout));
    const fromUrl = typeof url === 'string' ? parseRemote(url) : undefined;
    const name =
      typeof nameWithOwner === 'string' ? parseRepository(nameWithOwner, fromUrl?.host) : undefined;
    if (name) return name;
  }
  const failure = ghFailure(result, { what: 'the repository of this directory' });
  throw failure.failure === 'unknown' || failure.failure === 'not-found' ? none : failure;
}

function unknown(message: string): InputError {
  return new InputError('source/no-repository', message, { hint: HINT });
}

type Memory = Pick<KnownRepositories, 'get' | 'set'>;

/** Takes addresses that do not say it themselves for GitHub's, so that gh asks no network. */
export const UNASKED: Memory = {
  get: () => ({ host: GITHUB, owner: '', name: '' }),
  set: () => undefined,
};

/** The repositories of addresses that do not say it themselves, kept for all processes in one file. */
export class KnownRepositories {
  readonly #file: string;

  constructor(cacheDir: string) {
    this.#file = join(cacheDir, 'repositories.json');
  }

  get(address: string): RepositoryName | undefined {
    const { host, owner, name } = asRecord(readFacts(this.#file)[address]);
    const known = { host: asText(host), owner: asText(owner), name: asText(name) };
    return Object.values(known).includes('') ? undefined : known;
  }

  set(address: string, repository: RepositoryName): void {
    noteFact(this.#file, address, repository);
  }
}
