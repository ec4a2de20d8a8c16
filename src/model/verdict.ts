import { judgedIn } from './criteria.ts';
import type { Ticket } from './ticket.ts';

/** How the review of an issue ended, as the issue workflow captured it. */
interface Verdict {
  verdict: string;
  summary: string;
  /** Criteria that are not met, or that nobody could verify. */
  gaps: string[];
}

/** The verdict that needs no word. */
const READY = 'READY_FOR_MERGE';
const UNVERIFIED = 'NEEDS_VERIFICATION';

/** The verdict on the work as it is; undefined where nobody has judged it. */
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

/** What a tick alone would hide: a verdict that is not a plain yes, with the reason. */
export function reservation(ticket: Ticket): string {
  const judged = verdictOf(ticket);
  if (!judged || judged.verdict === READY) return '';
  const why = judged.gaps.length > 0 ? `not met or not verified: ${judged.gaps.join('; ')}` : judged.summary;
  return [judged.verdict, why].filter(Boolean).join(': ');
}

/** Whether a person has still to look before the work is merged. Who approved it at the gate has looked. */
export function needsVerification(ticket: Ticket): boolean {
  if (verdictOf(ticket)?.verdict !== UNVERIFIED) return false;
  const { phaseHistory, context } = ticket;
  const [qa, gate] = [lastOf(phaseHistory, 'qa'), lastOf(phaseHistory, 'qa_gate')];
  // Phases that an earlier run went through are known by what they captured alone.
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

/** What `integrate` said where it left the work on its branch. */
export function notMerged(output: string | null | undefined): string | undefined {
  return output?.split('\n').find((line) => line.startsWith(NOT_MERGED));
}

/** The same without the commands, for who has nothing that these would find. */
export function whyNotMerged(said: string): string {
  return said.split(THEN)[0] ?? said;
}

/** Outcomes that send an issue back, although the phase itself went well. */
const SETBACKS: readonly (string | null | undefined)[] = ['AC_NOT_MET', 'fail', 'failure', 'reject'];

/** The one place that says whether a phase brought its issue forward; lines, callbacks, log and stats all ask here. */
export function wentWell({ status, outcome }: { status: string; outcome?: string | null }): boolean {
  return status === 'success' && !SETBACKS.includes(outcome);
}
