export interface Problem {
  ticketId: string | null;
  /** In short: a field, a phase, or a file. */
  place: string;
  /** The file that has to be changed. */
  file: string;
  /** Where in that file, as `tickets[2].blockedBy[0]`; null for the file as a whole. */
  path: string | null;
  message: string;
  hint?: string | undefined;
  /** A warning does not keep the plan from running. */
  severity: 'error' | 'warning';
}

/** A problem of one ticket, before it is known whose; its file is the ticket's unless it says another. */
export type Finding = Pick<Problem, 'place' | 'message'> &
  Partial<Pick<Problem, 'path' | 'hint' | 'severity' | 'file'>>;
