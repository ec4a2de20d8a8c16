import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { asRecord, asText, parseJson } from '../sources/json.ts';
import type { RepositoryName } from '../sources/repository-name.ts';
import { writeAtomic } from '../store/atomic.ts';

/** Which repository an address stands for that does not tell by itself, kept for all processes in one file. */
export class KnownRepositories {
  readonly #file: string;

  constructor(stateDir: string) {
    this.#file = join(stateDir, 'forge', 'repositories.json');
  }

  get(address: string): RepositoryName | undefined {
    const { host, owner, name } = asRecord(this.#read()[address]);
    const known = { host: asText(host), owner: asText(owner), name: asText(name) };
    return Object.values(known).includes('') ? undefined : known;
  }

  set(address: string, repository: RepositoryName): void {
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    writeAtomic(this.#file, `${JSON.stringify({ ...this.#read(), [address]: repository }, null, 1)}\n`);
  }

  #read(): Record<string, unknown> {
    try {
      return asRecord(parseJson(readFileSync(this.#file, 'utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw error;
    }
  }
}
