import { isRunByDaemon } from '../../engine/claim-and-complete-plan.ts';
import type { EngineContext } from '../../engine/context.ts';
import {
  carryOutCommand,
  pausePlan as pauseIn,
  resumeAll,
  resumePlan as resumeIn,
} from '../../engine/control-tickets.ts';
import { latestStopped, stoppedIn } from '../../engine/find-stopped-plan.ts';
import { InputError } from '../../model/errors.ts';
import { runCommand } from '../../model/state/explain-ticket.ts';
import { answer, type Io } from '../io.ts';
import { type GlobalOptions, openEngine } from '../open-state-and-check-flags.ts';

type Wish = Parameters<typeof carryOutCommand>[2];
type TicketCommand = (io: Io, options: GlobalOptions, planId: string, ticketId: string) => Promise<void>;

export const pause: TicketCommand = (io, options, ...ref) => act(io, options, ref, { type: 'pause' });

export async function retry(
  io: Io,
  options: GlobalOptions & { latest?: boolean },
  ...ref: [planId: string, ticketId: string]
): Promise<void> {
  return act(io, options, ref, { type: 'retry', latest: options.latest === true });
}

export async function skip(io: Io, options: GlobalOptions, planId: string, ticketId: string, phase: string) {
  return act(io, options, [planId, ticketId], { type: 'skip', phase });
}

export async function respond(
  io: Io,
  options: GlobalOptions,
  planId: string,
  ticketId: string,
  decision: string,
  message: string[],
): Promise<void> {
  return act(io, options, [planId, ticketId], { type: 'respond', decision, message: message.join(' ') });
}

export async function stop(io: Io, options: GlobalOptions, planId: string, ticketId: string | undefined) {
  if (ticketId === undefined) return pausePlan(io, options, planId);
  return act(io, options, [planId, ticketId], { type: 'stop' });
}

async function act(
  io: Io,
  options: GlobalOptions,
  [planId, ticketId]: [string, string],
  wish: Wish,
): Promise<void> {
  const engine = await openEngine(io, options, wish.type);
  const ticket = await carryOutCommand(engine, { planId, ticketId }, wish, 'a person');
  const { status, currentPhase } = ticket;
  const at = currentPhase && currentPhase !== status ? ` at ${currentPhase}` : '';
  const moves = status === 'ready' || status === 'queued' || status === 'running';
  const next = moves ? nextStep(engine, planId) : '';
  answer(io, options, ticket, `${planId}/${ticketId} is ${status.replace('_', ' ')}${at}.${next}`);
}

export async function pausePlan(io: Io, options: GlobalOptions, planId: string): Promise<void> {
  const engine = await openEngine(io, options, 'pause-plan');
  const plan = await pauseIn(engine, planId, 'a person');
  answer(io, options, plan, `Plan ${planId} is ${plan.status}.`);
}

export async function resumePlan(io: Io, options: GlobalOptions, planId: string): Promise<void> {
  const engine = await openEngine(io, options, 'resume-plan');
  const plan = await resumeIn(engine, planId);
  answer(io, options, plan, `Plan ${planId} is ${plan.status}.${nextStep(engine, planId)}`);
}

/** Runs of issues and specs continue here, unless a daemon has them. Other plans continue where they are run. */
export async function resume(
  io: Io,
  options: GlobalOptions & { answer?: string },
  planId: string | undefined,
  ticketId: string | undefined,
): Promise<void> {
  if (options.answer?.trim() === '')
    throw new InputError('usage', '--answer says nothing.', {
      hint: 'Write what the agent should know: --answer "Use the new table."',
    });
  if (planId && ticketId) return act(io, options, [planId, ticketId], { type: 'resume' });
  const engine = await openEngine(io, options, 'resume');
  const id = planId || (await latestStopped(engine, io.cwd));
  const found = engine.store.plan(id);
  io.resumesSpec = found.kind === 'spec';
  if (found.kind === 'spec') return resumeSpecHere(io, options, engine, id);
  if (options.answer !== undefined)
    throw new InputError('usage', `--answer is for runs of specs, and "${id}" is none.`, {
      hint: `Answer a gate with: signalbox respond ${id} <ticket> <decision> "…"`,
    });
  if (found.kind === 'run') {
    if (!isRunByDaemon(engine, id)) return (await import('./run.ts')).resumeIssues(id, options, io);
    const { adoptFinished } = await import('../../features/issue-runs/resume-run.ts');
    await adoptFinished(engine, id);
    if (found.status === 'active' && stoppedIn(engine, id).length === 0) {
      const text = `Run ${id} is ${found.status}.${nextStep(engine, id)}`;
      return answer(io, options, { plan: found, resumed: [] }, text);
    }
  }
  const { plan, tickets } = await resumeAll(engine, id);
  const which = tickets.length > 0 ? ` (${tickets.join(', ')} resumed)` : '';
  const text = `Plan ${plan.id} is ${plan.status}${which}.${nextStep(engine, plan.id)}`;
  answer(io, options, { plan, resumed: tickets }, text);
}

/** A spec continues here. If a daemon has it, it only gets the answer. */
async function resumeSpecHere(
  io: Io,
  options: GlobalOptions & { answer?: string },
  engine: EngineContext,
  planId: string,
): Promise<void> {
  if (!isRunByDaemon(engine, planId)) return (await import('./run-spec.ts')).resumeSpec(planId, options, io);
  const { answerHalt, takeSpec } = await import('../../features/spec-runs/start-spec-run.ts');
  if (options.answer !== undefined) await answerHalt(engine, planId, options.answer);
  const plan = await takeSpec(engine, planId, { leave: true });
  const text = `Plan ${planId} is ${plan.status}.${nextStep(engine, planId)}`;
  answer(io, options, { plan, resumed: [] }, text);
}

/** What continues a plan: the daemon or run that has it, or a command. */
export function nextStep(engine: EngineContext, planId: string): string {
  const plan = engine.store.plan(planId);
  const { claim, status } = plan;
  if (status === 'paused') return ` Its plan is paused. Continue with: signalbox resume ${planId}`;
  if (claim && engine.holder.isLive(claim)) return ` Its run (pid ${claim.pid}) continues it.`;
  const daemon = engine.holder.daemon();
  if (daemon) return ` Daemon ${daemon.pid} continues it.`;
  return ` ${plan.kind === undefined ? 'Run it' : 'Continue'} with: ${runCommand(plan)}`;
}
