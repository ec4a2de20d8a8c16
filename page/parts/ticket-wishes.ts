import type { BoardRow } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { at } from '../live/api.ts';
import type { Wish } from './act.tsx';

type Ref = Pick<BoardRow, 'planId' | 'ticketId'>;
type Name = 'retry' | 'skip' | 'pause' | 'resume' | 'stop' | 'cancel';

const pathOf = ({ planId, ticketId }: Ref, name: string) => at('plans', planId, 'tickets', ticketId, name);

/** What can be decided about a ticket, as dialogs. */
export function ticketWish(ref: Ref, name: Name, phases: readonly string[] = []): Wish {
  const who = `${ref.planId} ${ref.ticketId}`;
  const path = pathOf(ref, name);
  switch (name) {
    case 'retry':
      return { name: 'Retry', question: `Retry ${who}?`, path };
    case 'skip':
      return {
        name: 'Continue at…',
        confirm: 'Continue',
        question: `Continue ${who} at which phase?`,
        path,
        choose: { field: 'phase', label: 'Phase', options: phases },
      };
    case 'pause':
      return { name: 'Pause', question: `Pause ${who}? Its agent is stopped, and everything is kept.`, path };
    case 'resume':
      return { name: 'Resume', question: `Resume ${who}?`, path };
    case 'stop':
      return { name: 'Stop', question: `Stop ${who}? Its agent is stopped, and everything is kept.`, path };
    case 'cancel':
      return {
        name: 'Cancel',
        question: `Give up ${who}? Uncommitted work is kept on a ref, and its branch stays.`,
        path,
        isGrave: true,
      };
  }
}

/** Runs a ticket again from one of its phases. */
export function retryFrom(ref: Ref, phase: string): Wish {
  const question = `Run ${ref.planId} ${ref.ticketId} again from ${phase}?`;
  return { name: `Retry from ${phase}`, question, path: pathOf(ref, 'retry'), body: { phase } };
}

export const PLAN_WISHES: Record<string, (plan: string) => Wish> = {
  approve: (plan) => ({
    name: 'Approve',
    question: `Approve plan ${plan}?`,
    path: at('plans', plan, 'approve'),
  }),
  pause: (plan) => ({
    name: 'Pause',
    question: `Pause plan ${plan}? What runs for it is stopped, and nothing more starts.`,
    path: at('plans', plan, 'pause'),
  }),
  resume: (plan) => ({ name: 'Resume', question: `Resume plan ${plan}?`, path: at('plans', plan, 'resume') }),
  cancel: (plan) => ({
    name: 'Cancel',
    question: `Give up plan ${plan} with all that is not done? Uncommitted work is kept on a ref, and branches stay.`,
    path: at('plans', plan, 'cancel'),
    isGrave: true,
  }),
};
