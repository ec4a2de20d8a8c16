import { dirname } from 'node:path';
import { asRecord, parseJson } from '../../model/text/json.ts';
import { makeDirectory } from './make-writable-directory.ts';
import { readOrEmpty } from './read-and-remove-files.ts';
import { writeAtomic } from './write-atomic.ts';

/** What a small file of facts by name holds; nothing while it does not exist. */
export function readFacts(file: string): Record<string, unknown> {
  return asRecord(parseJson(readOrEmpty(file)));
}

/** Sets one fact and leaves the others, of which only the newest `most` stay. */
export function noteFact(file: string, key: string, value: object, most = Number.POSITIVE_INFINITY): void {
  makeDirectory(dirname(file));
  const { [key]: _, ...others } = readFacts(file);
  const all = [...Object.entries(others), [key, value]].slice(-most);
  writeAtomic(file, `${JSON.stringify(Object.fromEntries(all), null, 1)}\n`);
}
