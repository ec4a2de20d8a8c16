import { z } from 'zod';
import { settingsJsonSchema } from '../config/describe-settings.ts';
import { Plan, PlanBase } from '../model/plan-schema.ts';
import { Ticket, TicketBase } from '../model/ticket-schema.ts';
import { Workflow } from '../model/workflow.ts';

type SchemaName = 'config' | 'plan' | 'ticket' | 'workflow';

/** JSON Schemas of the files people and planners write, as they may write them. */
export function jsonSchemas(): Record<SchemaName, Record<string, unknown>> {
  const workflow = schemaOf(Workflow, 'Signalbox workflow');
  // Without a name the file's own counts.
  workflow.required = (workflow.required as string[]).filter((key) => key !== 'name');
  return {
    config: settingsJsonSchema(),
    plan: unionOf(PlanBase, Plan.options, 'Signalbox plan'),
    ticket: unionOf(TicketBase, Ticket.options, 'Signalbox ticket'),
    workflow,
  };
}

/** The fields that all members have, and beside them a list with those that each of the members adds. */
function unionOf(base: z.ZodObject, members: readonly z.ZodObject[], title: string): Record<string, unknown> {
  const common = schemaOf(base, title);
  const defs = { ...(common.$defs as object | undefined) };
  const anyOf = members.map((member) => {
    const {
      properties,
      required = [],
      $defs = {},
    } = schemaOf(member, title) as z.core.JSONSchema.ObjectSchema;
    Object.assign(defs, $defs);
    const isOwn = (key: string) => !(key in base.shape);
    const own = Object.entries(properties ?? {}).filter(([key]) => isOwn(key));
    return { properties: Object.fromEntries(own), required: required.filter(isOwn) };
  });
  return { ...common, $defs: defs, anyOf };
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
