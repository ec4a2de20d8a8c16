import type { RawRow } from './parse-plan-and-ticket-rows.ts';
import { SCHEMA } from './schema.ts';

/** What is new in the tables. */
export interface ChangedRow extends RawRow {
  kind: 'plan' | 'ticket' | 'deleted' | 'record' | 'swept';
  finished: boolean;
  /** When it was changed, in milliseconds. */
  at: number;
}

export interface FinishedRow {
  id: string;
  at: number;
}

const AT = 'extract(epoch from changed_at)::double precision * 1000 as at';
const PLAN = `id as plan_id, null as ticket_id, rev, changed::double precision as changed, doc, writer, finished, ${AT}`;
const TICKET = `plan_id, ticket_id, rev, changed::double precision as changed, doc, writer, false as finished, ${AT}`;
const USAGE = 'usage';

/** All that happened after a change, in its order. Plans come before their tickets, because their rows are made first. */
export const CHANGES = `
select 'plan' as kind, ${PLAN} from ${SCHEMA}.plans where changed > $1
union all select 'ticket', ${TICKET} from ${SCHEMA}.tickets where changed > $1
union all select 'record', name, null, rev, changed, doc, writer, false, 0 from ${SCHEMA}.records where changed > $1 and name = '${USAGE}'
union all select 'deleted', plan_id, ticket_id, 0, changed, null, null, false, 0 from ${SCHEMA}.deleted where changed > $1
union all select 'swept', '', null, 0, swept, null, null, false, 0 from ${SCHEMA}.meta where swept > $1
order by changed`;

/** Open plans, their tickets, and the usage of deleted ones. */
export const EVERYTHING_OPEN = `
select 'plan' as kind, ${PLAN} from ${SCHEMA}.plans where not finished
union all select 'ticket', ${TICKET} from ${SCHEMA}.tickets where plan_id in (select id from ${SCHEMA}.plans where not finished)
union all select 'record', name, null, rev, changed, doc, writer, false, 0 from ${SCHEMA}.records where name = '${USAGE}'`;

export const FINISHED = `select id, ${AT} from ${SCHEMA}.plans where finished`;

/** The last change that can be seen. */
export const LAST_CHANGE = `
select greatest(
  coalesce((select max(changed) from ${SCHEMA}.plans), 0),
  coalesce((select max(changed) from ${SCHEMA}.tickets), 0),
  coalesce((select max(changed) from ${SCHEMA}.records), 0),
  coalesce((select max(changed) from ${SCHEMA}.deleted), 0)
)::double precision as changed`;

export const TICKETS_OF = `select 'ticket' as kind, ${TICKET} from ${SCHEMA}.tickets where plan_id = any($1)`;

/** Plans with their tickets, each plan before its tickets. */
export const WHOLE_PLANS = (which: 'named' | 'finished') => {
  const where = which === 'named' ? 'id = any($1)' : 'finished';
  return `
select ${PLAN} from ${SCHEMA}.plans where ${where}
union all select ${TICKET} from ${SCHEMA}.tickets where plan_id in (select id from ${SCHEMA}.plans where ${where})
order by plan_id, ticket_id nulls first`;
};

/** Tickets of finished plans that have one of these ids, or one of them behind a dash. */
export const NAMED_TICKETS = `
select plan_id as "planId", ticket_id as "ticketId" from ${SCHEMA}.tickets
where plan_id in (select id from ${SCHEMA}.plans where finished) and exists (
  select from unnest($1::text[]) as id where ticket_id = id or right(ticket_id, length(id) + 1) = '-' || id
)`;

/** One plan or ticket, and how much is left of the lease of its claim's holder. */
export const ONE_PLAN = `
select ${PLAN}, h.token, h.started, h.identity, ${SCHEMA}.lease_left(h.seen, h.lease_ms) as left
from ${SCHEMA}.plans p left join ${SCHEMA}.holders h on h.token = p.claim where id = $1`;
export const ONE_TICKET = `
select ${TICKET}, h.token, h.started, h.identity, ${SCHEMA}.lease_left(h.seen, h.lease_ms) as left
from ${SCHEMA}.tickets t left join ${SCHEMA}.holders h on h.token = t.claim where plan_id = $1 and ticket_id = $2`;

export const PUT_PLAN = `
update ${SCHEMA}.plans set rev = $3, doc = $4, claim = $5, repo = $6, finished = $7, writer = $8
where id = $1 and rev = $2 returning changed::double precision as changed, ${AT}`;
export const PUT_TICKET = `
update ${SCHEMA}.tickets set rev = $4, doc = $5, claim = $6, repo = $7, writer = $8
where plan_id = $1 and ticket_id = $2 and rev = $3 returning changed::double precision as changed, ${AT}`;
export const NEW_PLAN = `
insert into ${SCHEMA}.plans (id, rev, doc, claim, repo, finished, writer, changed, changed_at)
values ($1, $2, $3, $4, $5, $6, $7, 0, now()) returning changed::double precision as changed, ${AT}`;
/** Several at once. */
export const NEW_TICKETS = `
insert into ${SCHEMA}.tickets (plan_id, ticket_id, rev, doc, claim, repo, writer, changed, changed_at)
select $1, each.*, $7, 0, now()
from unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::text[]) as each
on conflict (plan_id, ticket_id) do update
set rev = greatest(excluded.rev, ${SCHEMA}.tickets.rev + 1), doc = excluded.doc, claim = excluded.claim, repo = excluded.repo, writer = excluded.writer
returning ticket_id, rev, changed::double precision as changed`;

/** Late events of a process that has lost the ticket are left out. Events of one plan get their numbers in the order of the commits, so that a reader can ask for those after the last one it knows. */
export const APPEND = `
insert into ${SCHEMA}.events (plan_id, key, doc, person, machine)
select $1, each.key, each.doc, $4, $5
from (select pg_advisory_xact_lock($6, hashtext($1))) as turn,
  unnest($2::text[], $3::text[], $7::text[], $8::text[]) with ordinality as each(key, doc, ticket, token, place)
where each.token is null
  or exists (select from ${SCHEMA}.tickets t where t.plan_id = $1 and t.ticket_id = each.ticket and t.claim = each.token)
order by each.place
on conflict (key) do nothing`;
export const EVENTS = `select number::double precision as number, doc, key from ${SCHEMA}.events where plan_id = $1 and number > $2 order by number`;

export const LAST_EVENT = `select coalesce(max(number), 0)::double precision as last from ${SCHEMA}.events where plan_id = $1`;

export const HOLDERS = `
select h.token, h.started, h.identity, ${SCHEMA}.lease_left(h.seen, h.lease_ms) as left, r.name as role, r.claim
from ${SCHEMA}.holders h left join ${SCHEMA}.roles r on r.token = h.token`;
export const WORKERS = `
select w.id, w.token, w.host, w.version, w.slots, w.labels, w.repos, w.draining, h.lease_ms,
  ${SCHEMA}.lease_left(h.seen, h.lease_ms) as left, h.identity
from ${SCHEMA}.workers w left join ${SCHEMA}.holders h on h.token = w.token`;
/** Takes the place of an earlier process with the same id. */
export const JOIN = `
insert into ${SCHEMA}.workers (id, token, host, version, slots, labels, repos) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (id) do update set token = excluded.token, host = excluded.host, version = excluded.version, slots = excluded.slots,
  labels = excluded.labels, repos = excluded.repos, draining = false, database_user = session_user, since = clock_timestamp()`;
/** The lease of a role's holder, which no other process can take before the end of the transaction. */
export const HELD_ROLE = `
select from ${SCHEMA}.roles r join ${SCHEMA}.holders h on h.token = r.token
where r.name = $1 and r.token = $2 and ${SCHEMA}.lease_left(h.seen, h.lease_ms) > 0 for share of r`;
/** Tickets whose claims are live, of all machines. */
export const CLAIMED = `
select t.plan_id, t.ticket_id, t.rev, t.changed::double precision as changed, t.doc, t.writer
from ${SCHEMA}.tickets t join ${SCHEMA}.holders h on h.token = t.claim
where ${SCHEMA}.lease_left(h.seen, h.lease_ms) > 0`;
export const REGISTER = `
insert into ${SCHEMA}.holders (token, by, identity, person, started, lease_ms) values ($1, $2, $3, $4, $5, $6)
on conflict (token) do update set seen = clock_timestamp(), started = ${SCHEMA}.holders.started or excluded.started`;
/**
 * Where no engine has a lease any more, the database was out of reach for all of them, so that it is as after a restart: those that had one
 * when this one was last seen have a whole lease from now on. Otherwise the first one that is back would take the tickets of the others.
 */
export const RENEW = `
with own as (select seen, lease_ms from ${SCHEMA}.holders where token = $1 and started)
update ${SCHEMA}.holders h set seen = clock_timestamp() where h.token = $1 or (
  h.started and exists (
    select from own where ${SCHEMA}.lease_left(own.seen, own.lease_ms) < 0
    and h.seen > own.seen - own.lease_ms * interval '1 millisecond'
  ) and not exists (
    select from ${SCHEMA}.holders o where o.started and ${SCHEMA}.lease_left(o.seen, o.lease_ms) > 0
  )
) returning token`;
/** Deletes processes that have not reported for a day. A claim whose holder is missing counts as dead, too. */
export const FORGET_HOLDERS = `
delete from ${SCHEMA}.holders where seen < clock_timestamp() - interval '1 day'
and ${SCHEMA}.lease_left(seen, lease_ms) < 0`;
/** Takes a role that has no holder, whose holder's lease is over, or whose holder ($4) was seen to be gone. */
export const TAKE_ROLE = `
insert into ${SCHEMA}.roles (name, token, claim) values ($1, $2, $3)
on conflict (name) do update set token = excluded.token, claim = excluded.claim, since = clock_timestamp()
where ${SCHEMA}.roles.token in (excluded.token, $4) or not exists (
  select from ${SCHEMA}.holders h where h.token = ${SCHEMA}.roles.token and ${SCHEMA}.lease_left(h.seen, h.lease_ms) > 0
) returning token`;
