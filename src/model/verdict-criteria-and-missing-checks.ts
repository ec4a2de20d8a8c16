import { firstOf } from './text/clean-escape-quote-plural.ts';
import { asRecord } from './text/values-of-unknown-type.ts';
import type { Attempt, Json, Ticket } from './ticket.ts';

/** How the review of an issue ended, as the issue workflow captured it. */
interface Verdict {
  verdict: string;
  summary: string;
  /** Criteria that are not met, or that could not be verified. */
  gaps: string[];
}

/** The verdict that is not mentioned. */
const READY = 'READY_FOR_MERGE';
const UNVERIFIED = 'NEEDS_VERIFICATION';

/** The verdict on the work as it is; undefined where it was not judged. */
export function verdictOf({ context, phaseHistory }: Ticket): Verdict | undefined {
  const { qa_verdict: verdict, qa_summary: summary, qa_criteria: criteria } = context;
  if (
    typeof verdict !== 'string' ||
    verdict === '' ||
    lastOf(phaseHistory, 'qa') < lastOf(phaseHistory, 'exec')
  )
    return undefined;
  const gaps = judgedIn(criteria).filter(({ met }) => !met);
  return {
    verdict,
    summary: typeof summary === 'string' ? summary : '',
    gaps: gaps.map(({ criterion }) => criterion),
  };
}

/** A verdict that is not a plain yes, with the reason; empty otherwise. Shown beside the tick. */
export function verdictWithReservation(ticket: Ticket): string {
  const judged = verdictOf(ticket);
  if (!judged || judged.verdict === READY) return '';
  const why = judged.gaps.length > 0 ? `not met or not verified: ${judged.gaps.join('; ')}` : judged.summary;
  return [judged.verdict, why].filter(Boolean).join(': ');
}

/** Whether a person has to verify the work before it is merged. Approving it at the gate counts. */
export function needsVerification(ticket: Ticket): boolean {
  if (verdictOf(ticket)?.verdict !== UNVERIFIED) return false;
  const { phaseHistory, context } = ticket;
  const [qa, gate] = [lastOf(phaseHistory, 'qa'), lastOf(phaseHistory, 'qa_gate')];
  // Phases of an earlier run are known only by what they captured.
  const decision = gate < 0 && qa < 0 ? context.qa_gate_decision : gate > qa && phaseHistory[gate]?.outcome;
  return decision !== 'approve';
}

function lastOf(history: Ticket['phaseHistory'], phase: string): number {
  return history.findLastIndex((entry) => entry.phase === phase && entry.status === 'success');
}

const NOT_MERGED = 'Not merged: ';
const THEN = ' Once it is verified: ';

export function sayNotMerged(why: string, commands: readonly string[]): string {
  return `${NOT_MERGED}${why}.${THEN}${commands.join(' && ')}`;
}

/** The message of `integrate` if it did not merge the branch. */
export function notMerged(output: string | null | undefined): string | undefined {
  return output?.split('\n').find((line) => line.startsWith(NOT_MERGED));
}

/** The same without commands, for callers whose state is temporary. */
export function whyNotMerged(message: string): string {
  return message.split(THEN)[0] ?? message;
}

/** Printed by `checks` that found nothing to run. */
export const NO_CHECKS = 'No checks are configured and the project has none of its own.';

/** The last line of checks or related tests that ran nothing; the line before it says why. */
export const NO_CHECKS_RAN = 'No checks were run.';
export const NO_RELATED_TESTS_RAN = 'No related tests were run.';

type Said = Pick<Attempt, 'status' | 'output'>;

/** Why an attempt that succeeded checked nothing: then it is not shown as passed. Empty where it checked something. */
export function whyUnchecked({ status, output }: Said): string {
  if (status !== 'success' || !output) return '';
  const lines = output.trim().split('\n');
  if (lines.length === 1 && lines[0] === NO_CHECKS) return NO_CHECKS;
  const end = lines.pop() ?? '';
  if (end !== NO_CHECKS_RAN && end !== NO_RELATED_TESTS_RAN) return '';
  return lines.findLast((line) => line.trim() !== '' && !line.startsWith('$ ')) ?? end;
}

/** Why a complete ticket was not checked; empty where it was, or where its workflow has no checks. Related tests are no check of it. */
export function unchecked({ phaseHistory }: Pick<Ticket, 'phaseHistory'>): string {
  const last = [...new Map(phaseHistory.map((entry) => [entry.phase, entry])).values()];
  const ofAll = last.filter(({ output }) => !output?.trim().endsWith(NO_RELATED_TESTS_RAN));
  return ofAll.map(whyUnchecked).find(Boolean) ?? '';
}

/** Outcomes that send an issue back, although the phase itself went well. */
const FAILED_OUTCOMES: readonly (string | null | undefined)[] = ['AC_NOT_MET', 'fail', 'failure', 'reject'];

/** Whether a phase succeeded and brought its issue forward. Lines, callbacks, log and stats use it. */
export function isSuccess({ status, outcome }: { status: string; outcome?: string | null }): boolean {
  return status === 'success' && !FAILED_OUTCOMES.includes(outcome);
}

/** An acceptance criterion with its judgement. */
export interface Judged {
  criterion: string;
  met: boolean;
  evidence: string;
}

const MAX_QUOTED = 200;

/** The `criteria` of a result; what has another shape is left out. */
export function judgedIn(value: Json | undefined): Judged[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((each) => {
    if (each === null || typeof each !== 'object' || Array.isArray(each)) return [];
    return [{ criterion: textOf(each.criterion), met: each.met === true, evidence: textOf(each.evidence) }];
  });
}

/** The judgement of a criterion, by an entry that names exactly it. A negative one wins. */
export function judgementOf(criterion: string, judged: readonly Judged[]): Judged | undefined {
  const own = judged.filter((each) => normalizedCriterion(each.criterion) === normalizedCriterion(criterion));
  return own.find(({ met }) => !met) ?? own[0];
}

/** Why a judgement of these criteria cannot be believed; undefined when it can. `allMet`: its outcome says so. */
export function judgementProblem(
  wanted: readonly string[],
  judged: readonly Judged[],
  { outcome, allMet }: { outcome: string; allMet: boolean },
): string | undefined {
  const missing = wanted.filter((criterion) => !judgementOf(criterion, judged));
  if (missing.length > 0)
    return `criteria: every acceptance criterion of the ticket needs an entry of its own, with its text as it stands there; missing: ${quoted(missing)}`;
  const unproven = judged.filter(({ evidence }) => evidence.trim() === '');
  if (unproven.length > 0)
    return `criteria: there is no evidence for ${quoted(unproven.map(({ criterion }) => criterion))}`;
  const unmet = judged.filter(({ met }) => !met);
  if (!allMet || unmet.length === 0) return undefined;
  return `outcome: ${outcome} says that every criterion is met, but by "criteria" this is not: ${quoted(unmet.map(({ criterion }) => criterion))}; one of the two is wrong`;
}

/** The schema of a result that can only speak of these criteria, one entry for each. */
export function schemaForCriteria(
  schema: Record<string, unknown>,
  wanted: readonly string[],
): Record<string, unknown> {
  const names = [...new Set(wanted)];
  const properties = asRecord(schema.properties);
  const list = asRecord(properties.criteria);
  const items = asRecord(list.items);
  const fields = asRecord(items.properties);
  if (names.length === 0 || !fields.criterion) return schema;
  const criterion = { ...asRecord(fields.criterion), enum: names };
  const criteria = {
    ...list,
    minItems: names.length,
    items: { ...items, properties: { ...fields, criterion } },
  };
  return { ...schema, properties: { ...properties, criteria } };
}

/** A criterion without marks, numbers, quotes and spaces, which change when people and agents copy it. */
function normalizedCriterion(criterion: string): string {
  const inside = criterion
    .normalize('NFKC')
    .trim()
    .replace(/^(?:[-*+]\s+)?(?:\[[ x]\]\s*)?(?:(?:ac|criterion)?[\s#-]*\d+[.:)]\s+)?/i, '');
  return inside
    .replace(/[\s`*_~'"‘’“”]+/g, '')
    .replace(/[.,;:]+$/, '')
    .toLowerCase();
}

function quoted(texts: readonly string[]): string {
  const quotes = texts.map((each) => JSON.stringify(each.slice(0, MAX_QUOTED)));
  return firstOf(quotes, 10);
}

/** Text as it is, anything else as JSON. */
export function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
