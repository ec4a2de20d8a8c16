import type { Report } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { board } from '../live/live.ts';
import { address, setQuery } from '../live/route.ts';
import { useLoaded } from '../live/use-loaded.ts';
import { Command, Loading, localTimes, ticketAddress } from '../parts/small.tsx';
import { Choice } from './costs.tsx';

const PERIODS = ['12h', '24h', '3d', '7d'];

/** The morning report: what happened, and what to do about it. */
export function ReportPage() {
  const since = address.value.query.get('since') ?? '12h';
  const counts = JSON.stringify(board.value?.head.counts);
  const { data, error } = useLoaded<Report>(`/report?since=${encodeURIComponent(since)}`, counts);
  return (
    <>
      <header class="page-head">
        <h1>Report</h1>
        <Choice
          name="Of the last"
          options={PERIODS}
          chosen={since}
          onChoose={(period) => setQuery({ since: period === '12h' ? null : period })}
        />
      </header>
      {data ? <ReportText report={data} /> : <Loading error={error} rows={8} />}
    </>
  );
}

function ReportText({ report: { sentence, period, sections } }: { report: Report }) {
  return (
    <article class="report">
      <p class="sentence">{localTimes(sentence)}</p>
      <p class="hint">{localTimes(period)}</p>
      {sections.map(({ name, heading, items }) => (
        <section key={name} class="part" aria-labelledby={`report-${name}`}>
          <h2 id={`report-${name}`}>{heading}</h2>
          <ul class="report-items">
            {items.map((item) => (
              <li key={item.text}>
                <p>
                  <ItemText text={localTimes(item.text)} ticket={only(item.tickets)} />
                </p>
                {item.details.map((detail) => (
                  <p key={detail} class="hint prose">
                    {localTimes(detail)}
                  </p>
                ))}
                {item.tickets.length > 1 && (
                  <p class="ticket-names">
                    {item.tickets.map((key) => (
                      <TicketName key={key} name={key} />
                    ))}
                  </p>
                )}
                {item.commands.map((command) => (
                  <Command key={command} command={command} />
                ))}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </article>
  );
}

const only = (tickets: readonly string[]) => (tickets.length === 1 ? tickets[0] : undefined);

/** A sentence with a link to its ticket: in its place where it names the ticket, else behind it. */
function ItemText({ text, ticket }: { text: string; ticket: string | undefined }) {
  if (ticket === undefined) return <>{text}</>;
  const at = text.indexOf(ticket);
  if (at < 0)
    return (
      <>
        {text} <TicketName name={ticket} />
      </>
    );
  return (
    <>
      {text.slice(0, at)}
      <TicketName name={ticket} />
      {text.slice(at + ticket.length)}
    </>
  );
}

function TicketName({ name }: { name: string }) {
  const [planId = '', ticketId = ''] = name.split('/');
  return <a href={ticketAddress({ planId, ticketId })}>{name}</a>;
}
