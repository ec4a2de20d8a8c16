import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { writeAtomic } from '../machine/files/atomic.ts';
import { makeDirectory } from '../machine/files/directory.ts';
import { asRecord, parseJson } from '../model/text/json.ts';

/** What a small file of facts about the forge holds; nothing where there is none yet. */
export function readFacts(file: string): Record<string, unknown> {
  try {
    return asRecord(parseJson(readFileSync(file, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}

/** Sets one fact and leaves the others. */
export function noteFact(file: string, key: string, value: object): void {
  makeDirectory(dirname(file));
  writeAtomic(file, `${JSON.stringify({ ...readFacts(file), [key]: value }, null, 1)}\n`);
}
