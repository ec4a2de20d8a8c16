import type { PlanRow } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { at } from '../live/api.ts';
import { board } from '../live/live.ts';
import { useLoaded } from '../live/use-loaded.ts';
import { Command, Empty, Loading, TimeOfDay } from '../parts/small.tsx';

type Listed = Pick<PlanRow, 'id' | 'name' | 'status' | 'complete' | 'tickets' | 'createdAt' | 'repo'>;

/** All plans, also those that are finished. */
export function PlansPage() {
  const state = [...(board.value?.plans.values() ?? [])].map(({ id, status, complete }) => [
    id,
    status,
    complete,
  ]);
  const { data, error } = useLoaded<Listed[]>('/plans', JSON.stringify(state));
  if (!data) return <Loading error={error} rows={8} />;
  return (
    <>
      <header class="page-head">
        <h1>Plans</h1>
      </header>
      {data.length === 0 && (
        <>
          <Empty>There is no plan yet. This makes one with you:</Empty>
          <Command command="signalbox plan" />
        </>
      )}
      <ul class="rows plans" hidden={data.length === 0}>
        {data.map((plan) => (
          <li key={plan.id} class="row">
            <div class="what">
              <a class="ticket-link" href={at('plans', plan.id)}>
                <b>{plan.name || plan.id}</b>{' '}
                {plan.name && plan.name !== plan.id && <span class="title">{plan.id}</span>}
              </a>
              <p class="why">{plan.repo}</p>
            </div>
            <div class="where">
              <Progress complete={plan.complete} tickets={plan.tickets} />
            </div>
            <div class="figures">
              <span class={`pill is-${plan.status}`}>{plan.status}</span>
              <small>{plan.createdAt && <TimeOfDay time={plan.createdAt} />}</small>
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

export function Progress({ complete, tickets }: { complete: number; tickets: number }) {
  return (
    <span class="progress">
      <progress max={Math.max(1, tickets)} value={complete} aria-label="Complete tickets" />
      <span class="number">
        {complete} of {tickets}
      </span>
    </span>
  );
}
