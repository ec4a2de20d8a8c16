import { CHANNEL, QUEUE_SCHEMA, SCHEMA } from './schema.ts';

/** SQL for each of the three roles. */
export type Grants = Record<'worker' | 'person' | 'viewer', string[]>;

/** What a person writes: plans and what belongs to them. Output and sessions are the workers'. */
const BY_PEOPLE = ['plans', 'tickets', 'records', 'holders', 'roles', 'workers'];
const BY_WORKERS = [...BY_PEOPLE, 'output', 'sessions'];
/** Rows of what has happened are only added, and deleted with their plan. */
const ONLY_ADDED = ['events', 'notices', 'pins', 'commands'];
/** Of these, the database itself says when a row was added, and by which of its users. */
const ADDED_COLUMNS: Readonly<Record<string, string>> = {
  events: ' (plan_id, key, doc, person, machine)',
  commands: ' (person, machine, command, about)',
};
/** What workers need of pg-boss. It has statements in another table, which the owner would carry out. */
const QUEUE_TABLES = ['queue', 'job', 'job_common', 'job_dependency'];
/** When pg-boss did something last. The version itself is the owner's. */
const STAMPS = 'cron_on, bam_on, flow_on, reindex_on, monitor_backoff_on';

/** The statements that the owner of the database runs, once for each role. Only the owner may change a schema. */
export function grants(): Grants {
  const role = (name: string, ...more: string[]) => {
    const to = `${CHANNEL}_${name}`;
    return [
      `create role ${to} nologin;`,
      `grant usage on schema ${SCHEMA} to ${to};`,
      `grant select on all tables in schema ${SCHEMA} to ${to};`,
      ...more.map((each) => each.replace('$role', to)),
    ];
  };
  const named = (tables: readonly string[], schema = SCHEMA) =>
    tables.map((table) => `${schema}.${table}`).join(', ');
  const write = (tables: readonly string[]) => [
    `grant insert, update, delete on ${named(tables)} to $role;`,
    ...ONLY_ADDED.map((table) => `grant insert${ADDED_COLUMNS[table] ?? ''} on ${SCHEMA}.${table} to $role;`),
  ];
  return {
    worker: role(
      'worker',
      ...write(BY_WORKERS),
      `grant usage on schema ${QUEUE_SCHEMA} to $role;`,
      `grant select on all tables in schema ${QUEUE_SCHEMA} to $role;`,
      // Earlier versions granted more.
      `revoke insert, update, delete on all tables in schema ${QUEUE_SCHEMA} from $role;`,
      `grant insert, update, delete on ${named(QUEUE_TABLES, QUEUE_SCHEMA)} to $role;`,
      `grant update (${STAMPS}) on ${QUEUE_SCHEMA}.version to $role;`,
      `grant usage, select on all sequences in schema ${QUEUE_SCHEMA} to $role;`,
    ),
    person: role('person', ...write(BY_PEOPLE)),
    viewer: role('viewer'),
  };
}
