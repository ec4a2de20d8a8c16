import { dirname, join } from 'node:path';
import { writeAtomic } from '../machine/files/atomic.ts';
import { makeDirectory } from '../machine/files/directory.ts';
import { readOrEmpty } from '../machine/files/text-file.ts';
import { asRecord, asText, parseJson } from '../model/text/json.ts';
import type { RepositoryName } from './gh/repository-name.ts';

/** What a small file of facts about GitHub holds; nothing while it does not exist. */
export function readFacts(file: string): Record<string, unknown> {
  return asRecord(parseJson(readOrEmpty(file)));
}

/** Sets one fact and leaves the others. */
export function noteFact(file: string, key: string, value: object): void {
  makeDirectory(dirname(file));
  writeAtomic(file, `${JSON.stringify({ ...readFacts(file), [key]: value }, null, 1)}\n`);
}

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
