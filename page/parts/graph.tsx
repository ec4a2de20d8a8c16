import { useMemo } from 'preact/hooks';
import type { BoardRow } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { type GraphNode, layOut } from '../logic/graph-layout.ts';
import { Empty, ticketAddress } from './small.tsx';

const [WIDTH, HEIGHT, GAP_X, GAP_Y, PAD] = [190, 52, 56, 14, 8];
/** A drawing with more nodes helps no one. */
const MAX_NODES = 400;
const [MAX_ID_CHARS, MAX_TITLE_CHARS] = [18, 24];
/** The end of a long id, which often has its number. */
const ID_END_CHARS = 8;

const shortened = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Which ticket waits for which. Tickets without dependencies are only counted. */
export function Graph({ nodes, rows }: { nodes: readonly GraphNode[]; rows: ReadonlyMap<string, BoardRow> }) {
  const shape = JSON.stringify(nodes);
  const { layout, single } = useMemo(() => {
    const needed = new Set(nodes.flatMap(({ needs }) => needs));
    const linked = nodes.filter(({ id, needs }) => needs.length > 0 || needed.has(id));
    return { layout: layOut(linked.slice(0, MAX_NODES)), single: nodes.length - linked.length };
  }, [shape]);
  if (layout.edges.length === 0) return <Empty>No ticket of this plan waits for another one.</Empty>;
  const place = new Map(
    layout.nodes.map(({ id, column, row }) => [
      id,
      { x: PAD + column * (WIDTH + GAP_X), y: PAD + row * (HEIGHT + GAP_Y) },
    ]),
  );
  const width = PAD * 2 + layout.columns * (WIDTH + GAP_X) - GAP_X;
  const height = PAD * 2 + layout.rows * (HEIGHT + GAP_Y) - GAP_Y;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="graph" tabIndex={0} aria-label="Dependencies, drawn">
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
          <title>Dependencies</title>
          {layout.edges.map(({ from, to }) => {
            const [a, b] = [place.get(from), place.get(to)];
            if (!a || !b) return null;
            const [x1, y1, x2, y2] = [a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2];
            const bend = Math.max(24, (x2 - x1) / 2);
            const isOver = rows.get(from)?.status === 'complete';
            return (
              <path
                key={`${from} ${to}`}
                class={isOver ? 'edge-line is-over' : 'edge-line'}
                d={`M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 3} ${y2}`}
              />
            );
          })}
          {layout.nodes.map(({ id }) => {
            const spot = place.get(id);
            const row = rows.get(id);
            if (!spot) return null;
            const title = row?.title ?? 'cannot be read';
            const node = (
              <g
                key={id}
                class={`node is-${row?.status ?? 'none'}`}
                transform={`translate(${spot.x} ${spot.y})`}
              >
                <title>{row ? `${title}\n${row.why}` : title}</title>
                <rect width={WIDTH} height={HEIGHT} rx="8" />
                <rect class="stripe" width="5" height={HEIGHT} rx="2" />
                <text x="15" y="22" class="node-id">
                  {id.length > MAX_ID_CHARS
                    ? `${shortened(id, MAX_ID_CHARS - ID_END_CHARS)}${id.slice(-ID_END_CHARS)}`
                    : id}
                </text>
                <text x="15" y="40" class="node-title">
                  {shortened(title, MAX_TITLE_CHARS)}
                </text>
              </g>
            );
            return row ? (
              <a key={id} href={ticketAddress(row)}>
                {node}
              </a>
            ) : (
              node
            );
          })}
        </svg>
      </section>
      {single > 0 && (
        <p class="hint">
          {single === 1
            ? '1 ticket has no dependencies and is not drawn.'
            : `${single} tickets have no dependencies and are not drawn.`}
        </p>
      )}
    </>
  );
}
