import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { agentReadiness } from '../../agents/check-installed-agents.ts';
import { type DoctorFinding, finding } from '../../config/doctor/check-programs.ts';
import { findAgent } from '../../config/resolve-agents.ts';
import { agentOf } from '../../engine/choose-agent-within-limits.ts';
import { type EngineContext, hooksOf, type StartRequest } from '../../engine/context.ts';
import { knownPinned, workflowNameOf } from '../../engine/pinned-workflow.ts';
import { type TicketWorkspace, workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { KnownRepositories, ownRepository } from '../../github/find-own-repository.ts';
import { GhError, requireLogin } from '../../github/gh/run-gh.ts';
import type { Env } from '../../machine/paths-and-user-home.ts';
import { ACTIONS, type ActionName, scriptInstead } from '../../model/actions.ts';
import { InputError, ifUsable, SignalboxError, WorkspaceError } from '../../model/errors.ts';
import { groupBy } from '../../model/group-and-remember.ts';
import { refKey } from '../../model/ids-and-branch-names.ts';
import { mayFallBack } from '../../model/limits/decide-agent-start.ts';
import { estimate, type Forecast } from '../../model/limits/usage-cost-and-estimate.ts';
import type { Plan } from '../../model/plan.ts';
import type { Attempt, Ticket } from '../../model/ticket.ts';
import {
  actionOf,
  commandOf,
  type Phase,
  phaseOf,
  phasesAhead,
  type Workflow,
} from '../../model/workflow.ts';
import { resolveWorkflow } from '../../workflows/find-and-check-workflow.ts';
import { type PinnedWorkflow, readPinned } from '../../workflows/pin-workflow-and-render-prompts.ts';
import { baseFindings } from './check-base-commit.ts';

/** A ticket that is about to start or to continue. */
interface Work {
  ticket: Ticket;
  workspace: TicketWorkspace;
  /** Phases that it may go through. */
  phases: readonly Phase[];
  /** Those that are ahead of it when all goes well. */
  ahead: readonly Phase[];
  /** The bundled step that a phase runs; undefined for other phases. */
  stepOf(phase: Phase): ActionName | undefined;
}

/** Finds what would make work fail after agents were paid for it. Needs no network, unless the host of origin is unknown. */
export async function preflight(engine: EngineContext, request: StartRequest): Promise<DoctorFinding[]> {
  const works = await worksOf(engine, request);
  const byRepo = groupBy(works, ({ workspace }) => workspace.repo);
  const found = await Promise.all([
    agentFindings(engine, request, works),
    ...[...byRepo].map(([repo, own]) => orNothing(() => repositoryFindings(engine, repo, own))),
  ]);
  const findings = found.flatMap((each) => each ?? []);
  // The checks of the base take long: not for work that is refused anyway.
  if (findings.some(({ level }) => level === 'bad')) return findings;
  const { signal = new AbortController().signal } = request;
  for (const own of byRepo.values()) {
    const first = own.find(({ ticket, phases, stepOf }) => {
      const isNew = ticket.base === null && ticket.phaseHistory.length === 0;
      return isNew && phases.some((phase) => stepOf(phase) === 'checks');
    });
    if (!first || signal.aborted || request.plan.baseCheck === false) continue;
    const { plan, isDetached = false } = request;
    const asked = { planId: plan.id, workspace: first.workspace, isDetached, signal };
    findings.push(...((await orNothing(() => baseFindings(engine, asked))) ?? []));
  }
  return findings;
}

/** Tickets whose workflow or repository cannot be found out are left out: they fail before an agent starts. */
async function worksOf(engine: EngineContext, { plan, tickets, pinned = [] }: StartRequest): Promise<Work[]> {
  const { settings } = engine;
  const unstored = new Map(pinned.map(({ hash, text }) => [hash, text]));
  const workflows = new Map<string, Promise<PinnedWorkflow | undefined>>();
  const workflowOf = (ticket: Ticket) => {
    const name = workflowNameOf(ticket, plan, settings);
    const key = ticket.workflowHash ?? `name ${name}`;
    const text = unstored.get(key);
    const known =
      workflows.get(key) ??
      orNothing(async () =>
        text
          ? readPinned(text)
          : (knownPinned(engine, ticket) ?? (await resolveWorkflow(name, settings.searchPath))),
      );
    workflows.set(key, known);
    return known;
  };
  const view = { plans: [plan], tickets: new Map(tickets.map((ticket) => [refKey(ticket), ticket])) };
  const works: Work[] = [];
  for (const ticket of tickets) {
    const known = await workflowOf(ticket);
    const workspace = ifUsable(() => workspaceFor(ticket, plan, settings, view));
    if (!known || !workspace) continue;
    const phases = known.workflow.phases.filter(({ id }) => !ticket.skipPhases.includes(id));
    const stepOf = (phase: Phase) => bundledStep(phase, known, settings.packageDir);
    works.push({ ticket, workspace, phases, ahead: aheadOf(ticket, known.workflow), stepOf });
  }
  return works;
}

function aheadOf(ticket: Ticket, workflow: Workflow): Phase[] {
  const ids = phasesAhead(workflow, ticket.skipPhases);
  const left = ids.slice(Math.max(0, ids.indexOf(ticket.currentPhase ?? '')));
  return left.flatMap((id) => phaseOf(workflow, id) ?? []);
}

/** Finished plans that are searched for earlier attempts: the latest. What a forecast costs does not grow with age. */
const MAX_FINISHED = 20;

/** Starts nothing, and asks no network. */
export async function forecast(
  engine: EngineContext,
  request: StartRequest & { mode?: Forecast['mode'] },
): Promise<Forecast> {
  const { settings } = engine;
  const { plan } = request;
  const works = await worksOf(engine, request);
  const steps = works.flatMap(({ ticket, ahead, stepOf }) =>
    ahead.map((phase) => ({
      phase,
      agent: phase.type === 'agent' ? agentOf(engine, phase, ticket, plan) : null,
      step: stepOf(phase),
    })),
  );
  const ofAgents = steps.filter(({ agent }) => agent !== null);
  const models = ofAgents.flatMap(({ phase, agent }) => {
    const { model = null, effort = null } = phase.type === 'agent' ? phase : {};
    const chosen = model ?? settings.agents[agent ?? '']?.model ?? null;
    return chosen === null && effort === null ? [] : [[phase.id, { model: chosen, effort }] as const];
  });
  const concurrency = plan.workspace ? 1 : limitOf(settings, plan);
  const timed = works.map(({ ticket, phases, ahead }) =>
    [...new Set([...ahead, ...phases])]
      .filter(({ type }) => type !== 'gate' && type !== 'poll' && type !== 'terminal')
      .map((phase) => ({
        phase: phase.id,
        agent: phase.type === 'agent' ? agentOf(engine, phase, ticket, plan) : null,
        isRework: !ahead.includes(phase),
      })),
  );
  return {
    mode: request.mode ?? (concurrency === 1 ? 'sequential' : 'parallel'),
    concurrency,
    agents: [...new Set(ofAgents.flatMap(({ agent }) => agent ?? []))],
    models: [...new Map(models)].map(([phase, named]) => ({ phase, ...named })),
    forge: [...new Set(steps.filter(({ step }) => isOnGithub(step)).map(({ phase }) => phase.id))],
    estimate: estimate(timed, earlierAttempts(engine), concurrency),
    phases: Object.fromEntries(
      works.map(({ ticket, ahead }) => [ticket.ticketId, ahead.map(({ id }) => id)]),
    ),
  };
}

/** A run may be asked for more than the default of maxConcurrency, but not for more than a setting. */
function limitOf({ maxConcurrency, origin }: EngineContext['settings'], { concurrency, kind }: Plan): number {
  if (concurrency == null) return maxConcurrency;
  return kind === 'run' && origin.maxConcurrency === 'default'
    ? concurrency
    : Math.min(concurrency, maxConcurrency);
}

/** The attempts of each ticket of open plans and of the latest finished ones, the latest ticket first. */
function earlierAttempts({ store }: EngineContext): Attempt[][] {
  const { tickets, finished } = store.glance();
  const ids = finished?.since(0, MAX_FINISHED) ?? [];
  const all = [...tickets.values(), ...ids.flatMap((id) => [...store.view(id).tickets.values()])];
  return all
    .map(({ phaseHistory }) => phaseHistory)
    .sort((a, b) => (b.at(-1)?.startedAt ?? '').localeCompare(a.at(-1)?.startedAt ?? ''));
}

/** The bundled step of a phase; undefined if a user's script replaces it. */
function bundledStep(phase: Phase, { scripts }: PinnedWorkflow, packageDir: string): ActionName | undefined {
  const action = actionOf(phase);
  if (action) return scripts[scriptInstead(action)] ? undefined : action;
  const command = commandOf(phase);
  if (command === undefined || scripts[command] !== join(packageDir, 'scripts', command)) return undefined;
  return (Object.keys(ACTIONS) as ActionName[]).find((name) => scriptInstead(name) === command);
}

function isOnGithub(step: ActionName | undefined): boolean {
  return step !== undefined && ACTIONS[step].isOnGithub === true;
}

/** An agent that phases ask for. */
interface AskedAgent {
  /** Variables that phases let it have. */
  allow: Set<string>;
  cwd: string;
  /** What names it, unless the plan, a ticket or a phase does. */
  setting: string | null;
  /** It is needed only while another one waits for a usage limit. */
  isSpare: boolean;
}

function fallbacksOf(agents: EngineContext['settings']['agents'], name: string) {
  const found: { agent: string; setting: string }[] = [];
  const fallbackOf = (agent: string) => (Object.hasOwn(agents, agent) ? agents[agent]?.fallback : undefined);
  let [from, to] = [name, fallbackOf(name)];
  while (to !== undefined && to !== name && !found.some(({ agent }) => agent === to)) {
    found.push({ agent: to, setting: `agents.${from}.fallback` });
    [from, to] = [to, fallbackOf(to)];
  }
  return found;
}

async function agentFindings(
  engine: EngineContext,
  { plan }: StartRequest,
  works: readonly Work[],
): Promise<DoctorFinding[]> {
  const { settings, env, machine } = engine;
  const agents = new Map<string, AskedAgent>();
  const ask = (name: string, asked: Omit<AskedAgent, 'allow'>, variables: readonly string[] = []) => {
    const known = agents.get(name);
    const agent =
      known && !(known.isSpare && !asked.isSpare) ? known : { ...asked, allow: known?.allow ?? new Set() };
    for (const variable of variables) agent.allow.add(variable);
    agents.set(name, agent);
  };
  for (const { ticket, workspace, phases } of works) {
    for (const phase of phases) {
      if (phase.type !== 'agent') continue;
      const cwd = workspace.repo;
      const own = { agent: agentOf(engine, phase, ticket, plan), setting: null };
      const others = phase.agent === undefined ? hooksOf(engine, plan).possibleAgents?.(plan, ticket) : [];
      for (const { agent, setting } of [own, ...(others ?? [])]) {
        ask(agent, { cwd, setting, isSpare: false }, phase.env);
        for (const spare of mayFallBack(phase) ? fallbacksOf(settings.agents, agent) : [])
          ask(spare.agent, { cwd, setting: spare.setting, isSpare: true }, phase.env);
      }
    }
  }
  const findings = [...agents].map(async ([name, { allow, cwd, setting, isSpare }]) => {
    try {
      const agent = findAgent(settings.agents, name);
      const given = { settings, env, allow: [...allow], now: engine.now() };
      const here = existsSync(cwd) ? cwd : settings.packageDir;
      const found = await agentReadiness(agent, {
        ...given,
        cwd: here,
        versionsFile: machine.programVersions,
      });
      return found.map((each) => ({
        ...each,
        what: setting === null ? each.what : `${each.what} of ${setting}`,
        level: isSpare ? 'warn' : each.level,
      }));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return [finding('bad', `agent ${name}`, error.message, error.hint)];
    }
  });
  return (await Promise.all(findings)).flat();
}

async function repositoryFindings(
  engine: EngineContext,
  repo: string,
  works: readonly Work[],
): Promise<DoctorFinding[]> {
  const { workspaces } = engine;
  // A repository that does not exist fails its tickets before an agent starts.
  await workspaces.checkRepo(repo);
  const writes = works.some(({ phases }) =>
    phases.some((phase) => phase.type === 'agent' && phase.access !== 'read'),
  );
  const onGithub = works.some(({ phases, stepOf }) => phases.some((phase) => isOnGithub(stepOf(phase))));
  const found = await Promise.all([
    writes ? identityFindings(engine, repo) : [],
    onGithub ? githubFindings(engine, repo, new KnownRepositories(engine.machine.githubCache)) : [],
    worktreePathFindings(engine, works),
  ]);
  return found.flat();
}

/** Whether git knows who commits in a repository. */
export async function identityFindings(
  { workspaces }: Pick<EngineContext, 'workspaces'>,
  repo: string,
): Promise<DoctorFinding[]> {
  const problem = await workspaces.identityProblem(repo);
  if (problem === undefined) return [];
  const fix = `Set who commits: git config --global user.name "…" && git config --global user.email "…"`;
  return [finding('bad', 'git', `nothing can be committed in ${repo}: ${problem}`, fix)];
}

const NO_PULL_REQUESTS = 'or use a workflow without pull requests (issue runs: --no-pr)';

interface GithubPlace extends Pick<EngineContext, 'workspaces'> {
  settings: { ghCommand: string };
  env: Env;
}

/** Why no pull request can be opened. */
export async function githubFindings(
  { workspaces, settings, env }: GithubPlace,
  repo: string,
  memory: Parameters<typeof ownRepository>[1],
): Promise<DoctorFinding[]> {
  if (!(await workspaces.hasRemote(repo))) {
    const fix = `Add it: git -C ${repo} remote add origin <address>, ${NO_PULL_REQUESTS}.`;
    return [finding('bad', 'origin', `${repo} has no remote called origin to push to`, fix)];
  }
  const options = { gh: settings.ghCommand, cwd: repo, env };
  try {
    const { host } = await ownRepository(options, memory);
    await requireLogin(host, options);
    return [];
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    // GitHub may be reachable again when the branch is pushed.
    if (error instanceof GhError && ['network', 'timeout', 'server', 'rate-limited'].includes(error.failure))
      return [];
    // Their own hints are for a person who gave the number of an issue.
    const hint = (error.hint ?? '').replace(' Markdown files need no GitHub.', '');
    const [message, fix] =
      error.code === 'source/no-repository' && !env.GH_REPO
        ? [`origin of ${repo} is not on GitHub, so no pull request can be opened`, 'Push to GitHub']
        : [error.message, `${hint} Do that`];
    return [finding('bad', 'GitHub', message, `${fix}, ${NO_PULL_REQUESTS}.`)];
  }
}

/** Problems of worktree paths. Checks only paths that exist: a plan may have thousands of tickets. */
async function worktreePathFindings(
  { workspaces }: EngineContext,
  works: readonly Work[],
): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  const roots = new Set<string>();
  for (const { ticket, workspace } of works) {
    const { path, worktreeRoot, inPlace, shared } = workspace;
    if (inPlace || ticket.base !== null || ticket.phaseHistory.length > 0) continue;
    if (roots.has(worktreeRoot) && (shared || !existsSync(path))) continue;
    roots.add(worktreeRoot);
    const found = await orNothing(() => workspaces.findObstacles({ ...workspace, stackOn: [] }));
    for (const { field, message, hint } of found ?? [])
      if (field === 'worktree' || field === 'worktreeRoot')
        findings.push(finding('bad', `worktree of ${ticket.ticketId}`, message, hint));
  }
  return findings;
}

/** Undefined after an input or workspace error, such as a shortage: the ticket itself will report it. */
async function orNothing<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InputError || error instanceof WorkspaceError) return undefined;
    throw error;
  }
}
