import { adapterFor, capabilityProblems } from '../agents/index.ts';
import { dependencyProblems } from '../model/dependencies.ts';
import { messageOf } from '../model/errors.ts';
import { refKey } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import type { Ticket } from '../model/ticket.ts';
import { agentOf, branchOf, repoOf } from './facts.ts';
import type { Parts } from './parts.ts';
import { pinnedFor } from './pinned.ts';

export interface Problem {
  ticketId: string | null;
  /** File or field. */
  place: string;
  message: string;
  /** A warning does not keep the plan from running. */
  severity: 'error' | 'warning';
}

/** Everything that is wrong with a plan, found before anything runs. */
export async function checkPlan(parts: Parts, planId: string): Promise<Problem[]> {
  const { store } = parts;
  const view = store.view();
  const plan = store.plan(planId);
  const problems: Problem[] = [];
  const add = (
    ticketId: string | null,
    place: string,
    message: string,
    severity: Problem['severity'] = 'error',
  ) => problems.push({ ticketId, place, message, severity });
  for (const problem of view.problems)
    if (problem.planId === planId) add(problem.ticketId, problem.path, problem.message);
  for (const problem of dependencyProblems(plan, view.plans))
    add(problem.ticketId, 'plan.json: tickets', problem.message);
  if (plan.tickets.length === 0) add(null, 'plan.json: tickets', 'The plan has no tickets.');
  const branches = new Map<string, string>();
  for (const entry of plan.tickets) {
    const ticket = view.tickets.get(refKey({ planId, ticketId: entry.ticketId }));
    if (!ticket) continue;
    for (const problem of await checkTicket(parts, plan, ticket, branches)) problems.push(problem);
    if (ticket.acceptanceCriteria.length === 0) {
      add(ticket.ticketId, 'acceptanceCriteria', 'The ticket has no acceptance criteria.', 'warning');
    }
  }
  return problems;
}

async function checkTicket(
  parts: Parts,
  plan: Plan,
  ticket: Ticket,
  branches: Map<string, string>,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const { ticketId } = ticket;
  const attempt = async (place: string, fn: () => unknown) => {
    try {
      await fn();
    } catch (error) {
      problems.push({ ticketId, place, message: messageOf(error), severity: 'error' });
    }
  };
  await attempt('repo', async () => {
    const repo = repoOf(ticket, plan, parts.settings);
    await parts.workspaces.checkRepo(repo);
    const branch = branchOf(ticket);
    const other = branches.get(`${repo}\n${branch}`);
    if (other) throw new Error(`Branch "${branch}" is also the branch of ${other}.`);
    branches.set(`${repo}\n${branch}`, ticketId);
  });
  await attempt('workflow', async () => {
    const { workflow } = await pinnedFor(parts, ticket, plan);
    for (const phase of workflow.phases) {
      if (phase.type === 'agent')
        await attempt(`phase ${phase.id}`, () =>
          checkAgent(parts, agentOf(phase, ticket, plan, parts.settings), phase),
        );
    }
  });
  return problems;
}

function checkAgent(parts: Parts, name: string, phase: Parameters<typeof capabilityProblems>[1]): void {
  const agent = Object.hasOwn(parts.settings.agents, name) ? parts.settings.agents[name] : undefined;
  if (!agent)
    throw new Error(
      `Agent "${name}" is not configured (known: ${Object.keys(parts.settings.agents).join(', ')}).`,
    );
  const [problem] = capabilityProblems(adapterFor(agent.adapter), phase);
  if (problem) throw new Error(`Agent "${name}": ${problem}`);
}
