import { issueSentence } from '../config/describe-schema-problems.ts';
import { safeParsePlan } from '../model/plan-schema.ts';
import { ticketSchemaFor } from '../model/ticket-schema.ts';
import { FileStore } from './file-store.ts';
import { useSchemas } from './parse-and-cache-state-files.ts';
import type { Store, StoreOptions } from './store-interface.ts';

/** Opens the shared state. */
export function openStore(stateDir: string, options: StoreOptions = {}): Store {
  return new FileStore(stateDir, options);
}

// Loading this module gives the store its schemas. Commands that only read do without them until a file is not plain.
useSchemas({
  plan: safeParsePlan,
  ticket: (data) => ticketSchemaFor(data).safeParse(data),
  explain: issueSentence,
});
