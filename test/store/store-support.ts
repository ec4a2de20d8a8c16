import { Plan } from '../../src/model/plan-schema.ts';
import { Ticket } from '../../src/model/ticket-schema.ts';

export const REF = { planId: 'p', ticketId: 't' };
export const planOf = (id: string, ...tickets: string[]) =>
  Plan.parse({ id, tickets: tickets.map((ticketId) => ({ ticketId })) });
export const ticketOf = (planId: string, ticketId: string) => Ticket.parse({ planId, ticketId, title: 'T' });
export const codeOf = async (operation: () => unknown): Promise<unknown> => {
  try {
    await operation();
    return 'fine';
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
};
