import type { EngineContext } from '../../engine/context.ts';
import { refuseInsideJob } from '../../engine/control-tickets-and-plans.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import type { GhOptions } from '../../github/gh/run-gh.ts';
import { fetchItems } from '../../issues/fetch-work-items.ts';
import { placeItems } from '../../issues/find-issue-checkouts.ts';
import { itemFromText, joinNumbered } from '../../issues/issues-and-tasks-from-caller.ts';
import { sayItem, type WorkItem } from '../../issues/work-item.ts';
import { applyChanges } from '../../model/apply-changes-of-run-to-workflow.ts';
import { InputError, orError, WorkspaceError } from '../../model/errors.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import { type Claim, onceLeaseIsOver, sayHolder } from '../../model/lease-and-claim-messages.ts';
import type { Plan } from '../../model/plan.ts';
import { TicketPlan } from '../../model/plan-schema.ts';
import { isCancelled, isOver, isSuperseded, newerRunOf, type Ticket } from '../../model/ticket.ts';
import { TicketBase } from '../../model/ticket-schema.ts';
import { phasesAhead } from '../../model/workflow.ts';
import { resolveWorkflow } from '../../workflows/find-and-check-workflow.ts';
import { pinWorkflow } from '../../workflows/pin-workflow-and-render-prompts.ts';
import { EarlierIssues, finishedOutside, leftToDo } from './earlier-work-on-issues.ts';
import {
  runMode,
  skippedPhases,
  workflowChangesOf,
} from './options/execution-config-and-workflow-changes.ts';
import { branchOfItem, type Candidate, type PreparedRun, planIssues, WORKFLOW } from './plan-issues.ts';
import {
  redoUnstackedIssues,
  refuseOpenDependencies,
  stopAtRefused,
} from './refuse-or-redo-dependent-issues.ts';
import type { IssueRunRequest, Refused } from './request-and-result-types.ts';

/** Plans an issue run without changing anything. */
export async function prepareIssueRun(engine: EngineContext, request: IssueRunRequest): Promise<PreparedRun> {
  const { config, batches } = request;
  const { force } = config;
  const mode = runMode(config);
  const root = await repositoryAt(engine, request.cwd);
  const earlier = new EarlierIssues(engine, 'all');
  const { items, places, keys, refused } = await collectItems(engine, request, root, earlier);
  const refuse = (item: WorkItem, why: Omit<Refused, 'reference' | 'item'>) =>
    void refused.push({ reference: sayItem(item), item, ...why });
  const resolved = await resolveWorkflow(WORKFLOW, engine.settings.searchPath);
  const { workflow } = resolved;
  let issues: Candidate[] = [];
  for (const item of items) {
    const place = places.get(item.key);
    if (!place) continue;
    const variant = applyChanges(workflow, workflowChangesOf(config, item, place));
    const skipped = skippedPhases(config, item, place);
    const wanted = phasesAhead(variant, skipped);
    const tickets = await earlier.of(item.key, place.repo);
    const closed = item.state === 'closed' && !force;
    const claim = tickets.map((ticket) => liveClaim(engine, earlier, ticket)).find(Boolean);
    const gate = force || closed ? undefined : tickets.findLast((each) => isAtGate(each, earlier));
    if (claim) refuse(item, lockedBy(claim, engine.holder.leaseLeft(claim)));
    else if (gate) refuse(item, { waiting: true, ...howToPassGate(gate) });
    else {
      const left: Pick<Candidate, 'done' | 'resumed'> = force
        ? {}
        : await leftToDo(engine, { tickets, earlier, workflow, wanted, closed });
      const supersededTickets = tickets.filter((ticket) => !isOver(ticket) || ticket.status === 'failed');
      const decided = supersededTickets.find((ticket) => isForPerson(ticket, earlier.planOf(ticket)));
      if (decided) refuseInsideJob(engine, `take over ${refKey(decided)}: a person decides about it`);
      if (closed && !left.done)
        refuse(item, { reason: 'the issue is closed', hint: 'Run it anyway with --force.' });
      else
        issues.push({
          ...item,
          ...left,
          place,
          skipped,
          wanted,
          ahead: left.resumed ? wanted.slice(wanted.indexOf(left.resumed.phase)) : wanted,
          branch: (await earlier.branchOf(tickets)) ?? branchOfItem(item),
          supersedes: supersededTickets.map(refKey),
          pin: pinWorkflow({ ...resolved, workflow: variant }),
        });
    }
  }
  if (mode === 'chain') await redoUnstackedIssues(engine, issues);
  issues = await checkBases(engine, request, { issues, earlier, refuse });
  const finished = await finishedOutside(engine, issues, earlier, workflow);
  if (!force)
    issues = await refuseOpenDependencies(fetchOptions(engine, request), { issues, finished, refused });
  const groups = batches && batchKeys(batches, keys);
  issues = stopAtRefused({ mode, asked: items, issues, refused, groups });
  const now = engine.now();
  const planId = `run-${now.slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}-${engine.holder.token.slice(0, 4)}`;
  const planned = planIssues({ planId, now, request, mode, root, issues, finished, groups });
  return { ...planned, items: issues, refused };
}

/** Reports a directory outside a repository as wrong input, not as a workspace error. */
async function repositoryAt(engine: EngineContext, cwd: string): Promise<string> {
  const found = await orError(WorkspaceError, () => engine.workspaces.checkRepo(cwd));
  if (!(found instanceof WorkspaceError)) return found.root;
  const { code, message, details } = found;
  const elsewhere = code === 'workspace/not-a-repo' || code === 'workspace/repo-missing';
  const owned = found.hint?.startsWith('Git refuses');
  const hint =
    elsewhere && !owned ? 'Run this command inside the repository that the work is for.' : found.hint;
  throw new InputError(code, message, { hint, details });
}

/** Fetches the issues. A bad reference refuses the whole run; in a chain or sequence, a missing issue does, too. */
async function collectItems(
  engine: EngineContext,
  request: IssueRunRequest,
  root: string,
  earlier: EarlierIssues,
) {
  const { known = [] } = request;
  const open = request.references.filter((text) => !known.some((item) => item.id === text.replace(/^#/, '')));
  const options = fetchOptions(engine, request);
  const fetched = await fetchItems(open, options);
  const issues = await joinNumbered([...known, ...fetched.items], options);
  const all = await withTasks(engine, request, { root, issues, earlier });
  const checkouts = { workspaces: engine.workspaces, repos: engine.settings.repos };
  const { places, refused: elsewhere } = await placeItems(checkouts, request.cwd, all);
  const missing = fetched.problems.map(
    ({ reference, message, hint }): Refused => ({ reference, item: null, reason: message, hint }),
  );
  const refused: Refused[] = [...missing, ...elsewhere];
  const items = all.filter((item) => places.has(item.key));
  const bad = fetched.problems.find((problem) => problem.code === 'source/reference');
  const strict = runMode(request.config) !== 'parallel' || items.length === 0;
  const first = bad ? { reason: bad.message, hint: bad.hint } : strict ? refused[0] : undefined;
  if (first) {
    const message = /[.?!]$/.test(first.reason) ? first.reason : `${first.reason}.`;
    throw new InputError('run/reference', message, { hint: first.hint, details: { refused } });
  }
  // Keys of the items, by what was typed for them.
  const keys = new Map([...known.map((item) => [item.id, item.key] as const), ...fetched.keys]);
  return { items, places, keys, refused };
}

function fetchOptions(engine: EngineContext, { cwd, signal }: IssueRunRequest): GhOptions {
  return { cwd, env: engine.env, gh: engine.settings.ghCommand, signal };
}

/** Adds tasks as new work, with ids and branches that no other work has. */
async function withTasks(
  { workspaces }: EngineContext,
  { tasks = [] }: IssueRunRequest,
  { root: repo, issues, earlier }: { root: string; issues: readonly WorkItem[]; earlier: EarlierIssues },
): Promise<WorkItem[]> {
  if (tasks.length === 0) return [...issues];
  const ids = new Set(issues.map(({ id }) => id));
  const items = [...issues];
  for (const text of tasks) {
    const item = await itemFromText(
      text,
      async (task) =>
        ids.has(task.id) ||
        earlier.hasTicket(task.id) ||
        (await workspaces.tip({ repo, branch: branchOfItem(task) })) !== undefined,
    );
    ids.add(item.id);
    items.push(item);
  }
  return items;
}

/** References by group as keys. Each issue is in one group, however it was named. */
function batchKeys(batches: readonly (readonly string[])[], keys: ReadonlyMap<string, string>): string[][] {
  const seen = new Map<string, number>();
  return batches.map((names, index) =>
    names.flatMap((name) => {
      const key = keys.get(name) ?? keys.get(name.replace(/^#/, ''));
      if (key === undefined) return [];
      const other = seen.get(key);
      if (other !== undefined)
        throw new InputError(
          'run/batch',
          other === index
            ? `${name} is in batch ${index + 1} twice.`
            : `${name} is in batch ${other + 1} and in batch ${index + 1}.`,
          { hint: 'Name each issue once.' },
        );
      seen.set(key, index);
      return [key];
    }),
  );
}

/** The claim of an engine that works on a ticket, or holds the run in which the ticket is still to come. */
export function liveClaim(
  { holder }: EngineContext,
  earlier: EarlierIssues,
  ticket: Ticket,
): Claim | undefined {
  const plan = isOver(ticket) || isSuperseded(ticket) ? undefined : earlier.planOf(ticket);
  return [ticket.claim, plan?.claim].find((claim): claim is Claim => !!claim && holder.isLive(claim));
}

function lockedBy(claim: Claim, lease: number | undefined): Pick<Refused, 'locked' | 'reason' | 'hint'> {
  const { pid, host, renewedAt, by } = claim;
  return {
    locked: { pid, hostname: host, startedAt: renewedAt, command: by },
    reason: `being run by ${sayHolder({ ...claim, by: by === 'run' ? 'another run' : by })}`,
    hint:
      lease === undefined
        ? 'Watch it with: signalbox status'
        : onceLeaseIsOver(lease, 'give this command again'),
  };
}

/** Whether a ticket waits for an answer in an earlier run, or has the answer and only needs to be resumed. */
function isAtGate(ticket: Ticket, earlier: EarlierIssues): boolean {
  const plan = earlier.planOf(ticket);
  if (plan?.kind !== 'run' || (plan.status !== 'active' && plan.status !== 'paused')) return false;
  if (ticket.status === 'needs_attention') return ticket.hold?.kind === 'gate';
  return ticket.status === 'ready' && ticket.phaseHistory.at(-1)?.outcome === 'approve';
}

/** Whether a person is asked about a ticket, or has stopped it or given it up; a newer run has settled that. */
function isForPerson(ticket: Ticket, plan: Plan | undefined): boolean {
  const { status } = ticket;
  if (newerRunOf(ticket) !== undefined) return false;
  return (
    plan?.status !== 'active' || status === 'paused' || status === 'needs_attention' || isCancelled(ticket)
  );
}

function howToPassGate({ planId, ticketId, status }: Ticket): Pick<Refused, 'reason' | 'hint'> {
  const resume = `signalbox resume ${planId}`;
  return status === 'ready'
    ? { reason: `was approved in ${planId}, which has not continued since`, hint: resume }
    : {
        reason: `waits for approval in ${planId}`,
        hint: `signalbox respond ${planId} ${ticketId} approve && ${resume}`,
      };
}

/** A named base must exist, and existing branches of the issues must have begun at it. */
async function checkBases(
  engine: EngineContext,
  { config: { base, force } }: IssueRunRequest,
  {
    issues,
    earlier,
    refuse,
  }: {
    issues: readonly Candidate[];
    earlier: EarlierIssues;
    refuse(item: WorkItem, why: Pick<Refused, 'reason' | 'hint'>): void;
  },
): Promise<Candidate[]> {
  if (base === undefined) return [...issues];
  const kept: Candidate[] = [];
  // A missing base is wrong input, not a workspace error.
  const known = <T>(repo: string, answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      if (!(error instanceof WorkspaceError)) throw error;
      const hint = 'Name a branch that is here or on origin.';
      throw new InputError('run/base', error.message, { hint, details: { repo, base } });
    });
  for (const repo of new Set(issues.map(({ place }) => place.repo)))
    await known(repo, engine.workspaces.checkBase({ repo, base }));
  for (const issue of issues) {
    const found = issue.done
      ? null
      : await known(issue.place.repo, basedOn(engine, issue, { base, earlier }));
    if (found?.branch !== 'other') kept.push(issue);
    else {
      const { branch } = issue;
      const from = found.from ?? 'another branch';
      const own = found.from ? `with --base ${found.from}, or ` : '';
      const note = `Its branch ${branch} stays as it began, from ${from} and not from ${base}.`;
      if (force) kept.push({ ...issue, note });
      else
        refuse(issue, {
          reason: `its branch ${branch} exists and began at ${from}, not at ${base}`,
          hint: `Continue it as it is with --force, or ${own}delete the branch to start again.`,
        });
    }
  }
  return kept;
}

async function basedOn(
  engine: EngineContext,
  { id, key, title, branch, place: { repo } }: Candidate,
  { base, earlier }: { base: string; earlier: EarlierIssues },
) {
  const { workspaces, settings, store } = engine;
  const plan = TicketPlan.parse({ id: 'run', name: 'run', createdAt: engine.now(), repo, tickets: [] });
  const ticket = TicketBase.parse({ planId: plan.id, ticketId: id, title, branch });
  const view = store.glance();
  const { path } = workspaceFor(ticket, plan, settings, view);
  const before = [...(await earlier.of(key, repo)), ...view.tickets.values()].findLast(
    (each) => each.branch === branch && each.base !== null && earlier.repoOf(each) === repo,
  );
  return workspaces.basedOn({ repo, branch, path, base, recorded: before?.base?.ref ?? null });
}
