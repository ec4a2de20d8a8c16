import { branchProblem, idProblem } from '../model/ids.ts';
import { PLAN_STATUSES, type Plan } from '../model/plan.ts';
import { ATTEMPT_STATUSES, type Attempt, HOLD_KINDS, TICKET_STATUSES, type Ticket } from '../model/ticket.ts';
import { SCHEMA_VERSION } from '../model/version.ts';

type Data = Record<string, unknown>;

/**
 * Reads a ticket that is plainly well-formed, some twenty times faster than its schema does: a status of a thousand
 * tickets is felt otherwise. Undefined means no more than "ask the schema".
 */
export function quickTicket(data: unknown): Ticket | undefined {
  if (!isObject(data)) return undefined;
  const t = data;
  const good =
    header(t) &&
    isId(t.planId) &&
    isId(t.ticketId) &&
    isText(t.title) &&
    maybe(t.description, isText) &&
    maybe(t.acceptanceCriteria, areTexts) &&
    maybe(t.skipPhases, areTexts) &&
    textsOrNull(t, [
      'linearUrl',
      'repo',
      'workflow',
      'worktree',
      'agent',
      'since',
      'currentPhase',
      'error',
      'workflowHash',
    ]) &&
    maybe(t.branch, (value) => value === null || (isText(value) && branchProblem(value) === undefined)) &&
    maybe(t.status, (value) => includes(TICKET_STATUSES, value)) &&
    maybe(t.hold, (value) => value === null || isHold(value)) &&
    maybe(t.phaseHistory, (value) => Array.isArray(value) && value.every(isAttempt)) &&
    maybe(t.context, isFlat) &&
    maybe(t.retries, isCounts) &&
    maybe(t.visits, isCounts) &&
    maybe(
      t.base,
      (value) => value === null || (isObject(value) && isText(value.ref) && isText(value.commit)),
    ) &&
    maybe(t.claim, (value) => value === null || isClaim(value));
  if (!good) return undefined;
  const ticket = Object.assign(emptyTicket(), t) as Ticket;
  if (ticket.phaseHistory.length > 0) ticket.phaseHistory = ticket.phaseHistory.map(withDefaults);
  return ticket;
}

export function quickPlan(data: unknown): Plan | undefined {
  if (!isObject(data)) return undefined;
  const p = data;
  const good =
    header(p) &&
    isId(p.id) &&
    maybe(p.name, isText) &&
    maybe(p.createdBy, isText) &&
    textsOrNull(p, ['createdAt', 'repo', 'workflow', 'agent', 'worktreeRoot']) &&
    maybe(p.base, (value) => value === null || (isText(value) && branchProblem(value) === undefined)) &&
    maybe(p.concurrency, (value) => value === null || (isWhole(value) && value > 0)) &&
    maybe(p.stopOnFailure, (value) => typeof value === 'boolean') &&
    maybe(p.status, (value) => includes(PLAN_STATUSES, value)) &&
    maybe(p.tickets, (value) => Array.isArray(value) && value.every(isEntry)) &&
    maybe(p.claim, (value) => value === null || isClaim(value));
  if (!good) return undefined;
  const plan = Object.assign(emptyPlan(), p) as Plan;
  plan.tickets = plan.tickets.map((entry) => Object.assign({ order: 0, blockedBy: [], group: 0 }, entry));
  return plan;
}

function emptyTicket(): Partial<Ticket> {
  return {
    schema: SCHEMA_VERSION,
    rev: 0,
    description: '',
    acceptanceCriteria: [],
    linearUrl: null,
    repo: null,
    workflow: null,
    branch: null,
    worktree: null,
    agent: null,
    status: 'queued',
    hold: null,
    since: null,
    currentPhase: null,
    phaseHistory: [],
    context: {},
    retries: {},
    visits: {},
    skipPhases: [],
    error: null,
    base: null,
    workflowHash: null,
    claim: null,
  };
}

function emptyPlan(): Partial<Plan> {
  return {
    schema: SCHEMA_VERSION,
    rev: 0,
    name: '',
    createdAt: null,
    createdBy: 'unknown',
    repo: null,
    workflow: null,
    agent: null,
    worktreeRoot: null,
    base: null,
    concurrency: null,
    stopOnFailure: false,
    status: 'draft',
    tickets: [],
    claim: null,
  };
}

const isObject = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__');
const isText = (value: unknown): value is string => typeof value === 'string';
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);
const isId = (value: unknown): boolean => isText(value) && idProblem(value) === undefined;
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const includes = (words: readonly string[], value: unknown): boolean =>
  isText(value) && words.includes(value);
const maybe = (value: unknown, check: (value: unknown) => boolean): boolean =>
  value === undefined || check(value);

function header(data: Data): boolean {
  return maybe(data.schema, (value) => value === SCHEMA_VERSION) && maybe(data.rev, isWhole);
}

function textsOrNull(data: Data, keys: readonly string[]): boolean {
  return keys.every((key) => data[key] === undefined || data[key] === null || isText(data[key]));
}

function isCounts(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isWhole);
}

/** Anything deeper than a word or number is left to the schema. */
function isFlat(value: unknown): boolean {
  const plain = (each: unknown) =>
    each === null || isText(each) || typeof each === 'boolean' || Number.isFinite(each);
  return isObject(value) && Object.values(value).every(plain);
}

function isHold(value: unknown): boolean {
  return (
    isObject(value) &&
    includes(HOLD_KINDS, value.kind) &&
    isText(value.reason) &&
    (value.until === null || isText(value.until))
  );
}

function isClaim(value: unknown): boolean {
  return (
    isObject(value) &&
    [value.token, value.host, value.boot, value.started, value.by, value.renewedAt].every(isText) &&
    isWhole(value.pid)
  );
}

/** An attempt may leave out what has a default; what its usage leaves out is the schema's business. */
function isAttempt(value: unknown): value is Attempt {
  if (!isObject(value)) return false;
  const amounts = (data: Data) => AMOUNTS.every((key) => data[key] === null || Number.isFinite(data[key]));
  return (
    isText(value.phase) &&
    maybe(value.visit, isWhole) &&
    maybe(value.attempt, isWhole) &&
    includes(ATTEMPT_STATUSES, value.status) &&
    isText(value.startedAt) &&
    textsOrNull(value, ['completedAt', 'outcome', 'output', 'agent', 'sessionId']) &&
    maybe(value.usage, (usage) => usage === null || (isObject(usage) && amounts(usage))) &&
    maybe(
      value.error,
      (error) => error === null || (isObject(error) && isText(error.class) && isText(error.message)),
    ) &&
    maybe(value.checks, isWhole)
  );
}

const AMOUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'];

function withDefaults(attempt: Attempt): Attempt {
  const none = {
    completedAt: null,
    outcome: null,
    output: null,
    agent: null,
    sessionId: null,
    usage: null,
    error: null,
  };
  return Object.assign({ visit: 1, attempt: 1, ...none }, attempt);
}

function isEntry(value: unknown): boolean {
  return (
    isObject(value) &&
    isId(value.ticketId) &&
    maybe(value.order, Number.isFinite) &&
    maybe(value.blockedBy, areTexts) &&
    maybe(value.group, isWhole)
  );
}
