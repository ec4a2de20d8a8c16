import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { costText } from '../../src/model/limits/usage-cost-and-estimate.ts';
import { BOARD_SECTIONS } from '../../src/report/plan-and-ticket-status.ts';
import type { Costs, PlanPage as Page } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { at } from '../live/api.ts';
import { board } from '../live/live.ts';
import { useLoaded } from '../live/use-loaded.ts';
import { sumsBy } from '../logic/add-up-costs.ts';
import { bySection } from '../logic/fold-rows.ts';
import { ActButton } from '../parts/act.tsx';
import { SumTable } from '../parts/charts.tsx';
import { Graph } from '../parts/graph.tsx';
import { Age, Command, Empty, Loading, localTimes, Mark, Problem, TicketLink } from '../parts/small.tsx';
import { PLAN_WISHES } from '../parts/ticket-wishes.ts';
import { Timeline } from '../parts/timeline.tsx';
import { Progress } from './plans.tsx';

const MAX_ROWS = 200;
/** What is below the dependencies of a larger plan is drawn after the first paint: it has thousands of elements. */
const MANY_TICKETS = 100;

export function PlanPage({ id }: { id: string }) {
  const live = [...(board.value?.rows.values() ?? [])].filter((row) => row.planId === id);
  const version = JSON.stringify([
    board.value?.plans.get(id),
    live.map(({ ticketId, status, phase, visit, attempt }) => [ticketId, status, phase, visit, attempt]),
  ]);
  const { data, error } = useLoaded<Page>(at('plans', id), version);
  const costs = useLoaded<Costs>(`/costs?plan=${encodeURIComponent(id)}`, version);
  if (!data) return <Loading error={error} rows={10} />;
  const { plan, tickets, problems } = data.status;
  const sections = bySection(live.length > 0 ? live : data.rows, new Map());
  const rows = new Map(
    BOARD_SECTIONS.flatMap((section) => sections[section]).map((row) => [row.ticketId, row]),
  );
  const entries = plan?.tickets ?? [];
  const isLarge = entries.length > MANY_TICKETS;
  const sums = sumsBy(costs.data?.rows ?? [], 'phase');
  const total = sums.reduce((sum, { usd }) => sum + usd, 0);
  const unpriced = sums.reduce((sum, each) => sum + each.unpriced, 0);
  return (
    <article class="plan">
      <header class="page-head">
        <p class="crumbs">
          <a href="/plans">Plans</a> / {id}
        </p>
        <h1>{plan?.name || id}</h1>
        <p class="state">
          <span class={`pill is-${plan?.status ?? 'none'}`}>{plan?.status ?? 'cannot be read'}</span>
          <Progress
            complete={tickets.filter(({ status }) => status === 'complete').length}
            tickets={entries.length}
          />
          <span>{sums.length > 0 && costText(total, unpriced)}</span>
          {plan?.repo && <code>{plan.repo}</code>}
        </p>
        <div class="buttons">
          {data.legal.map((name) => {
            const wish = PLAN_WISHES[name]?.(id);
            return (
              wish && <ActButton key={name} wish={wish} primary={name === 'approve' || name === 'resume'} />
            );
          })}
        </div>
      </header>
      {error && <Problem error={error} />}
      {problems.map(({ path, message }) => (
        <p key={path} class="problem">
          {message.includes(path) ? message : `${path}: ${message}`}
        </p>
      ))}
      <nav class="tabs" aria-label="Parts of the plan">
        {['graph', 'timeline', 'costs', 'tickets', 'terminal'].map((name) => (
          <a key={name} href={`#${name}`}>
            {NAMES[name]}
          </a>
        ))}
      </nav>
      <Part name="graph">
        <Graph
          nodes={entries.map(({ ticketId, blockedBy = [] }) => ({
            id: ticketId,
            needs: blockedBy.map((each) => (each.startsWith(`${id}/`) ? each.slice(id.length + 1) : each)),
          }))}
          rows={rows}
        />
      </Part>
      <Part name="timeline" isLater={isLarge}>
        <Timeline tickets={tickets} />
      </Part>
      <Part name="costs" isLater={isLarge}>
        {sums.length > 0 ? (
          <SumTable name="Phase" sums={sums} />
        ) : (
          <Empty>No agent has run for this plan.</Empty>
        )}
      </Part>
      <Part name="tickets" isLater={isLarge}>
        <ul class="rows">
          {[...rows.values()].slice(0, MAX_ROWS).map((row) => (
            <li key={row.ticketId} class={`row is-${row.status}`}>
              <Mark status={row.status} />
              <div class="what">
                <TicketLink row={row} />
                <p class="why">{row.why !== row.phase && localTimes(row.why)}</p>
              </div>
              <div class="where">
                <span class="phase">{row.section !== 'done' && row.phase}</span>
              </div>
              <div class="figures">
                <Age row={row} />
                <small class="number">
                  {(row.usage || row.unpriced > 0) && costText(row.usage?.costUsd ?? null, row.unpriced)}
                </small>
              </div>
            </li>
          ))}
        </ul>
        {rows.size > MAX_ROWS && <p class="hint">{rows.size - MAX_ROWS} more: filter them on the board.</p>}
      </Part>
      <Part name="terminal">
        {data.commands.map((each) => (
          <Command key={each.command} command={each.command} about={each.about} />
        ))}
      </Part>
    </article>
  );
}

const NAMES: Record<string, string> = {
  graph: 'Dependencies',
  timeline: 'Timeline',
  costs: 'Costs',
  tickets: 'Tickets',
  terminal: 'In a terminal',
};

function Part({
  name,
  isLater = false,
  children,
}: {
  name: string;
  isLater?: boolean;
  children: ComponentChildren;
}) {
  const [isDrawn, setDrawn] = useState(!isLater);
  useEffect(() => setDrawn(true), []);
  return (
    <section id={name} class="part" aria-labelledby={`${name}-name`}>
      <h2 id={`${name}-name`}>{NAMES[name]}</h2>
      {isDrawn && children}
    </section>
  );
}
