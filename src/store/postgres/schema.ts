import { InputError } from '../../model/errors.ts';
import type { Query } from './database-connection.ts';

/** Where our tables are. */
export const SCHEMA = 'signalbox';
/** Where the tables of pg-boss are: another program in the same database may have its own. */
export const QUEUE_SCHEMA = 'signalbox_queue';
/** Notified when a plan or ticket has changed, and with `WORKERS_CHANGED` when a worker or a role has. */
export const CHANNEL = 'signalbox';
export const WORKERS_CHANGED = 'workers';

/** Advisory locks of this program, by their second key. */
export const LOCKS = { class: 1_936_289_647, changes: 1, schema: 2, slots: 3, runs: 4 } as const;
/** Keys of these are hashes of names, so that they are in classes of their own. */
export const LOCK_CLASSES = { events: 1_936_289_648, notices: 1_936_289_649 } as const;

/**
 * The steps that lead from one version of the schema to the next; the number of a version is its place in the list. `oldest` is the first
 * version whose program can still work with the tables: a fleet is upgraded worker by worker, so it should rarely change.
 */
const STEPS: readonly { oldest: number; sql: string }[] = [{ oldest: 1, sql: firstVersion() }];

const VERSION = STEPS.length;

interface Meta {
  version: number;
  oldest: number;
}

/** Refuses a schema that this program cannot work with. */
export async function checkSchema(query: Query, version = VERSION): Promise<void> {
  const [meta] = await query<Meta>(`select version, oldest from ${SCHEMA}.meta`);
  if (!meta)
    throw new InputError('store/missing', 'The schema of the store is not complete.', { hint: BY_OWNER });
  if (meta.oldest > version)
    throw new InputError(
      'store/newer',
      `The store was made by a newer Signalbox: its schema has version ${meta.version}, and this program knows version ${version}.`,
      { hint: 'Install the version that the others of the fleet use.' },
    );
  if (meta.version < version)
    throw new InputError(
      'store/older',
      `The schema of the store has version ${meta.version}, and this program needs version ${version}.`,
      { hint: BY_OWNER },
    );
}

const BY_OWNER = 'The owner of the database brings it up to date with: signalbox fleet init';

/** Makes the schema, or brings it up to date, in the transaction of the caller. Two at once wait for each other. */
export async function migrate(query: Query, steps = STEPS): Promise<{ from: number; to: number }> {
  await query('select pg_advisory_xact_lock($1, $2)', [LOCKS.class, LOCKS.schema]);
  const [found] = await query<{ name: string | null }>(`select to_regclass('${SCHEMA}.meta')::text as name`);
  const [meta] = found?.name ? await query<Meta>(`select version, oldest from ${SCHEMA}.meta`) : [];
  const from = meta?.version ?? 0;
  if (from > steps.length)
    throw new InputError(
      'store/newer',
      `The schema of the store has version ${from}, and this program knows version ${steps.length}.`,
      { hint: 'Use the newer program.' },
    );
  for (const { sql } of steps.slice(from)) await query(sql);
  const last = steps.at(-1);
  if (from < steps.length)
    await query(`update ${SCHEMA}.meta set version = $1, oldest = $2`, [steps.length, last?.oldest ?? 1]);
  return { from, to: steps.length };
}

/** The triggers make a mirror possible: numbers of changes are in the order of the commits, also where a person uses `psql`. */
function firstVersion(): string {
  const watched = ['plans', 'tickets', 'records'];
  const triggers = watched.map(
    (table) => `
create trigger one_writer before insert or update or delete on ${SCHEMA}.${table}
  for each statement execute function ${SCHEMA}.one_writer();
create trigger number_change before insert or update on ${SCHEMA}.${table}
  for each row execute function ${SCHEMA}.number_change();
create trigger announce after insert or update or delete on ${SCHEMA}.${table}
  for each statement execute function ${SCHEMA}.announce();`,
  );
  return `
create schema if not exists ${SCHEMA};
create sequence ${SCHEMA}.change;

create table ${SCHEMA}.meta (
  one boolean primary key default true check (one),
  version integer not null,
  oldest integer not null,
  swept bigint not null default 0
);
insert into ${SCHEMA}.meta (version, oldest) values (0, 0);

create table ${SCHEMA}.plans (
  id text primary key,
  rev integer not null,
  changed bigint not null,
  changed_at timestamptz not null,
  finished boolean not null,
  claim text,
  repo text,
  writer text,
  doc text not null
);
create index on ${SCHEMA}.plans (changed);

create table ${SCHEMA}.tickets (
  plan_id text not null references ${SCHEMA}.plans on delete cascade,
  ticket_id text not null,
  rev integer not null,
  changed bigint not null,
  changed_at timestamptz not null,
  claim text,
  repo text,
  writer text,
  doc text not null,
  primary key (plan_id, ticket_id)
);
create index on ${SCHEMA}.tickets (changed);
create index on ${SCHEMA}.tickets (claim) where claim is not null;

create table ${SCHEMA}.records (
  name text primary key,
  rev integer not null,
  changed bigint not null,
  changed_at timestamptz not null,
  writer text,
  doc text not null
);

create table ${SCHEMA}.deleted (
  changed bigint primary key,
  plan_id text not null,
  ticket_id text
);

create table ${SCHEMA}.events (
  number bigint generated always as identity primary key,
  plan_id text not null references ${SCHEMA}.plans on delete cascade,
  key text not null unique,
  at timestamptz not null default clock_timestamp(),
  database_user text not null default session_user,
  person text,
  machine text,
  doc text not null
);
create index on ${SCHEMA}.events (plan_id, number);

create table ${SCHEMA}.notices (
  number bigint generated always as identity primary key,
  plan_id text not null references ${SCHEMA}.plans on delete cascade,
  doc text not null
);
create index on ${SCHEMA}.notices (plan_id, number);

create table ${SCHEMA}.pins (hash text primary key, doc text not null);

create table ${SCHEMA}.holders (
  token text primary key,
  by text not null,
  identity text not null,
  database_user text not null default session_user,
  person text,
  started boolean not null,
  lease_ms integer not null,
  seen timestamptz not null default clock_timestamp()
);

create table ${SCHEMA}.roles (
  name text primary key,
  token text not null,
  claim text not null,
  since timestamptz not null default clock_timestamp()
);

create table ${SCHEMA}.workers (
  id text primary key,
  token text not null,
  host text not null,
  version text not null,
  slots integer not null,
  labels text[] not null default '{}',
  repos text[] not null default '{}',
  draining boolean not null default false,
  database_user text not null default session_user,
  since timestamptz not null default clock_timestamp()
);

create table ${SCHEMA}.commands (
  number bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  database_user text not null default session_user,
  person text,
  machine text,
  command text not null,
  about text not null
);

create table ${SCHEMA}.output (
  plan_id text not null,
  ticket_id text not null,
  attempt text not null,
  stream text not null,
  number integer not null,
  at timestamptz not null default clock_timestamp(),
  text text not null,
  primary key (plan_id, ticket_id, attempt, stream, number),
  foreign key (plan_id, ticket_id) references ${SCHEMA}.tickets on delete cascade
);

create table ${SCHEMA}.sessions (
  plan_id text not null,
  ticket_id text not null,
  session text not null,
  agent text not null,
  at timestamptz not null default clock_timestamp(),
  files bytea,
  primary key (plan_id, ticket_id, session),
  foreign key (plan_id, ticket_id) references ${SCHEMA}.tickets on delete cascade
);

-- By the clock of the database alone. After a restart of the database everybody has a whole lease.
create function ${SCHEMA}.lease_left(seen timestamptz, lease_ms integer) returns double precision
language sql volatile as $$
  select extract(epoch from greatest(seen, pg_postmaster_start_time()) - clock_timestamp())::double precision * 1000 + lease_ms
$$;

-- Numbers would be in the order of the statements otherwise, and one that is committed late would be missed.
create function ${SCHEMA}.one_writer() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(${LOCKS.class}, ${LOCKS.changes});
  return null;
end $$;

create function ${SCHEMA}.number_change() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' and new.rev <= old.rev then
    new.rev := old.rev + 1;
    new.writer := null;
  end if;
  new.changed := nextval('${SCHEMA}.change');
  new.changed_at := clock_timestamp();
  return new;
end $$;

create function ${SCHEMA}.note_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  number bigint := nextval('${SCHEMA}.change');
  ref jsonb := to_jsonb(old);
begin
  insert into ${SCHEMA}.deleted (changed, plan_id, ticket_id)
    values (number, coalesce(ref ->> 'plan_id', ref ->> 'id'), ref ->> 'ticket_id');
  if number % 100 = 0 then
    delete from ${SCHEMA}.deleted where changed < number - 100000;
    update ${SCHEMA}.meta set swept = greatest(swept, number - 100000);
  end if;
  return null;
end $$;

create function ${SCHEMA}.announce() returns trigger language plpgsql as $$
begin
  perform pg_notify('${CHANNEL}', '');
  return null;
end $$;
${triggers.join('\n')}
create function ${SCHEMA}.announce_workers() returns trigger language plpgsql as $$
begin
  perform pg_notify('${CHANNEL}', '${WORKERS_CHANGED}');
  return null;
end $$;
create trigger announce after insert or update or delete on ${SCHEMA}.workers
  for each statement execute function ${SCHEMA}.announce_workers();
create trigger announce after insert or update or delete on ${SCHEMA}.roles
  for each statement execute function ${SCHEMA}.announce_workers();
create trigger note_deleted after delete on ${SCHEMA}.plans
  for each row execute function ${SCHEMA}.note_deleted();
create trigger note_deleted after delete on ${SCHEMA}.tickets
  for each row execute function ${SCHEMA}.note_deleted();
create trigger note_renamed after update of id on ${SCHEMA}.plans
  for each row execute function ${SCHEMA}.note_deleted();
create trigger note_renamed after update of plan_id, ticket_id on ${SCHEMA}.tickets
  for each row execute function ${SCHEMA}.note_deleted();
`;
}
