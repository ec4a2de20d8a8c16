import { signal } from '@preact/signals';
import { costText } from '../../src/model/limits/usage-cost-and-estimate.ts';
import { rounded, wholeSeconds } from '../../src/report/style-and-phrases.ts';
import { type Day, roundTop, type Sum } from '../logic/add-up-costs.ts';
import { Empty } from './small.tsx';

/** Parts with a colour of their own; the rest share the last one. */
const MAX_COLOURS = 6;
const [HEIGHT, LEFT, BELOW, ABOVE] = [260, 56, 26, 10];
/** Units of the drawing, of which one is about a pixel, and days that have a name. */
const WIDE = { width: 1080, names: 10 };
const NARROW = { width: 300, names: 4 };
const narrow = matchMedia('(max-width: 760px)');
const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', ({ matches }) => {
  isNarrow.value = matches;
});

/** Dollars per day, as bars of parts. */
export function DayChart({ days, about }: { days: readonly Day[]; about: string }) {
  const top = roundTop(Math.max(...days.map(({ usd }) => usd)));
  if (days.every(({ usd }) => usd === 0))
    return <Empty>There are no known costs above $0 in this time.</Empty>;
  const { width, names: most } = isNarrow.value ? NARROW : WIDE;
  const step = (width - LEFT) / days.length;
  const bar = Math.min(48, Math.max(2, step * 0.72));
  const y = (usd: number) => ABOVE + (HEIGHT - BELOW - ABOVE) * (1 - usd / top);
  const every = Math.ceil(days.length / most);
  const names = days[0]?.parts.map(({ name }) => name) ?? [];
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${about}. The table has the figures.`}>
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line class="grid" x1={LEFT} x2={width} y1={y(top * part)} y2={y(top * part)} />
            <text class="axis" x={LEFT - 8} y={y(top * part) + 4} text-anchor="end">
              {axisText(top * part)}
            </text>
          </g>
        ))}
        {days.map(({ day, parts, usd, unpriced }, index) => {
          let below = 0;
          const x = LEFT + index * step + (step - bar) / 2;
          return (
            <g key={day}>
              <title>{`${day}: ${costText(usd, unpriced)}`}</title>
              <rect class="hit" x={LEFT + index * step} y={0} width={step} height={HEIGHT - BELOW} />
              {parts.map((part, at) => {
                if (part.usd === 0) return null;
                const [from, to] = [below, below + part.usd];
                below = to;
                return (
                  <rect
                    key={part.name}
                    class={`part-${Math.min(at, MAX_COLOURS - 1)}`}
                    x={x}
                    y={y(to)}
                    width={bar}
                    height={Math.max(0.5, y(from) - y(to))}
                  />
                );
              })}
              {index % every === 0 && (
                <text class="axis" x={x + bar / 2} y={HEIGHT - 7} text-anchor="middle">
                  {day.slice(5)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <figcaption>
        {names.slice(0, MAX_COLOURS).map((name, at) => (
          <span key={name} class="legend">
            <i class={`part-${at}`} />{' '}
            {at === MAX_COLOURS - 1 && names.length > MAX_COLOURS ? 'others' : name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

const axisText = (usd: number) =>
  usd === 0 ? '$0' : usd < 1 ? `$${usd.toFixed(2)}` : `$${Number(usd.toFixed(2))}`;

/** Figures of groups as a table, each with a bar. */
export function SumTable({
  name,
  sums,
  linkOf,
}: {
  name: string;
  sums: readonly Sum[];
  linkOf?: (name: string) => string;
}) {
  const most = Math.max(...sums.map(({ usd }) => usd), 0.000001);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="table-box" tabIndex={0} aria-label={`Costs by ${name.toLowerCase()}`}>
      <table class="sums">
        <thead>
          <tr>
            <th scope="col">{name}</th>
            <th scope="col">Cost</th>
            <th scope="col" class="number">
              Tokens
            </th>
            <th scope="col" class="number">
              Attempts
            </th>
            <th scope="col" class="number">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {sums.map((sum) => (
            <tr key={sum.name}>
              <th scope="row">{linkOf ? <a href={linkOf(sum.name)}>{sum.name}</a> : sum.name}</th>
              <td class="cost-cell">
                <span class="cost-bar" style={{ width: `calc((100% - 12px) * ${sum.usd / most})` }} />
                <span class="number">{costText(sum.usd, sum.unpriced)}</span>
              </td>
              <td class="number">{sum.tokens === null ? 'unknown' : rounded(sum.tokens)}</td>
              <td class="number">{sum.attempts}</td>
              <td class="number">{wholeSeconds(sum.seconds * 1000)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
