import { z } from 'zod';
import { type BodyFacts, type Criterion, issueReference, type Tracked } from '../forge/index.ts';
import type { Json, Ticket } from '../model/ticket.ts';
import type { RepositoryName } from '../sources/index.ts';
import type { Stack } from './stack.ts';

const Source = z.looseObject({
  number: z.number().int().positive().nullable().catch(null),
  repository: z.string().nullable().catch(null),
  labels: z.array(z.string()).catch([]),
});

/** What the tracker says about a ticket; nothing for one that a planner wrote. */
export function trackedOf(ticket: Ticket): Tracked {
  return Source.parse(ticket.source ?? {});
}

/** `#12` where it has a number, else its id. */
export function nameOf(ticket: Ticket, repository: RepositoryName): string {
  return issueReference(trackedOf(ticket), repository) ?? ticket.ticketId;
}

/** What the pull request says: the review's own findings, as the workflow captured them. */
export function bodyFacts(ticket: Ticket, stack: Stack, repository: RepositoryName): BodyFacts {
  const { qa_summary: summary, qa_verdict: verdict, qa_criteria: criteria } = ticket.context;
  return {
    reference: issueReference(trackedOf(ticket), repository),
    link: ticket.linearUrl,
    summary: text(summary),
    verdict: text(verdict) || null,
    criteria: criteriaOf(criteria),
    stack: stack.tickets.map((each) => ({
      name: nameOf(each, repository),
      self: each.ticketId === ticket.ticketId && each.planId === ticket.planId,
    })),
  };
}

function criteriaOf(value: Json | undefined): Criterion[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((each) => {
    if (each === null || typeof each !== 'object' || Array.isArray(each)) return [];
    return [{ criterion: text(each.criterion), met: each.met === true, evidence: text(each.evidence) }];
  });
}

function text(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
