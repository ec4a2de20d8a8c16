import { resumeElsewhere } from '../api/resume-plan-without-terminal.ts';
import type { EngineContext } from '../engine/context.ts';
import { carryOutCommand, pausePlan } from '../engine/control-tickets-and-plans.ts';
import {
  approvePlan,
  cancelPlan,
  cancelTicket,
  isLastTicket,
} from '../features/plans/approve-archive-cancel-delete.ts';
import { IllegalMoveError } from '../model/errors.ts';
import { refKey, type TicketRef } from '../model/ids-and-branch-names.ts';
import type { Plan } from '../model/plan.ts';
import { runCommand } from '../model/state/explain-ticket.ts';
import { cleanLine, cleanText } from '../model/text/clean-escape-quote-plural.ts';
import type { Ticket } from '../model/ticket.ts';
import { nextStep, sayTicketMoved } from '../report/next-step-after-command.ts';

type Wish = Parameters<typeof carryOutCommand>[2];
const MAX_NAME_CHARS = 80;

/** The engine, acting for the person who sent a request. */
export function actingFor(engine: EngineContext, by: string | undefined): EngineContext {
  const name = cleanLine(by ?? '', MAX_NAME_CHARS);
  return name ? { ...engine, person: name } : engine;
}

/** Does to a ticket what the command of the same name does. */
export async function changeTicket(
  engine: EngineContext,
  ref: TicketRef,
  wish: Wish,
): Promise<{ ticket: Ticket; text: string }> {
  if (wish.type === 'cancel') {
    await cancelTicket(engine, ref);
    const isWhole = isLastTicket(engine, ref);
    const text = isWhole ? planCancelled(ref.planId) : `${refKey(ref)} is cancelled.`;
    return { ticket: engine.store.ticket(ref), text };
  }
  const clean = wish.type === 'respond' ? { ...wish, message: cleanText(wish.message) } : wish;
  const ticket = await carryOutCommand(engine, ref, clean, 'a person');
  return { ticket, text: sayTicketMoved(engine, ticket) };
}

/** Does to a plan what the command of the same name does. */
export async function changePlan(
  engine: EngineContext,
  planId: string,
  change: 'approve' | 'pause' | 'resume' | 'cancel',
): Promise<{ plan: Plan; text: string }> {
  switch (change) {
    case 'approve': {
      const plan = await approvePlan(engine, planId);
      return { plan, text: `Plan ${planId} is ${plan.status}.${nextStep(engine, planId)}` };
    }
    case 'pause': {
      const plan = await pausePlan(engine, planId, 'a person');
      return { plan, text: `Plan ${planId} is ${plan.status}.` };
    }
    case 'resume': {
      const done = await resumeElsewhere(engine, planId);
      if (!done) throw needsTerminal(engine.store.plan(planId));
      return { plan: done.plan, text: `Plan ${planId} is ${done.plan.status}.${nextStep(engine, planId)}` };
    }
    case 'cancel':
      await cancelPlan(engine, planId);
      return { plan: engine.store.plan(planId), text: planCancelled(planId) };
  }
}

const planCancelled = (planId: string) => `Plan ${planId} is cancelled and archived.`;

function needsTerminal(plan: Plan): IllegalMoveError {
  return new IllegalMoveError(
    'plan/terminal',
    `"${plan.id}" continues in a terminal, because no daemon has it.`,
    { hint: `Run there: ${runCommand(plan)}` },
  );
}
