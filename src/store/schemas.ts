import { Plan } from '../model/plan-schema.ts';
import { Ticket } from '../model/ticket-schema.ts';
import { useSchemas } from './read.ts';

/** Importing this gives the store its schemas. Whoever only looks does without them until a file is not plain. */
useSchemas({ plan: Plan, ticket: Ticket });
