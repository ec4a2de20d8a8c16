import type { TmuxPane } from '../../machine/tmux/session.ts';

export interface Scene {
  /** All panes of the session, other people's too. */
  panes: readonly TmuxPane[];
  /** Tickets that move no more by themselves, as far as events told. */
  resting: ReadonlySet<string>;
  /** Most windows of tickets; those of tickets under way do not count as too many. */
  limit: number;
}

export type Step = { do: 'open' } | { do: 'restart'; pane: string } | { do: 'nothing' };

/**
 * What a ticket's window needs when an attempt starts. `fresh`: this is its first attempt, or the first after a rest;
 * otherwise a window that is not there was closed by hand, and stays closed.
 */
export function windowStep(panes: readonly TmuxPane[], ticket: string, fresh: boolean): Step {
  const own = panes.find((pane) => pane.ticket === ticket);
  if (own) return own.dead || fresh ? { do: 'restart', pane: own.id } : { do: 'nothing' };
  return fresh ? { do: 'open' } : { do: 'nothing' };
}

/** Panes to close so that the limit holds: finished ones that nobody looks at, the oldest first. */
export function surplus({ panes, resting, limit }: Scene): string[] {
  const ours = panes.filter((pane) => pane.ticket !== null);
  const finished = ours
    .filter((pane) => !pane.watched && (pane.dead || resting.has(pane.ticket ?? '')))
    .sort((a, b) => age(a) - age(b));
  return finished.slice(0, Math.max(0, ours.length - limit)).map((pane) => pane.id);
}

/** Ids count upwards. */
function age(pane: TmuxPane): number {
  return Number(pane.id.slice(1));
}
