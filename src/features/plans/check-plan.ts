import { adapterFor, capabilityProblems } from '../../agents/adapters-and-agent-problems.ts';
import { missingProgram } from '../../config/doctor/check-programs.ts';
import { agentOf } from '../../engine/choose-agent-within-limits.ts';
import type { EngineContext } from '../../engine/context.ts';
import { pinnedFor } from '../../engine/pinned-workflow.ts';
import {
  branchOf,
  isNameOfRepository,
  repoOf,
  workspaceFor,
} from '../../engine/work-out-workspace-and-repository.ts';
import { mappedPath } from '../../issues/find-issue-checkouts.ts';
import { scriptInstead } from '../../model/actions.ts';
import { ifUsable, messageOf, orError, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { cannotCoexist, defaultBranch, idProblem, refKey } from '../../model/ids-and-branch-names.ts';
import type { Plan } from '../../model/plan.ts';
import { planProblems } from '../../model/plans/dependency-and-branch-problems.ts';
import { hasBegun } from '../../model/plans/edit-rules.ts';
import { overlaps, pathProblem } from '../../model/plans/overlapping-ticket-paths.ts';
import { planOf, ticketsOf } from '../../model/plans/plans-view.ts';
import { didYouMean } from '../../model/text/nearest-word.ts';
import { isCancelled, isOver, saysStatus, type Ticket } from '../../model/ticket.ts';
import { actionOf, commandOf, type Workflow } from '../../model/workflow.ts';
import { inspectState } from '../../store/inspect-state-file.ts';
import { openAndOnePlan, type StoreView } from '../../store/store-interface.ts';
import { MAX_PROMPT_BYTES } from '../../workflows/find-workflows-prompts-scripts.ts';

/** Everything that is wrong with a plan, found before anything runs. */
export async function checkPlan(engine: EngineContext, planId: string): Promise<Problem[]> {
  const { store } = engine;
  const view = openAndOnePlan(store, planId);
  const files = fileProblems(engine, planId, view);
  const plan = planOf(view, planId);
  if (!plan) {
    // A plan that does not exist is another error.
    if (files.length === 0) store.plan(planId);
    return files;
  }
  const planFile = store.location({ planId, ticketId: null });
  const problems = [...files];
  const add = (ticketId: string | null, { place, message, hint, ...rest }: Finding) => {
    const { file = store.location({ planId, ticketId }), path = place, severity = 'error' } = rest;
    problems.push({ ticketId, place, file, path, message, hint, severity });
  };
  for (const { ticketId, message, path, in: where } of planProblems(plan, view)) {
    if (where === 'ticket' && ticketId !== null)
      add(ticketId, { place: path ?? 'ticket', path: path ?? 'tickets', message });
    else add(ticketId, { place: 'plan.json: tickets', path: path ?? 'tickets', message, file: planFile });
  }
  if (plan.tickets.length === 0)
    add(null, { place: 'plan.json: tickets', path: 'tickets', message: 'The plan has no tickets.' });
  if (plan.agent !== null && !Object.hasOwn(engine.settings.agents, plan.agent))
    add(null, { place: 'agent', message: unknownAgent(engine, plan.agent) });
  const ofPlan = new Set<string>();
  for (const ticket of ticketsOf(view, plan)) {
    const { ticketId } = ticket;
    for (const finding of await checkTicket(engine, plan, ticket, view)) {
      const shared = finding.file === planFile;
      // A wrong value of the plan is found by every ticket that uses it.
      if (shared && ofPlan.has(finding.message)) continue;
      if (shared) ofPlan.add(finding.message);
      add(shared ? null : ticketId, finding);
    }
    if (ticket.title.trim() === '')
      add(ticketId, {
        place: 'title',
        message: 'The ticket has no title.',
        hint: `Give it one: signalbox plan edit ${planId} ${ticketId} --title "…"`,
      });
    if (ticket.acceptanceCriteria.length === 0)
      add(ticketId, {
        place: 'acceptanceCriteria',
        message: 'The ticket has no acceptance criteria.',
        hint: 'Describe how to tell that it is done; agents and reviews use it.',
        severity: 'warning',
      });
  }
  for (const { a, b, paths } of overlaps(plan, view))
    add(b, {
      place: 'paths',
      message: `${a} and ${b} may run at once and both will change ${[...new Set(paths)].join(' and ')}.`,
      hint: `Let one wait for the other (blockedBy), or divide the work differently.`,
      severity: 'warning',
    });
  return problems;
}

async function checkTicket(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
  view: StoreView,
): Promise<Finding[]> {
  const problems: Finding[] = [];
  const planFile = engine.store.location({ planId: plan.id, ticketId: null });
  /** A value that comes from the plan has to be fixed in the plan's file. */
  const whereOf = (field: 'repo' | 'workflow') => (ticket[field] === null ? { file: planFile } : {});
  const attempt = async (place: string, more: Partial<Finding>, fn: () => unknown) => {
    try {
      await fn();
    } catch (error) {
      const hint = error instanceof SignalboxError ? error.hint : undefined;
      problems.push({ place, message: messageOf(error), ...more, ...(hint ? { hint } : {}) });
    }
  };
  const named = ticket.repo ?? plan.repo ?? '';
  const { repos } = engine.settings;
  const isForWorkers =
    engine.store.fleet && isNameOfRepository(named) && mappedPath(repos, named) === undefined;
  // The clones are on other machines.
  const severity = isForWorkers ? { severity: 'warning' as const } : {};
  await attempt('repo', { ...whereOf('repo'), ...severity }, async () => {
    const repo = repoOf(ticket, plan, engine.settings);
    await engine.workspaces.checkRepo(repo);
    await attempt('branch', {}, () => branchOf(ticket));
    if (!hasBegun(ticket)) problems.push(...(await obstacles(engine, plan, ticket, view)));
    // A ticket that was held before it had a workspace still needs its base.
    else if (ticket.base === null && ticket.status !== 'complete')
      problems.push(...(await obstacles(engine, plan, ticket, view)).filter(({ place }) => place === 'base'));
  });
  problems.push(...ticketNeedsPerson(ticket));
  if (ticket.agent !== null && !Object.hasOwn(engine.settings.agents, ticket.agent))
    problems.push({ place: 'agent', message: unknownAgent(engine, ticket.agent) });
  await attempt('workflow', whereOf('workflow'), async () => {
    const { workflow, prompts } = await pinnedFor(engine, ticket, plan);
    if (!isOver(ticket)) problems.push(...tooLong(ticket, workflow, prompts));
    problems.push(...(await noMergeTarget(engine, plan, { workflow, ticket, view })));
    for (const [field, names] of [
      ['skipPhases', ticket.skipPhases],
      ['currentPhase', ticket.currentPhase === null ? [] : [ticket.currentPhase]],
    ] as const)
      await attempt(field, {}, () => checkPhaseNames(workflow, names));
    for (const phase of workflow.phases) {
      if (phase.type !== 'agent') continue;
      const name = agentOf(engine, phase, ticket, plan);
      // Already reported for the ticket or the plan that names it.
      if (name === ticket.agent && !Object.hasOwn(engine.settings.agents, name)) continue;
      if (name === plan.agent && !Object.hasOwn(engine.settings.agents, name)) continue;
      await attempt(`phase ${phase.id}`, { path: 'workflow' }, () => checkAgent(engine, name, phase));
      if (!isOver(ticket) && !ticket.skipPhases.includes(phase.id))
        problems.push(...notInstalled(engine, name, planFile));
    }
  });
  for (const path of ticket.paths ?? []) {
    const problem = pathProblem(path);
    if (problem) problems.push({ place: 'paths', message: `The path "${path}" ${problem}.` });
  }
  return problems;
}

/** Reports a description that is too long for a prompt. */
function tooLong(
  { planId, ticketId, description }: Ticket,
  workflow: Workflow,
  prompts: Readonly<Record<string, string>>,
): Finding[] {
  const bytes = Buffer.byteLength(description);
  if (bytes <= MAX_PROMPT_BYTES) return [];
  const own = workflow.phases.flatMap((phase) =>
    phase.type === 'agent' && phase.prompt ? [phase.prompt] : [],
  );
  if (![...own, ...Object.values(prompts)].some((text) => /\bdescription\b/.test(text))) return [];
  const message = `The description has ${bytes} bytes; a prompt may have at most ${MAX_PROMPT_BYTES}.`;
  const hint = `Shorten it: signalbox plan edit ${planId} ${ticketId} --description-file <file>`;
  return [{ place: 'description', message, hint }];
}

/** Reports a ticket that needs a person although its files are correct. */
function ticketNeedsPerson(ticket: Ticket): Finding[] {
  const { status, hold, error, planId, ticketId } = ticket;
  const waits =
    (status === 'failed' && !isCancelled(ticket)) || (status === 'needs_attention' && hold?.kind !== 'gate');
  if (!waits) return [];
  const word = status === 'failed' ? 'has failed' : 'needs attention';
  const message = `The ticket ${word}: ${error ?? hold?.reason ?? 'a person must check it'}`;
  const hint = `Once that is fixed: signalbox retry ${planId} ${ticketId}`;
  return [{ place: 'status', message, hint, severity: 'warning' }];
}

function unknownAgent({ settings }: EngineContext, name: string): string {
  const known = Object.keys(settings.agents);
  return `Agent "${name}" is not configured (known: ${known.join(', ')}).${didYouMean(name, known)}`;
}

/** Only a warning, once for the plan: the program may be installed before the phase starts. */
function notInstalled({ settings, env }: EngineContext, name: string, file: string): Finding[] {
  const agent = Object.hasOwn(settings.agents, name) ? settings.agents[name] : undefined;
  const missing = agent && missingProgram({ settings, env }, agent);
  if (!missing) return [];
  const message = `Agent "${name}" cannot start here: ${missing.detail}.`;
  return [{ place: `agent ${name}`, path: 'agent', file, message, hint: missing.fix, severity: 'warning' }];
}

function checkPhaseNames(workflow: Workflow, names: readonly string[]): void {
  const known = workflow.phases.map((phase) => phase.id);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const near = didYouMean(unknown, known);
  throw new Error(
    `Workflow "${workflow.name}" has no phase "${unknown}".${near} Its phases: ${known.join(', ')}.`,
  );
}

function checkAgent(
  engine: EngineContext,
  name: string,
  phase: Parameters<typeof capabilityProblems>[1],
): void {
  const agent = Object.hasOwn(engine.settings.agents, name) ? engine.settings.agents[name] : undefined;
  if (!agent) throw new Error(unknownAgent(engine, name));
  const [problem] = capabilityProblems(adapterFor(agent.adapter), phase);
  if (problem) throw new Error(`Agent "${name}": ${problem}`);
}

/** What would keep a ticket's branch and worktree from being created. */
async function obstacles(
  engine: EngineContext,
  plan: Plan,
  ticket: Ticket,
  view: StoreView,
): Promise<Finding[]> {
  const spec = workspaceFor(ticket, plan, engine.settings, view);
  const found = await engine.workspaces.findObstacles({ ...spec, stackOn: [] });
  const planFile = engine.store.location({ planId: plan.id, ticketId: null });
  const fetched =
    found.some(({ field }) => field === 'base') && (await engine.workspaces.hasRemote(spec.repo));
  return [
    ...sameBranch(engine, plan, ticket, view),
    ...found.map(({ field, message, hint }) => ({
      place: field,
      message,
      hint,
      // A branch that only origin has is fetched when the work begins.
      severity: field === 'base' && fetched ? ('warning' as const) : ('error' as const),
      ...(field === 'base' || (field === 'worktreeRoot' && plan.worktreeRoot !== null)
        ? { file: planFile }
        : {}),
    })),
  ];
}

/** Reports a missing merge target before agents do the work. */
async function noMergeTarget(
  engine: EngineContext,
  plan: Plan,
  { workflow, ticket, view }: { workflow: Workflow; ticket: Ticket; view: StoreView },
): Promise<Finding[]> {
  const merges = workflow.phases.find(
    (phase) => actionOf(phase) === 'integrate' || commandOf(phase) === scriptInstead('integrate'),
  );
  if (!merges || ticket.skipPhases.includes(merges.id) || hasBegun(ticket)) return [];
  const spec = ifUsable(() => workspaceFor(ticket, plan, engine.settings, view));
  // A wrong base or repository is reported elsewhere.
  const target = spec && (await orError(WorkspaceError, () => engine.workspaces.mergeTarget(spec)));
  if (!spec || target !== undefined) return [];
  return [
    {
      place: 'base',
      file: engine.store.location({ planId: plan.id, ticketId: null }),
      message: `The work would start from a commit on no branch, and phase "${merges.id}" could not merge it.`,
      hint: 'Set `base` of the plan to a branch.',
    },
  ];
}

/** Unfinished tickets of other plans that work on the same branch. */
function sameBranch(engine: EngineContext, plan: Plan, ticket: Ticket, view: StoreView): Finding[] {
  const branch = branchOf(ticket);
  const repo = repoOf(ticket, plan, engine.settings);
  const own = ticket.supersedes ?? [];
  for (const other of view.plans) {
    if (other.id === plan.id || other.status === 'archived' || other.status === 'complete') continue;
    for (const found of ticketsOf(view, other)) {
      const name = refKey(found);
      if (found.status === 'complete' || own.includes(name)) continue;
      const theirs = found.branch ?? defaultBranch(found);
      if (theirs !== branch && !cannotCoexist(theirs, branch)) continue;
      if ((found.repo ?? other.repo) === null || repoOf(found, other, engine.settings) !== repo) continue;
      const message =
        theirs === branch
          ? `Branch "${branch}" is also the branch of ${name}, which ${saysStatus(found)}.`
          : `Git cannot have branch "${branch}" beside "${theirs}" of ${name}, which ${saysStatus(found)}.`;
      return [{ place: 'branch', message, hint: 'Give one of the two another branch.' }];
    }
  }
  return [];
}

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

/** A problem before its ticket is filled in. Defaults: the ticket's file, `place` as the path, an error. */
type Finding = Pick<Problem, 'place' | 'message'> &
  Partial<Pick<Problem, 'path' | 'hint' | 'severity' | 'file'>>;

/** Everything that makes files unreadable, and fields that look misspelt. */
function fileProblems(engine: EngineContext, planId: string, view: StoreView): Problem[] {
  const { store } = engine;
  const found: Problem[] = [];
  const inspected = (ticketId: string | null, file: string) => {
    const issues = inspectState(store, { planId, ticketId });
    for (const { path, message, severity, at } of issues) {
      const where = at ? `${file}:${at.line}:${at.column}: ` : path === null ? `${file}: ` : '';
      found.push({ ticketId, place: path ?? file, file, path, message: `${where}${message}`, severity });
    }
    return issues.some(({ severity }) => severity === 'error');
  };
  const reported = new Set<string>();
  for (const { ticketId, path, message, planId: of } of view.problems) {
    if (of !== planId) continue;
    reported.add(path);
    const isOwn = [planId, ticketId ?? planId].every((id) => idProblem(id) === undefined);
    // A problem of a directory is reported as it is.
    if (!isOwn || store.location({ planId, ticketId }) !== path || !inspected(ticketId, path))
      found.push({ ticketId, place: path, file: path, path: null, message, severity: 'error' });
  }
  const plan = planOf(view, planId);
  const others = [...(plan ? [null] : []), ...(plan?.tickets ?? []).map(({ ticketId }) => ticketId)];
  for (const ticketId of others) {
    const file = store.location({ planId, ticketId });
    if (!reported.has(file)) inspected(ticketId, file);
  }
  return found;
}
