import { round } from './stats.mjs';

const SCALES = { s: 1000, 'cpu s': 1, ms: 1, MB: 1, x: 1, '%': 1, connections: 1 };
const DIGITS = { s: 2, 'cpu s': 2, ms: 1, MB: 0, x: 2, '%': 1, connections: 0 };

/** One line of the result. `goal` is a text; `ok` says whether it is met, or decides by `limit(floor)`. */
export function row({ id, what, unit, ours, floor, goal, ok, limit, note }) {
  const reached = limit ? ours.median <= limit(floor.median) || ours.min <= limit(floor.min) : ok;
  return {
    id,
    what,
    unit,
    ours: scaled(ours, unit),
    floor: scaled(floor, unit),
    ...ratios(ours, floor),
    goal,
    ok: reached,
    note,
  };
}

function scaled(value, unit) {
  if (!value || Number.isNaN(value.median)) return undefined;
  const entries = Object.entries(value).map(([key, each]) => [
    key,
    key === 'n' ? each : round(each / SCALES[unit], DIGITS[unit]),
  ]);
  return Object.fromEntries(entries);
}

function ratios(ours, floor) {
  if (!ours || !floor || !(floor.median > 0)) return {};
  return { ratio: round(ours.median / floor.median), ratioOfMinima: round(ours.min / floor.min) };
}

const HEADER = ['', 'median (min)', 'floor', 'ratio (of minima)', 'goal', '', ''];

export function table(rows) {
  const cells = [HEADER, ...rows.map(cellsOf)];
  const widths = HEADER.map((_, column) => Math.max(...cells.map((row) => [...row[column]].length)));
  const line = (row) =>
    row
      .map((cell, column) => cell + ' '.repeat(widths[column] - [...cell].length))
      .join('  ')
      .trimEnd();
  return cells.map(line).join('\n');
}

function cellsOf({ what, unit, ours, floor, ratio, ratioOfMinima, goal, ok, note }) {
  const shown = ratio === undefined ? '' : `${ratio.toFixed(2)}x (${ratioOfMinima.toFixed(2)}x)`;
  return [what, value(ours, unit), value(floor, unit), shown, goal ?? '', mark(ok), note ?? ''];
}

function value(of, unit) {
  if (!of) return '';
  const digits = DIGITS[unit];
  const least = of.n === 1 ? '' : ` (${of.min.toFixed(digits)})`;
  return `${of.median.toFixed(digits)}${least} ${unit}`;
}

function mark(ok) {
  return ok === undefined ? '' : ok ? '✓' : '✗';
}
