import { z } from 'zod';
import { settingsJsonSchema } from '../config/describe.ts';
import { Plan } from '../model/plan-schema.ts';
import { Ticket } from '../model/ticket-schema.ts';
import { Workflow } from '../model/workflow.ts';

export type SchemaName = 'config' | 'plan' | 'ticket' | 'workflow';

/** JSON Schemas of the files people and planners write, as they may write them. */
export function jsonSchemas(): Record<SchemaName, Record<string, unknown>> {
  const workflow = schemaOf(Workflow, 'Signalbox workflow');
  // Without a name the file's own counts.
  workflow.required = (workflow.required as string[]).filter((key) => key !== 'name');
  return {
    config: settingsJsonSchema(),
    plan: schemaOf(Plan, 'Signalbox plan'),
    ticket: schemaOf(Ticket, 'Signalbox ticket'),
    workflow,
  };
}

function schemaOf(type: z.ZodType, title: string): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(type, {
    io: 'input',
    override: ({ jsonSchema }) => dropLimits(jsonSchema),
  });
  return { $schema, title, ...schema };
}

/** The bounds of safe whole numbers say nothing to a person. */
function dropLimits(schema: { minimum?: number; maximum?: number }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}
