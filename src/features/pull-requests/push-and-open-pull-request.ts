import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../config/settings-table.ts';
import type { EngineContext } from '../../engine/context.ts';
import { branchOf } from '../../engine/work-out-workspace-and-repository.ts';
import type { RepositoryName } from '../../github/gh/repository-name.ts';
import type { PullRequest } from '../../github/pull-request.ts';
import { createPullRequest, editPullRequest, findPullRequests, isFork } from '../../github/pull-request.ts';
import type { BodyFacts, Criterion, Tracked } from '../../github/pull-request-text.ts';
import {
  issueReference,
  mergeBody,
  pullRequestSection,
  pullRequestTitle,
} from '../../github/pull-request-text.ts';
import { IllegalMoveError, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { pageAddress, refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { type Json, saysStatus, type Ticket } from '../../model/ticket.ts';
import { judgedIn, judgementOf, textOf } from '../../model/verdict-criteria-and-missing-checks.ts';
import { isStackedOn, type Stack, stackOf } from './find-tickets-below-and-above.ts';
import { push } from './push-and-sync-branch-merge-pull-request.ts';
import { type ForgeWork, forgeWork, localWork, mergedPull, ownBaseOf } from './ticket-on-github.ts';

export interface OpenedPullRequest {
  number: number;
  url: string;
  /** False when it existed already. */
  created: boolean;
  /** False when origin had every commit already. */
  pushed: boolean;
}

/**
 * Pushes a ticket's branch and opens its pull request, or updates the one that is open. Checks before it acts, so that
 * repeating it after a crash has the same result. `again`: also push a branch that was deleted on origin.
 */
export async function openPullRequest(
  engine: EngineContext,
  ref: TicketRef,
  { again }: { again: boolean } = { again: true },
): Promise<OpenedPullRequest> {
  // GitHub is not asked about a ticket that has nothing to push.
  const tip = await tipWithWork(localWork(engine, ref));
  const work = await forgeWork(engine, ref);
  const { ticket, head, gh } = work;
  const found = await findPullRequests(head, gh);
  const open = found.find(({ state }) => state === 'OPEN');
  const over = open
    ? undefined
    : ((await mergedPull(work, found)) ?? found.find(({ headRefOid }) => headRefOid === tip));
  if (over && !(again && (await wasDeleted(work, over)))) return ended(over);

  const from = open || isFork(head) ? null : ownBaseOf(work);
  const { pushed } = await push(work, { again, from }).catch((error: unknown) => {
    throw withSyncHint(error, ticket);
  });
  const stack = await stackOf(engine, ticket, work.view);
  const base = await baseBranch(work, stack);
  const section = pullRequestSection(bodyFacts(ticket, stack, head.repository, engine.settings.web));
  const done = open ? await update(work, open, { section, base }) : await create(work, { section, base });
  await work.forget();
  return { ...done, pushed };
}

/** Adds the command that brings in commits that other people pushed. */
function withSyncHint(error: unknown, { planId, ticketId }: Ticket): unknown {
  if (!(error instanceof WorkspaceError) || error.code !== 'workspace/push-rejected') return error;
  const { code, message, details } = error;
  const hint = `Bring them in: signalbox forge sync ${planId} ${ticketId}, then: signalbox retry ${planId} ${ticketId}`;
  return new WorkspaceError(code, message, { hint, details });
}

/** GitHub closes a pull request whose branch is deleted; pushing the branch again needs a new one. */
async function wasDeleted({ engine, spec }: ForgeWork, { state }: PullRequest): Promise<boolean> {
  if (state !== 'CLOSED') return false;
  const { repo, branch } = spec;
  return !(await engine.workspaces.remoteTips({ repo, branches: [branch] })).has(branch);
}

/** The branch's commit; refuses a ticket that has nothing to show. */
async function tipWithWork({ engine, ticket, spec }: ReturnType<typeof localWork>): Promise<string> {
  if (!ticket.base)
    throw new IllegalMoveError(
      'ticket/unstarted',
      `${refKey(ticket)} has no branch yet: it ${saysStatus(ticket)}.`,
      { hint: `See: signalbox status --plan ${ticket.planId}` },
    );
  const { repo, branch } = spec;
  const state = await engine.workspaces.branchAhead({ repo, branch, of: ticket.base.commit });
  if (!state)
    throw new WorkspaceError('workspace/branch-missing', `The branch ${branch} does not exist in ${repo}.`);
  if (state.ahead > 0) return state.tip;
  throw new SignalboxError(
    'forge/nothing',
    `${branch} has no commits beyond ${ticket.base.ref}: there is nothing to push.`,
    {
      hint: `Uncommitted work does not count; see: signalbox diff ${ticket.planId} ${ticket.ticketId}`,
      details: { branch, base: ticket.base },
    },
  );
}

/** The result if the work was merged already, or a pull request with these commits was closed. */
function ended({ number, url, state }: PullRequest): OpenedPullRequest {
  if (state === 'MERGED') return { number, url, created: false, pushed: false };
  throw new SignalboxError(
    'forge/closed',
    `Pull request #${number} with exactly these commits was closed without being merged.`,
    { hint: `Open it again (gh pr reopen ${number}), or change the work first.`, details: { number, url } },
  );
}

/** What a pull request should have: our part of its text, and its base (null: the repository's default branch). */
interface Content {
  section: string;
  base: string | null;
}

async function create({ ticket, head, gh, journal, dir }: ForgeWork, { section, base }: Content) {
  const bodyFile = writeBody(dir, section);
  const tracked = trackedOf(ticket);
  const title = pullRequestTitle(ticket.title, tracked, issueReference(tracked, head.repository));
  const made = await journal.record('create', { branch: head.branch, base, title }, async () => {
    const { number, url } = await createPullRequest({ head, base, title, bodyFile }, gh);
    return { number, url };
  });
  return { ...made, created: true };
}

/** Updates the base and Signalbox's part of the text. Title and people's text are kept; the push has added the commits. */
async function update(work: ForgeWork, pull: PullRequest, content: Content) {
  const { engine, ticket, head, gh, journal, dir } = work;
  const { number, url, body: old, baseRefName } = pull;
  journal.settle('create', { number, url });
  const body = mergeBody(old, content.section);
  // Changes the base only if it was another ticket's branch.
  const stacked = isStackedOn(engine, ticket, baseRefName);
  const base = stacked && content.base !== baseRefName ? content.base : null;
  const bodyFile = body === old.replace(/\r\n/g, '\n') ? null : writeBody(dir, body);
  if (bodyFile !== null || base !== null)
    await journal.record('edit', { number, base }, async () => {
      await editPullRequest({ repository: head.repository, number, bodyFile, base }, gh);
      return {};
    });
  else journal.settle('edit', { number, url });
  return { number, url, created: false };
}

/** The nearest branch of the stack that is on origin and not merged yet, else the branch that the plan started from. */
async function baseBranch(work: ForgeWork, { tickets, below }: Stack): Promise<string | null> {
  const { engine, ticket, spec, head, gh } = work;
  const own = ownBaseOf(work);
  // Only branches of the repository itself can be a base.
  if (isFork(head) || !below) return own;
  const branches = tickets.slice(0, tickets.indexOf(ticket)).map(branchOf).reverse();
  const tips = await engine.workspaces.remoteTips({ repo: spec.repo, branches });
  for (const branch of branches) {
    const tip = tips.get(branch);
    if (tip === undefined) continue;
    const pulls = await findPullRequests({ ...head, branch }, gh);
    if (!pulls.some(({ state, headRefOid }) => state === 'MERGED' && headRefOid === tip)) return branch;
  }
  return own;
}

function writeBody(dir: string, text: string): string {
  const file = join(dir, 'pull-request.md');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/** What the tracker says about a ticket; empty for one that a planner wrote. */
function trackedOf({ source }: Ticket): Tracked {
  return {
    number: source?.number ?? null,
    repository: source?.repository ?? null,
    labels: source?.labels ?? [],
  };
}

/** What the pull request says: the review's own findings, as the workflow captured them. */
function bodyFacts(
  ticket: Ticket,
  stack: Stack,
  repository: RepositoryName,
  { publicUrl, linkInPullRequests }: Settings['web'],
): BodyFacts {
  const { qa_summary: summary, qa_verdict: verdict, qa_criteria: criteria } = ticket.context;
  return {
    reference: issueReference(trackedOf(ticket), repository),
    link: ticket.linearUrl,
    description: ticket.description,
    summary: textOf(summary),
    verdict: textOf(verdict) || null,
    criteria: criteriaOf(ticket, criteria),
    page: publicUrl && linkInPullRequests ? pageAddress(publicUrl, ticket.planId, ticket.ticketId) : null,
    stack: stack.tickets.map((each) => ({
      name: issueReference(trackedOf(each), repository) ?? each.ticketId,
      self: each.ticketId === ticket.ticketId && each.planId === ticket.planId,
    })),
  };
}

/** Every criterion of the ticket, judged or not, and then those that the review added. */
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
