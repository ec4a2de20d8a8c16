import type { RepositoryName } from '../../github/gh/repository-name.ts';
import {
  type BodyFacts,
  type Criterion,
  issueReference,
  type Tracked,
} from '../../github/pull-request-text.ts';
import { judgedIn, judgementOf } from '../../model/criteria.ts';
import type { Json, Ticket } from '../../model/ticket.ts';
import type { Stack } from './ticket-stack.ts';

/** What the tracker says about a ticket; nothing for one that a planner wrote. */
export function trackedOf({ source }: Ticket): Tracked {
  return {
    number: source?.number ?? null,
    repository: source?.repository ?? null,
    labels: source?.labels ?? [],
  };
}

/** `#12` where it has a number, else its id. */
function nameOf(ticket: Ticket, repository: RepositoryName): string {
  return issueReference(trackedOf(ticket), repository) ?? ticket.ticketId;
}

/** What the pull request says: the review's own findings, as the workflow captured them. */
export function bodyFacts(ticket: Ticket, stack: Stack, repository: RepositoryName): BodyFacts {
  const { qa_summary: summary, qa_verdict: verdict, qa_criteria: criteria } = ticket.context;
  return {
    reference: issueReference(trackedOf(ticket), repository),
    link: ticket.linearUrl,
    description: ticket.description,
    summary: text(summary),
    verdict: text(verdict) || null,
    criteria: criteriaOf(ticket, criteria),
    stack: stack.tickets.map((each) => ({
      name: nameOf(each, repository),
      self: each.ticketId === ticket.ticketId && each.planId === ticket.planId,
    })),
  };
}

/** Every criterion of the ticket, judged or not, and then what the review has made out beside them. */
function criteriaOf({ acceptanceCriteria }: Ticket, value: Json | undefined): Criterion[] {
  const judged = judgedIn(value);
  const own = acceptanceCriteria.map((criterion) => ({ criterion, found: judgementOf(criterion, judged) }));
  const used = new Set(own.map(({ found }) => found));
  return [
    ...own.map(({ criterion, found }) =>
      found ? { ...found, criterion } : { criterion, met: null, evidence: 'not judged' },
    ),
    ...judged.filter((each) => !used.has(each)),
  ];
}

function text(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
