import { clock, duration } from '../../src/report/style-and-phrases.ts';
import type { PlanPage, TicketPage } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { now } from '../live/live.ts';
import { Empty, Mark, stateOf, ticketAddress } from './small.tsx';

type Attempt = TicketPage['attempts'][number]['attempt'];
type Ticket = PlanPage['status']['tickets'][number];

const MAX_ROWS = 300;

/** When which phase of which ticket ran. */
export function Timeline({ tickets }: { tickets: readonly Ticket[] }) {
  const begun = tickets
    .filter(({ phaseHistory = [] }) => phaseHistory.length > 0)
    .toSorted((a, b) => startOf(a) - startOf(b));
  if (begun.length === 0) return <Empty>Nothing has started yet.</Empty>;
  const shown = begun.slice(0, MAX_ROWS);
  const from = startOf(shown[0]);
  const isOpen = begun.some(({ phaseHistory = [] }) =>
    phaseHistory.some(({ completedAt }) => completedAt === null),
  );
  const last = Math.max(...begun.flatMap(({ phaseHistory = [] }) => phaseHistory.map(endOf)));
  const to = Math.max(from + 1_000, isOpen ? now.value : last);
  const percent = (ms: number) => `${Math.max(0, Math.min(100, ((ms - from) / (to - from)) * 100))}%`;
  return (
    <div class="timeline">
      <p class="timeline-scale number" aria-hidden="true">
        <span>{clock(new Date(from).toISOString(), now.value)}</span>
        <span>{clock(new Date(from + (to - from) / 2).toISOString(), now.value)}</span>
        <span>{clock(new Date(to).toISOString(), now.value)}</span>
      </p>
      <ul>
        {shown.map((ticket) => (
          <li key={ticket.ticketId}>
            <a href={ticketAddress(ticket)} class="timeline-name">
              <Mark status={ticket.status} /> {ticket.ticketId}
            </a>
            <span class="track">
              {ticket.phaseHistory.map((attempt) => {
                const start = Date.parse(attempt.startedAt);
                const end = attempt.completedAt ? endOf(attempt) : to;
                const key = `${attempt.phase}#${attempt.visit}#${attempt.attempt}`;
                const state = stateOf(attempt);
                const text = `${attempt.phase}, visit ${attempt.visit}: ${state.replace('_', ' ')}, ${duration(Math.max(0, end - start))}`;
                return (
                  <a
                    key={key}
                    class={`bar is-${state}`}
                    href={`${ticketAddress(ticket)}?attempt=${encodeURIComponent(key)}`}
                    title={text}
                    aria-label={`${ticket.ticketId}: ${text}`}
                    style={{
                      left: `min(${percent(start)}, 100% - 3px)`,
                      right: `calc(100% - ${percent(end)})`,
                    }}
                  >
                    <span>{attempt.phase}</span>
                  </a>
                );
              })}
            </span>
          </li>
        ))}
      </ul>
      {begun.length > shown.length && (
        <p class="hint">
          The first {shown.length} of {begun.length} tickets are drawn.
        </p>
      )}
    </div>
  );
}

function startOf(ticket: Ticket | undefined): number {
  return Date.parse(ticket?.phaseHistory[0]?.startedAt ?? '') || 0;
}

function endOf({ startedAt, completedAt }: Attempt): number {
  return Date.parse(completedAt ?? startedAt);
}
