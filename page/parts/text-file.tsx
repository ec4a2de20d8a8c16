import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TextWindow } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { ApiError, get } from '../live/api.ts';
import { link } from '../live/live.ts';
import { MAX_PIECES, PIECE_BYTES } from '../logic/transcript-window.ts';
import { Empty, Loading, Printed } from './small.tsx';

/** A text file of an attempt: from its beginning, or from its end. More is read on demand, and what is far away is dropped. */
export function TextFile({ path, name, from }: { path: string; name: string; from: 'beginning' | 'end' }) {
  const scroller = useRef<HTMLElement>(null);
  const [pieces, setPieces] = useState<TextWindow[]>([]);
  const [error, setError] = useState<ApiError>();
  const load = async (where: string, join: (next: TextWindow) => TextWindow[]) => {
    try {
      const sign = path.includes('?') ? '&' : '?';
      setPieces(join(await get<TextWindow>(`${path}${sign}bytes=${PIECE_BYTES}${where}`)));
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    }
  };
  const isLive = link.value.kind === 'live';
  const [first, last] = [pieces[0], pieces.at(-1)];
  const isRead = first !== undefined;
  useEffect(() => {
    if (!isRead) void load(from === 'beginning' ? '&after=0' : '', (piece) => [piece]);
  }, [path, isLive]);
  useLayoutEffect(() => {
    if (from === 'end' && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [isRead]);
  if (!first || !last) return <Loading error={error} rows={6} />;
  const before = () => load(`&before=${first.from}`, (next) => [next, ...pieces].slice(0, MAX_PIECES));
  const after = () => load(`&after=${last.to}`, (next) => [...pieces, next].slice(-MAX_PIECES));
  if (last.size === 0) return <Empty>{name} is empty.</Empty>;
  return (
    <div class="text-file">
      {first.from > 0 && (
        <button type="button" class="quiet" onClick={before}>
          Show what comes before
        </button>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroller" ref={scroller} tabIndex={0} aria-label={name}>
        {pieces.map((piece) => (
          <PieceText key={piece.from} text={piece.text} />
        ))}
      </section>
      {last.to < last.size && (
        <button type="button" class="quiet" onClick={after}>
          Show what comes next
        </button>
      )}
    </div>
  );
}

const PieceText = memo(({ text }: { text: string }) => (
  <pre>
    <Printed text={text} />
  </pre>
));
