import { join } from 'node:path';
import { asRecord, asText } from '../model/text/json.ts';
import { noteFact, readFacts } from './facts-file.ts';
import type { RepositoryName } from './gh/repository-name.ts';

/** Which repository an address stands for that does not tell by itself, kept for all processes in one file. */
export class KnownRepositories {
  readonly #file: string;

  constructor(stateDir: string) {
    this.#file = join(stateDir, 'forge', 'repositories.json');
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
