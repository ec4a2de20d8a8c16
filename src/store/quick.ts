import { branchProblem, idProblem } from '../model/ids.ts';
import { PLAN_STATUSES, type Plan, WORKSPACES } from '../model/plan.ts';
import { ATTEMPT_STATUSES, type Attempt, HOLD_KINDS, TICKET_STATUSES, type Ticket } from '../model/ticket.ts';
import { SCHEMA_VERSION } from '../model/version.ts';

type Data = Record<string, unknown>;
type Check = (value: unknown) => boolean;

/**
 * Reads a ticket that is plainly well-formed, some twenty times faster than its schema does: a status of a thousand
 * tickets is felt otherwise. Undefined means no more than "ask the schema".
 */
export function quickTicket(data: unknown): Ticket | undefined {
  if (!isObject(data) || !isTicket(data)) return undefined;
  const ticket = Object.assign(emptyTicket(), data) as Ticket;
  if (ticket.phaseHistory.length > 0) ticket.phaseHistory = ticket.phaseHistory.map(withDefaults);
  return ticket;
}

export function quickPlan(data: unknown): Plan | undefined {
  if (!isObject(data) || data.id === undefined || !isPlan(data)) return undefined;
  const plan = Object.assign(emptyPlan(), data) as Plan;
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
/** Tickets of a plan all name it: the same text need not be looked at a thousand times. */
let lastPlan: unknown;
const isPlanId = (value: unknown): boolean => {
  if (value === lastPlan) return true;
  if (!isId(value)) return false;
  lastPlan = value;
  return true;
};
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const oneOf =
  (words: readonly string[]): Check =>
  (value) =>
    isText(value) && words.includes(value);
const isBranch: Check = (value) => isText(value) && branchProblem(value) === undefined;
const isVersion: Check = (value) => value === SCHEMA_VERSION;
const textOrNull: Check = (value) => value === null || isText(value);

function isCounts(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isWhole);
}

/** Anything deeper than a word or number is left to the schema. */
function isFlat(value: unknown): boolean {
  const plain = (each: unknown) =>
    each === null || isText(each) || typeof each === 'boolean' || Number.isFinite(each);
  return isObject(value) && Object.values(value).every(plain);
}

const BUDGET_KEYS = ['usd', 'tokens', 'seconds', 'launches'];
const isBudget: Check = (value) =>
  isObject(value) &&
  Object.entries(value).every(([key, amount]) => BUDGET_KEYS.includes(key) && isWhole(amount) && amount >= 0);

const HOLD_KIND = oneOf(HOLD_KINDS);
const HOLD_TEXTS = ['goesOnBy', 'supersededBy'];
const HOLD_FLAGS = ['lock', 'looks', 'person', 'unpriced'];
const isHold: Check = (value) =>
  isObject(value) &&
  HOLD_KIND(value.kind) &&
  isText(value.reason) &&
  textOrNull(value.until) &&
  HOLD_TEXTS.every((name) => value[name] === undefined || isText(value[name])) &&
  HOLD_FLAGS.every((flag) => value[flag] === undefined || typeof value[flag] === 'boolean');

const isBase: Check = (value) => isObject(value) && isText(value.ref) && isText(value.commit);

const isStarted: Check = (value) => isObject(value) && isWhole(value.pid) && isText(value.started);
const isClaim: Check = (value) =>
  isObject(value) &&
  [value.token, value.host, value.boot, value.started, value.by, value.renewedAt].every(isText) &&
  isWhole(value.pid) &&
  (value.agent === undefined || isStarted(value.agent));

const AMOUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'];
/** What usage leaves out is the schema's business. */
const isUsage: Check = (value) =>
  isObject(value) && AMOUNTS.every((key) => value[key] === null || Number.isFinite(value[key]));

const ATTEMPT_STATUS = oneOf(ATTEMPT_STATUSES);
const TICKET_STATUS = oneOf(TICKET_STATUSES);
const isFailure: Check = (value) => isObject(value) && isText(value.class) && isText(value.message);

/** An attempt may leave out what has a default. */
const isAttempt: Check = (value) =>
  isObject(value) &&
  isText(value.phase) &&
  isText(value.startedAt) &&
  ATTEMPT_STATUS(value.status) &&
  (value.visit === undefined || isWhole(value.visit)) &&
  (value.attempt === undefined || isWhole(value.attempt)) &&
  (value.completedAt === undefined || textOrNull(value.completedAt)) &&
  (value.outcome === undefined || textOrNull(value.outcome)) &&
  (value.output === undefined || textOrNull(value.output)) &&
  (value.agent === undefined || textOrNull(value.agent)) &&
  (value.sessionId === undefined || textOrNull(value.sessionId)) &&
  (value.usage === undefined || value.usage === null || isUsage(value.usage)) &&
  (value.error === undefined || value.error === null || isFailure(value.error)) &&
  (value.launches === undefined || isWhole(value.launches)) &&
  (value.checks === undefined || isWhole(value.checks)) &&
  (value.note === undefined || isText(value.note)) &&
  (value.resetAt === undefined || isText(value.resetAt));

const areAttempts: Check = (value) => Array.isArray(value) && value.every(isAttempt);

/** Field by field and not by a table, as attempts and entries are: that is what there may be thousands of. */
function isTicket(data: Data): boolean {
  return (
    isId(data.ticketId) &&
    isPlanId(data.planId) &&
    isText(data.title) &&
    (data.schema === undefined || isVersion(data.schema)) &&
    (data.rev === undefined || isWhole(data.rev)) &&
    (data.description === undefined || isText(data.description)) &&
    (data.acceptanceCriteria === undefined || areTexts(data.acceptanceCriteria)) &&
    (data.skipPhases === undefined || areTexts(data.skipPhases)) &&
    (data.paths === undefined || areTexts(data.paths)) &&
    (data.linearUrl === undefined || textOrNull(data.linearUrl)) &&
    (data.repo === undefined || textOrNull(data.repo)) &&
    (data.workflow === undefined || textOrNull(data.workflow)) &&
    (data.worktree === undefined || textOrNull(data.worktree)) &&
    (data.agent === undefined || textOrNull(data.agent)) &&
    (data.since === undefined || textOrNull(data.since)) &&
    (data.currentPhase === undefined || textOrNull(data.currentPhase)) &&
    (data.error === undefined || textOrNull(data.error)) &&
    (data.workflowHash === undefined || textOrNull(data.workflowHash)) &&
    (data.branch === undefined || data.branch === null || isBranch(data.branch)) &&
    (data.status === undefined || TICKET_STATUS(data.status)) &&
    (data.hold === undefined || data.hold === null || isHold(data.hold)) &&
    (data.phaseHistory === undefined || areAttempts(data.phaseHistory)) &&
    (data.context === undefined || isFlat(data.context)) &&
    (data.retries === undefined || isCounts(data.retries)) &&
    (data.visits === undefined || isCounts(data.visits)) &&
    (data.tries === undefined || isCounts(data.tries)) &&
    (data.budget === undefined || isBudget(data.budget)) &&
    (data.goAhead === undefined || isText(data.goAhead)) &&
    (data.lookedAt === undefined || isText(data.lookedAt)) &&
    (data.base === undefined || data.base === null || isBase(data.base)) &&
    (data.claim === undefined || data.claim === null || isClaim(data.claim))
  );
}

const isEntry: Check = (value) =>
  isObject(value) &&
  isId(value.ticketId) &&
  (value.order === undefined || Number.isFinite(value.order)) &&
  (value.blockedBy === undefined || areTexts(value.blockedBy)) &&
  (value.group === undefined || isWhole(value.group)) &&
  (value.paths === undefined || areTexts(value.paths));

const PLAN: Readonly<Record<string, Check>> = {
  schema: isVersion,
  rev: isWhole,
  id: isId,
  name: isText,
  createdBy: isText,
  createdAt: textOrNull,
  repo: textOrNull,
  workflow: textOrNull,
  agent: textOrNull,
  worktreeRoot: textOrNull,
  base: orNull(isBranch),
  concurrency: orNull((value) => isWhole(value) && value > 0),
  stopOnFailure: (value) => typeof value === 'boolean',
  workspace: oneOf(WORKSPACES),
  delaySeconds: (value) => Number.isFinite(value) && (value as number) >= 0,
  starts: (value) => isObject(value) && isWhole(value.max) && value.max > 0 && isText(value.since),
  budget: isBudget,
  status: oneOf(PLAN_STATUSES),
  tickets: (value) => Array.isArray(value) && value.every(isEntry),
  claim: orNull(isClaim),
};

/** Whether each field that is there and known passes its check. */
function isPlan(data: Data): boolean {
  return Object.entries(PLAN).every(([key, check]) => data[key] === undefined || check(data[key]));
}

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
