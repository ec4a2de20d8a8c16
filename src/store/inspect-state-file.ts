import { issueSentence, keyPath } from '../config/describe-schema-problems.ts';
import { InputError, messageOf } from '../model/errors.ts';
import type { StateRef } from '../model/ids-and-branch-names.ts';
import { PlanBase, PlanEntry, planSchemaFor } from '../model/plan-schema.ts';
import { nearest } from '../model/text/nearest-word.ts';
import { isTooDeep, placeInJson, TOO_DEEP } from '../model/text/parse-json-and-find-places.ts';
import { asRecord } from '../model/text/values-of-unknown-type.ts';
import { TicketBase, ticketSchemaFor } from '../model/ticket-schema.ts';
import { notJson, unknownKind } from './parse-and-cache-state-files.ts';
import type { Store } from './store-interface.ts';

interface FileIssue {
  /** `tickets[2].order`; null for the file as a whole. */
  path: string | null;
  message: string;
  severity: 'error' | 'warning';
  at?: { line: number; column: number };
}

const SCHEMAS = { plan: planSchemaFor, ticket: ticketSchemaFor };
const FIELDS = { plan: Object.keys(PlanBase.shape), ticket: Object.keys(TicketBase.shape) };
const ENTRY_FIELDS = Object.keys(PlanEntry.shape);

/** Everything in a state file that does not fit its schema, and fields whose names are probably misspelt. */
export function inspectState(store: Pick<Store, 'text'>, ref: StateRef): FileIssue[] {
  const kind = ref.ticketId === null ? 'plan' : 'ticket';
  const fail = (message: string): FileIssue[] => [{ path: null, message, severity: 'error' }];
  let data: unknown;
  let text = '';
  try {
    text = store.text(ref);
    if (text.trim() === '') return fail('the file is empty');
    if (isTooDeep(text)) return fail(`the file is ${TOO_DEEP}`);
    data = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError)
      return fail(notJson(error)).map((issue) => ({ ...issue, at: placeInJson(text) }));
    const isMissing = error instanceof InputError && error.code === 'state/missing';
    return fail(isMissing ? 'the file is missing' : messageOf(error));
  }
  const schema = SCHEMAS[kind](data);
  if (!schema) return fail(unknownKind(String(asRecord(data).kind)));
  const issues = (schema.safeParse(data).error?.issues ?? []).map(
    (issue): FileIssue => ({
      path: keyPath(issue.path) || null,
      message: issueSentence(issue, data),
      severity: 'error',
      at: placeInJson(text, issue.path),
    }),
  );
  return [...issues, ...misspeltFields(data, FIELDS[kind], []), ...(kind === 'plan' ? entrySlips(data) : [])];
}

function entrySlips(data: unknown): FileIssue[] {
  const { tickets } = Object(data) as { tickets?: unknown };
  if (!Array.isArray(tickets)) return [];
  return tickets.flatMap((entry: unknown, index) => misspeltFields(entry, ENTRY_FIELDS, ['tickets', index]));
}

/** Files that Signalbox wrote have all fields, most of them empty. */
function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** Finds unknown fields whose names are close to a known one that says nothing. Other unknown fields are allowed. */
function misspeltFields(data: unknown, known: readonly string[], at: PropertyKey[]): FileIssue[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return [];
  return Object.keys(data).flatMap((name): FileIssue[] => {
    const near = known.includes(name) ? undefined : nearest(name, [...known]);
    if (near === undefined || isSet(asRecord(data)[near])) return [];
    const message = `There is no field "${name}"; did you mean "${near}"?`;
    return [{ path: keyPath([...at, name]), message, severity: 'warning' }];
  });
}
