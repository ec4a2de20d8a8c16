import { branchProblem, idProblem } from '../model/ids.ts';
import { PLAN_STATUSES, type Plan, WORKSPACES } from '../model/plan.ts';
import { ATTEMPT_STATUSES, type Attempt, HOLD_KINDS, TICKET_STATUSES, type Ticket } from '../model/ticket.ts';
import { SCHEMA_VERSION } from '../model/version.ts';

type Data = Record<string, unknown>;
type Check = (value: unknown) => boolean;
type Checks = ReadonlyMap<string, Check>;

/**
 * Reads a ticket that is plainly well-formed, some twenty times faster than its schema does: a status of a thousand
 * tickets is felt otherwise. Undefined means no more than "ask the schema".
 */
export function quickTicket(data: unknown): Ticket | undefined {
  if (!isObject(data) || !fits(data, TICKET)) return undefined;
  if (data.planId === undefined || data.ticketId === undefined || data.title === undefined) return undefined;
  const ticket = Object.assign(emptyTicket(), data) as Ticket;
  if (ticket.phaseHistory.length > 0) ticket.phaseHistory = ticket.phaseHistory.map(withDefaults);
  return ticket;
}

export function quickPlan(data: unknown): Plan | undefined {
  if (!isObject(data) || !fits(data, PLAN) || data.id === undefined) return undefined;
  const plan = Object.assign(emptyPlan(), data) as Plan;
  plan.tickets = plan.tickets.map((entry) => Object.assign({ order: 0, blockedBy: [], group: 0 }, entry));
  return plan;
}

/** Whether each field that is there and known passes its check. */
function fits(data: Data, checks: Checks): boolean {
  for (const key in data) {
    const check = checks.get(key);
    if (check !== undefined && !check(data[key])) return false;
  }
  return true;
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
const isHold: Check = (value) =>
  isObject(value) && HOLD_KIND(value.kind) && isText(value.reason) && textOrNull(value.until);

const isBase: Check = (value) => isObject(value) && isText(value.ref) && isText(value.commit);

const isClaim: Check = (value) =>
  isObject(value) &&
  [value.token, value.host, value.boot, value.started, value.by, value.renewedAt].every(isText) &&
  isWhole(value.pid);

const AMOUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'costUsd'];
/** What usage leaves out is the schema's business. */
const isUsage: Check = (value) =>
  isObject(value) && AMOUNTS.every((key) => value[key] === null || Number.isFinite(value[key]));

const ATTEMPT: Checks = new Map(
  Object.entries<Check>({
    phase: isText,
    visit: isWhole,
    attempt: isWhole,
    status: oneOf(ATTEMPT_STATUSES),
    startedAt: isText,
    completedAt: textOrNull,
    outcome: textOrNull,
    output: textOrNull,
    agent: textOrNull,
    sessionId: textOrNull,
    usage: orNull(isUsage),
    error: orNull((error) => isObject(error) && isText(error.class) && isText(error.message)),
    launches: isWhole,
    checks: isWhole,
    resetAt: isText,
  }),
);

/** An attempt may leave out what has a default. */
const isAttempt: Check = (value) =>
  isObject(value) &&
  fits(value, ATTEMPT) &&
  value.phase !== undefined &&
  value.status !== undefined &&
  value.startedAt !== undefined;

const TICKET: Checks = new Map(
  Object.entries<Check>({
    schema: isVersion,
    rev: isWhole,
    planId: isPlanId,
    ticketId: isId,
    title: isText,
    description: isText,
    acceptanceCriteria: areTexts,
    skipPhases: areTexts,
    paths: areTexts,
    linearUrl: textOrNull,
    repo: textOrNull,
    workflow: textOrNull,
    worktree: textOrNull,
    agent: textOrNull,
    since: textOrNull,
    currentPhase: textOrNull,
    error: textOrNull,
    workflowHash: textOrNull,
    branch: orNull(isBranch),
    status: oneOf(TICKET_STATUSES),
    hold: orNull(isHold),
    phaseHistory: (value) => Array.isArray(value) && value.every(isAttempt),
    context: isFlat,
    retries: isCounts,
    visits: isCounts,
    tries: isCounts,
    budget: isBudget,
    goAhead: isText,
    base: orNull(isBase),
    claim: orNull(isClaim),
  }),
);

const ENTRY: Checks = new Map(
  Object.entries<Check>({
    ticketId: isId,
    order: Number.isFinite,
    blockedBy: areTexts,
    group: isWhole,
    paths: areTexts,
  }),
);

const isEntry: Check = (value) => isObject(value) && value.ticketId !== undefined && fits(value, ENTRY);

const PLAN: Checks = new Map(
  Object.entries<Check>({
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
  }),
);

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
