import { row } from '../lib/rows.mjs';
import { summary } from '../lib/stats.mjs';
import { runTickets } from './tickets.mjs';

const CONCURRENCY = 8;
const MOST_MB = 100;
const MOST_GROWTH = 1.15;

/** Peak memory of the engine's process: it must not grow with the number of tickets. */
export async function measureMemory(bench, { sizes }) {
  const peaks = [];
  for (const count of sizes) {
    const { peakKb } = await runTickets(bench, count, CONCURRENCY);
    if (peakKb === undefined)
      return [row({ id: 'memory', what: 'peak memory', unit: 'MB', note: 'needs /proc' })];
    peaks.push(peakKb / 1024);
    bench.progress(`memory at ${count} tickets: ${(peakKb / 1024).toFixed(0)} MB`);
  }
  const growth = peaks.at(-1) / peaks[0];
  return [
    ...sizes.map((count, index) =>
      row({
        id: `memory-${count}`,
        what: `peak memory, ${count} tickets`,
        unit: 'MB',
        ours: summary([peaks[index]]),
        goal: `< ${MOST_MB} MB`,
        ok: peaks[index] < MOST_MB,
      }),
    ),
    row({
      id: 'memory-growth',
      what: `  growth from ${sizes[0]} to ${sizes.at(-1)} tickets`,
      unit: 'x',
      ours: summary([growth]),
      goal: `≤ ${MOST_GROWTH}x`,
      ok: growth <= MOST_GROWTH,
    }),
  ];
}
