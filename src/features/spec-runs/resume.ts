import { keepUsersCommits } from '../../engine/checkout.ts';
import { type EngineContext, emit } from '../../engine/context.ts';
import { control } from '../../engine/control.ts';
import { claimToResume, letGo } from '../../engine/plan-transitions.ts';
import { IllegalMoveError, InputError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { ticketsOf } from '../../model/plans/view.ts';
import { lockSpec, placeOf } from './lock.ts';
import { refuseDirty, refuseLost, sayPlan } from './refusals.ts';
import { continueTickets } from './start.ts';
import { haltedTicket } from './state.ts';

/** Answers the unit that has halted; it goes on with whoever runs the plan. */
export async function answerHalt(parts: EngineContext, planId: string, answer: string): Promise<string> {
  const plan = specPlan(parts, planId);
  const halted = haltedTicket(ticketsOf(parts.store.view(), plan));
  if (!halted)
    throw new IllegalMoveError('spec/not-halted', `Nothing in "${planId}" waits for an answer.`, {
      hint: `See: signalbox status --plan ${planId}`,
    });
  await refuseChanged(parts, plan);
  const ref = { planId, ticketId: halted.ticketId };
  await control(parts, ref, { type: 'respond', decision: 'answer', message: answer }, 'a person');
  return halted.ticketId;
}

/**
 * Takes the plan of a spec to go on with it here; it is then run like any other plan that this process holds. With
 * `leave`, whoever has it goes on.
 */
export async function takeSpec(parts: EngineContext, planId: string, { leave = false } = {}): Promise<Plan> {
  const { store } = parts;
  await refuseChanged(parts, specPlan(parts, planId));
  const plan = await claimToResume(parts, planId, { called: sayPlan, leave });
  try {
    const [first] = plan.tickets;
    const place = placeOf(plan, first ? store.ticket({ planId, ticketId: first.ticketId }).branch : null);
    if (place && !leave) await lockSpec(parts, planId, place);
    if (plan.workspace === 'checkout') await keepUsersCommits(parts, planId);
    await continueTickets(parts, planId, null);
    emit(parts, { type: 'plan:status', planId, status: plan.status });
  } catch (error) {
    await letGo(parts, planId);
    throw error;
  }
  return plan;
}

/**
 * In a checkout, nothing of a person's goes with the agent's, and a branch is where it was; a run that is under way sees
 * to that itself.
 */
async function refuseChanged(parts: EngineContext, plan: Plan): Promise<void> {
  const own = ticketsOf(parts.store.view(), plan);
  const claims = [plan.claim, ...own.map(({ claim }) => claim)];
  const isUnderWay = claims.some((claim) => claim !== null && parts.holder.isLive(claim));
  if (isUnderWay) return;
  if (plan.workspace === 'checkout') await refuseDirty(parts, plan, own);
  else await refuseLost(parts, plan, own);
}

function specPlan(parts: EngineContext, planId: string): Plan {
  const plan = parts.store.plan(planId);
  if (plan.spec) return plan;
  throw new InputError('spec/none', `"${planId}" is not a run of a spec.`, {
    hint: `Answer a gate with: signalbox respond ${planId} <ticket> <decision> "…"`,
  });
}
