import { costText } from '../../src/model/limits/usage-cost-and-estimate.ts';
import { plural } from '../../src/model/text/clean-escape-quote-plural.ts';
import type { Costs } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { at } from '../live/api.ts';
import { board } from '../live/live.ts';
import { address, setQuery } from '../live/route.ts';
import { useLoaded } from '../live/use-loaded.ts';
import { byDay, dayAfter, type Grouping, sumsBy, tokensText } from '../logic/add-up-costs.ts';
import { DayChart, SumTable } from '../parts/charts.tsx';
import { Empty, Loading } from '../parts/small.tsx';

const RANGES = ['7', '30', '90', 'all'];
const GROUPINGS: Record<string, Grouping> = { agent: 'agent', phase: 'phase', plan: 'planId' };

/** What agents cost, per day, agent, phase and plan. */
export function CostsPage() {
  const { query } = address.value;
  const range = RANGES.find((each) => each === query.get('days')) ?? '30';
  const by = query.get('by') ?? 'agent';
  const grouping = GROUPINGS[by] ?? 'agent';
  const today = localDay(new Date());
  const from = range === 'all' ? undefined : dayAfter(today, 1 - Number(range));
  const { data, error } = useLoaded<Costs>(
    from ? `/costs?since=${from}` : '/costs',
    board.value?.head.today.usd,
  );
  const rows = data?.rows ?? [];
  const total = sumsBy(rows, 'agent');
  const usd = total.reduce((sum, each) => sum + each.usd, 0);
  const unpriced = total.reduce((sum, each) => sum + each.unpriced, 0);
  const tokens = total.reduce<number | null>(
    (sum, each) => (each.tokens === null ? sum : (sum ?? 0) + each.tokens),
    null,
  );
  const attempts = total.reduce((sum, each) => sum + each.attempts, 0);
  return (
    <>
      <header class="page-head">
        <h1>Costs</h1>
        <div class="choices">
          <Choice
            name="Days"
            options={RANGES}
            chosen={range}
            onChoose={(days) => setQuery({ days: days === '30' ? null : days })}
          />
          <Choice
            name="Split by"
            options={Object.keys(GROUPINGS)}
            chosen={by in GROUPINGS ? by : 'agent'}
            onChoose={(each) => setQuery({ by: each === 'agent' ? null : each })}
          />
        </div>
      </header>
      {!data ? (
        <Loading error={error} rows={8} />
      ) : rows.length === 0 ? (
        <Empty>No agent has run in this time.</Empty>
      ) : (
        <>
          <p class="total">
            <b class="number">{costText(usd, unpriced)}</b>
            <span>
              {tokensText(tokens)} in <span class="number">{plural(attempts, 'attempt')}</span>
            </span>
          </p>
          <section class="part" aria-labelledby="days-name">
            <h2 id="days-name">Per day</h2>
            <DayChart
              days={byDay(rows, grouping, from ? { from, to: today } : { to: today })}
              about={`Dollars per day by ${by}`}
            />
          </section>
          <section class="part" aria-labelledby="by-name">
            <h2 id="by-name">Per {by}</h2>
            <SumTable
              name={by === 'plan' ? 'Plan' : by === 'phase' ? 'Phase' : 'Agent'}
              sums={sumsBy(rows, grouping)}
              {...(grouping === 'planId' ? { linkOf: (id: string) => at('plans', id) } : {})}
            />
          </section>
          <section class="part" aria-labelledby="each-day-name">
            <h2 id="each-day-name">Each day</h2>
            <SumTable name="Day" sums={sumsBy(rows, 'day').sort((a, b) => (a.name < b.name ? 1 : -1))} />
          </section>
        </>
      )}
    </>
  );
}

function localDay(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** A few options, of which one is chosen. */
export function Choice({
  name,
  options,
  chosen,
  onChoose,
}: {
  name: string;
  options: readonly string[];
  chosen: string;
  onChoose(option: string): void;
}) {
  return (
    <fieldset class="choice">
      <legend>{name}</legend>
      {options.map((option) => (
        <button key={option} type="button" aria-pressed={option === chosen} onClick={() => onChoose(option)}>
          {option}
        </button>
      ))}
    </fieldset>
  );
}
