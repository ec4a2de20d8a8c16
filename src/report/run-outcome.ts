/** Outcomes that send an issue back, although the phase itself went well. */
const SETBACKS: readonly (string | null | undefined)[] = ['AC_NOT_MET', 'fail', 'failure', 'reject'];

/** The one place that says whether a phase brought its issue forward; lines, callbacks, log and stats all ask here. */
export function wentWell({ status, outcome }: { status: string; outcome?: string | null }): boolean {
  return status === 'success' && !SETBACKS.includes(outcome);
}
