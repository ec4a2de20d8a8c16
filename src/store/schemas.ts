import { safeParsePlan } from '../model/plan-schema.ts';
import { ticketSchemaFor } from '../model/ticket-schema.ts';
import { useSchemas } from './state-reader.ts';

/** Importing this gives the store its schemas. Commands that only read do without them until a file is not plain. */
useSchemas({ plan: safeParsePlan, ticket: (data) => ticketSchemaFor(data).safeParse(data) });
