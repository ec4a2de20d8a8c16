import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { branchOf, workspaceFor } from '../../engine/ticket-defaults.ts';
import type { RepositoryName } from '../../github/gh/repository-name.ts';
import type { GhOptions } from '../../github/gh/run-gh.ts';
import type { ForgeJournal } from '../../github/journal.ts';
import {
  createPullRequest,
  editPullRequest,
  findPullRequests,
  type Head,
  type PullRequest,
} from '../../github/pull-request.ts';
import {
  type BodyFacts,
  type Criterion,
  issueReference,
  mergeBody,
  pullRequestSection,
  pullRequestTitle,
  type Tracked,
} from '../../github/pull-request-text.ts';
import { forgetPull } from '../../github/snapshot.ts';
import { judgedIn, judgementOf } from '../../model/criteria.ts';
import { IllegalMoveError, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids.ts';
import { ticketOf } from '../../model/plans/view.ts';
import type { Json, Ticket } from '../../model/ticket.ts';
import type { WorkspaceSpec } from '../../workspaces/index.ts';
import { forgeWork, mergedPull, ownBaseOf } from './context.ts';
import { isStackedOn, type Stack, stackOf } from './ticket-stack.ts';

export interface OpenedPullRequest {
  number: number;
  url: string;
  /** False when it was there already. */
  created: boolean;
  /** False when origin had every commit already. */
  pushed: boolean;
}

interface Work {
  parts: EngineContext;
  ticket: Ticket;
  spec: WorkspaceSpec;
  head: Head;
  stack: Stack;
  /** Null: the repository's default branch. */
  base: string | null;
  gh: GhOptions;
  journal: ForgeJournal;
  bodyFile: string;
}

/**
 * Pushes a ticket's branch and opens its pull request, or brings the one that is open up to date. Looks before it acts,
 * so that doing it again after a crash comes to the same end. `again`: also where somebody deleted the branch.
 */
export async function openPullRequest(
  parts: EngineContext,
  ref: TicketRef,
  { again }: { again: boolean } = { again: true },
): Promise<OpenedPullRequest> {
  const { workspaces, settings } = parts;
  const view = parts.store.view();
  const ticket = ticketOf(view, ref) ?? parts.store.ticket(ref);
  const spec = workspaceFor(ticket, parts.store.plan(ref.planId), settings, view);
  const tip = await tipOf(parts, ticket, spec);
  const work = await forgeWork(parts, ref);
  const { head, gh, journal, dir } = work;
  const found = await findPullRequests(head, gh);
  const open = found.find(({ state }) => state === 'OPEN');
  const over = open
    ? undefined
    : ((await mergedPull(parts, work, found)) ?? found.find(({ headRefOid }) => headRefOid === tip));
  if (over && !(again && (await wasDeleted(parts, spec, over)))) return ended(over);

  const from = open || isFork(head) ? null : ownBaseOf(ticket, spec);
  const wish = { ...spec, known: journal.heads().at(-1)?.commit ?? null, again, from };
  const { pushed } = await journal.record('push', { branch: spec.branch }, () =>
    workspaces.push(wish).catch((error: unknown) => {
      throw withWayOut(error, ticket);
    }),
  );
  const stack = await stackOf(parts, ticket, view);
  const base = await baseBranch(parts, { ticket, spec, head, stack, gh });
  const bodyFile = join(dir, 'pull-request.md');
  const wanted = { parts, ticket, spec, head, stack, base, gh, journal, bodyFile };
  const done = open ? await update(wanted, open) : await create(wanted);
  await forgetPull({ cacheDir: parts.machine.githubCache, repository: head.repository }, spec.branch);
  return { ...done, pushed };
}

/** Commits that somebody pushed meanwhile are brought in by one command. */
function withWayOut(error: unknown, { planId, ticketId }: Ticket): unknown {
  if (!(error instanceof WorkspaceError) || error.code !== 'workspace/push-rejected') return error;
  const { code, message, details } = error;
  const hint = `Bring them in: signalbox forge sync ${planId} ${ticketId}, then: signalbox retry ${planId} ${ticketId}`;
  return new WorkspaceError(code, message, { hint, details });
}

/** GitHub closes a pull request whose branch is deleted; whoever wants the branch again wants a new one. */
async function wasDeleted(
  { workspaces }: EngineContext,
  spec: WorkspaceSpec,
  { state }: PullRequest,
): Promise<boolean> {
  if (state !== 'CLOSED') return false;
  const { repo, branch } = spec;
  return !(await workspaces.remoteTips({ repo, branches: [branch] })).has(branch);
}

/** The branch's commit; refuses a ticket that has nothing to show. */
async function tipOf({ workspaces }: EngineContext, ticket: Ticket, spec: WorkspaceSpec): Promise<string> {
  if (!ticket.base)
    throw new IllegalMoveError(
      'ticket/unstarted',
      `${refKey(ticket)} has no branch yet: it is ${ticket.status}.`,
      { hint: `See: signalbox status --plan ${ticket.planId}` },
    );
  const { repo, branch } = spec;
  const state = await workspaces.branchAhead({ repo, branch, of: ticket.base.commit });
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

/** The work was merged already, or these very commits were turned down. */
function ended({ number, url, state }: PullRequest): OpenedPullRequest {
  if (state === 'MERGED') return { number, url, created: false, pushed: false };
  throw new SignalboxError(
    'forge/closed',
    `Pull request #${number} with exactly these commits was closed without being merged.`,
    { hint: `Open it again (gh pr reopen ${number}), or change the work first.`, details: { number, url } },
  );
}

async function create({ ticket, head, stack, base, gh, journal, bodyFile }: Work) {
  write(bodyFile, pullRequestSection(bodyFacts(ticket, stack, head.repository)));
  const tracked = trackedOf(ticket);
  const title = pullRequestTitle(ticket.title, tracked, issueReference(tracked, head.repository));
  const made = await journal.record('create', { branch: head.branch, base, title }, async () => {
    const { number, url } = await createPullRequest({ head, base, title, bodyFile }, gh);
    return { number, url };
  });
  return { ...made, created: true };
}

/** The commits are there with the push. Its title stays as it is, and so does what people wrote into its text. */
async function update(work: Work, { number, url, body: old, baseRefName }: PullRequest) {
  const { parts, ticket, head, stack, gh, journal, bodyFile } = work;
  journal.settle('create', { number, url });
  const body = mergeBody(old, pullRequestSection(bodyFacts(ticket, stack, head.repository)));
  // Only a base that was another ticket's branch is ours to change.
  const stacked = isStackedOn(parts, ticket, baseRefName);
  const base = stacked && work.base !== baseRefName ? work.base : null;
  const sameText = body === old.replace(/\r\n/g, '\n');
  if (!sameText) write(bodyFile, body);
  if (!sameText || base !== null)
    await journal.record('edit', { number, base }, async () => {
      const edit = { repository: head.repository, number, bodyFile: sameText ? null : bodyFile, base };
      await editPullRequest(edit, gh);
      return {};
    });
  return { number, url, created: false };
}

function isFork({ owner, repository }: Head): boolean {
  return owner !== null && owner.toLowerCase() !== repository.owner.toLowerCase();
}

/** The nearest branch of the stack that is on origin and not merged yet, else the branch that the plan started from. */
async function baseBranch(
  { workspaces }: EngineContext,
  { ticket, spec, head, stack, gh }: Pick<Work, 'ticket' | 'spec' | 'head' | 'stack' | 'gh'>,
): Promise<string | null> {
  const own = ownBaseOf(ticket, spec);
  // Only branches of the repository itself can be a base.
  if (isFork(head) || !stack.below) return own;
  const below = stack.tickets.slice(0, stack.tickets.indexOf(ticket)).map(branchOf).reverse();
  const tips = await workspaces.remoteTips({ repo: spec.repo, branches: below });
  for (const branch of below) {
    const tip = tips.get(branch);
    if (tip === undefined) continue;
    const pulls = await findPullRequests({ ...head, branch }, gh);
    if (!pulls.some(({ state, headRefOid }) => state === 'MERGED' && headRefOid === tip)) return branch;
  }
  return own;
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, text, { mode: 0o600 });
}

/** What the tracker says about a ticket; nothing for one that a planner wrote. */
function trackedOf({ source }: Ticket): Tracked {
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
function bodyFacts(ticket: Ticket, stack: Stack, repository: RepositoryName): BodyFacts {
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
