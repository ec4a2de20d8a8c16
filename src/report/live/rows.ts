import { totalUsage } from '../../model/limits/usage.ts';
import { isVerbal } from '../../model/state/held.ts';
import type { TicketStatus } from '../../model/ticket.ts';
import { type Naming, nameOf, withNames } from '../../model/ticket-names.ts';
import { untilText } from '../hold-time.ts';
import { type Style, usageText } from '../style.ts';
import { cells, cut } from '../width.ts';
import type { LiveState, LiveTicket } from './state.ts';

/** What the live block says about one ticket. */
export interface LiveRow {
  kind: 'running' | 'waiting' | 'gate' | 'queued';
  name: string;
  phase: string;
  time: string;
  text: string;
  usage: string;
}

/** Undefined for a ticket that neither runs nor waits for something to come. */
export function liveRow(ticket: LiveTicket, naming: Naming, now: number): LiveRow | undefined {
  const { hold } = ticket;
  const row = {
    name: nameOf(ticket, naming),
    phase: ticket.phase ?? '',
    time: elapsed(now - ticket.since),
    usage: usageText(totalUsage([ticket.used, ticket.using])),
  };
  const reason = withNames(hold?.reason ?? '', naming.called);
  const free = ticket.inTurn ? 'waits for the one before it' : 'waits for a free slot';
  const until = untilText(hold, now);
  switch (ticket.status) {
    case 'running':
      return { ...row, kind: 'running', text: `${again(ticket)}${reason || ticket.activity}` };
    case 'ready':
      if (isVerbal(reason)) return { ...row, kind: 'queued', text: reason };
      if (hold) return { ...row, kind: 'waiting', text: `waits${until}: ${reason}` };
      return { ...row, kind: 'queued', text: free };
    case 'queued':
      return { ...row, kind: 'queued', phase: 'queued', text: reason || free };
    case 'needs_attention':
      if (hold?.kind !== 'gate') return undefined;
      return { ...row, kind: 'gate', text: `waits for you${until}: ${reason}` };
    case 'paused':
    case 'complete':
    case 'failed':
      return undefined;
  }
}

function again({ visit, attempt }: LiveTicket): string {
  const parts = [visit > 1 ? `visit ${visit}` : '', attempt > 1 ? `attempt ${attempt}` : ''].filter(Boolean);
  return parts.length > 0 ? `[${parts.join(', ')}] ` : '';
}

/** Whole seconds, so that nothing changes more often: `9s`, `4m 06s`, `2h 03m`. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, '0');
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  return `${Math.floor(seconds / 3600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
}

/** `1.2k · $0.01` */
export const brief = (usage: string): string => usage.replace(' tokens · ', ' · ');

/** `$0.01`, or the tokens where the cost is unknown. */
export const briefest = (usage: string): string => usage.split(' · ').at(-1) ?? '';

/** How far everything is, in one line; what has no room is left out, the least important first. */
export function totals(state: LiveState, now: number, width: number): string {
  const tickets = [...state.tickets.values()];
  const count = (...statuses: TicketStatus[]) =>
    tickets.filter((ticket) => statuses.includes(ticket.status)).length;
  const told = (number: number, what: string) => (number > 0 ? `${number} ${what}` : '');
  const attention = count('needs_attention');
  const all = {
    complete: `${count('complete')}/${tickets.length} complete`,
    running: told(count('running'), 'running'),
    waiting: told(count('ready', 'queued'), 'waiting'),
    paused: told(count('paused'), 'paused'),
    attention: told(attention, attention === 1 ? 'needs attention' : 'need attention'),
    failed: told(count('failed'), 'failed'),
    elapsed: elapsed(now - state.startedAt),
    usage: usageText(totalUsage(tickets.flatMap((ticket) => [ticket.used, ticket.using]))),
  };
  const line = () => Object.values(all).filter(Boolean).join(' · ');
  const less: Partial<typeof all>[] = [
    { usage: brief(all.usage) },
    { elapsed: '' },
    { waiting: '' },
    { running: '' },
    { paused: '' },
    { usage: briefest(all.usage) },
    { usage: '' },
    { failed: '' },
    { attention: '' },
  ];
  for (const part of less) if (cells(line()) > width) Object.assign(all, part);
  return cut(line(), width);
}

export const MARKS: Record<LiveRow['kind'], { sign: string; paint: keyof Style }> = {
  running: { sign: '●', paint: 'cyan' },
  waiting: { sign: '◌', paint: 'yellow' },
  gate: { sign: '!', paint: 'yellow' },
  queued: { sign: '◌', paint: 'dim' },
};
