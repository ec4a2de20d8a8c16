import { memo } from 'preact/compat';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Transcript, TranscriptEntry } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { ApiError, get } from '../live/api.ts';
import {
  nameOf,
  nextOffset,
  opened,
  PIECE_BYTES,
  type Piece,
  rangeOf,
  type TranscriptWindow,
  withEarlier,
  withLater,
} from '../logic/transcript-window.ts';
import { Loading, Printed } from './small.tsx';

/** Longer texts are folded. */
const MAX_LINES = 30;
/** Pieces that are read without being asked for, until the box is full. */
const MAX_FILLS = 30;
/** This near to the end, the view stays at the end. */
const NEAR_END_PX = 40;

/** What is kept in its place when parts are added above it. */
interface Anchor {
  name: string;
  top: number;
}

/**
 * What an attempt printed: a window that opens at the end and reads more when it is scrolled. `news` changes when there may be
 * more at the end.
 */
export function TranscriptView({ path, news }: { path: string; news: unknown }) {
  const scroller = useRef<HTMLDivElement>(null);
  const anchor = useRef<Anchor | 'end' | 'start' | null>('end');
  const isBusy = useRef(false);
  const fills = useRef(0);
  const [window, setWindow] = useState<TranscriptWindow>();
  const [error, setError] = useState<ApiError>();
  const current = useRef(window);
  current.current = window;

  const load = useCallback(
    async (query: string, take: (answer: Transcript) => TranscriptWindow | undefined) => {
      if (isBusy.current) return;
      isBusy.current = true;
      try {
        const next = take(await get<Transcript>(`${path}/transcript?bytes=${PIECE_BYTES}${query}`));
        setError(undefined);
        if (next && next !== current.current) {
          if (scroller.current && current.current && typeof anchor.current !== 'string')
            anchor.current = anchorIn(scroller.current);
          setWindow(next);
        }
      } catch (problem) {
        if (!(problem instanceof ApiError)) throw problem;
        setError(problem);
      } finally {
        isBusy.current = false;
      }
    },
    [path],
  );
  const toEnd = useCallback(() => {
    anchor.current = 'end';
    fills.current = 0;
    void load('', (answer) => opened(answer, true));
  }, [load]);
  const toStart = useCallback(() => {
    anchor.current = 'start';
    fills.current = 0;
    void load('&after=0', (answer) => opened(answer, answer.to >= answer.size));
  }, [load]);
  const later = useCallback(() => {
    const { current: window } = current;
    if (window) void load(`&after=${nextOffset(window)}`, (answer) => withLater(window, answer));
  }, [load]);

  const earlier = useCallback(() => {
    const { current: window } = current;
    if (window) void load(`&before=${rangeOf(window).from}`, (answer) => withEarlier(window, answer));
  }, [load]);

  useEffect(() => {
    if (!current.current) toEnd();
    else if (current.current.atEnd) later();
  }, [news, later, toEnd]);

  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box || !window) return;
    const { current: kept } = anchor;
    if (kept === 'end') box.scrollTop = box.scrollHeight;
    else if (kept === 'start') box.scrollTop = 0;
    else if (kept) {
      const element = box.querySelector(`[data-name="${kept.name}"]`);
      if (element) box.scrollTop += element.getBoundingClientRect().top - kept.top;
    }
    if (kept !== 'end') anchor.current = null;
    // A piece may have one long line that is folded: without a scrollbar nothing more could be reached.
    if (box.scrollHeight > box.clientHeight || fills.current >= MAX_FILLS) return;
    fills.current += 1;
    if (rangeOf(window).from > 0) earlier();
    else if (!window.atEnd) later();
  }, [window]);

  const onScroll = () => {
    const [box, { current: window }] = [scroller.current, current];
    if (!box || !window) return;
    const below = box.scrollHeight - box.scrollTop - box.clientHeight;
    anchor.current = below < NEAR_END_PX && window.atEnd ? 'end' : null;
    if (box.scrollTop < box.clientHeight * 2 && rangeOf(window).from > 0) earlier();
    else if (below < box.clientHeight * 2 && !window.atEnd) later();
  };

  if (!window) return <Loading error={error} rows={10} />;
  const { from, to } = rangeOf(window);
  return (
    <div class="transcript">
      <div class="transcript-bar">
        <button
          type="button"
          class="quiet"
          onClick={toStart}
          disabled={window.size === 0 || (from === 0 && window.pieces.length === 1)}
        >
          To the beginning
        </button>
        <span class="hint number">{placeText(from, to, window)}</span>
        <button type="button" class="quiet" onClick={toEnd} disabled={window.size === 0}>
          To the end
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} aria-label="Transcript">
        <p class="edge">
          {window.size === 0 ? (
            `Nothing was printed${window.ended ? '.' : ' yet.'}`
          ) : from === 0 ? (
            'Beginning'
          ) : (
            <button type="button" class="quiet" onClick={earlier}>
              Show what comes before
            </button>
          )}
        </p>
        {window.pieces.map((piece) => (
          <PieceView key={piece.from} piece={piece} />
        ))}
        {window.atEnd && window.size > 0 && <p class="edge">{window.ended ? 'End' : 'Still running'}</p>}
      </section>
    </div>
  );
}

function placeText(from: number, to: number, { size }: TranscriptWindow): string {
  if (size === 0) return '';
  const kb = (bytes: number) =>
    bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  return from === 0 && to >= size ? kb(size) : `${kb(from)} to ${kb(to)} of ${kb(size)}`;
}

/** The first entry that can be seen, and where it is. */
function anchorIn(box: HTMLElement): Anchor | null {
  const edge = box.getBoundingClientRect().top;
  for (const piece of box.querySelectorAll('.piece')) {
    if (piece.getBoundingClientRect().bottom < edge) continue;
    for (const element of piece.children) {
      const { top, bottom } = element.getBoundingClientRect();
      if (bottom >= edge && element instanceof HTMLElement && element.dataset.name)
        return { name: element.dataset.name, top };
    }
  }
  return null;
}

const PieceView = memo(({ piece }: { piece: Piece }) => (
  <div class="piece">
    {piece.entries.map((entry) => (
      <EntryView key={nameOf(entry)} entry={entry} />
    ))}
  </div>
));

const EntryView = memo(({ entry }: { entry: TranscriptEntry }) => {
  const { kind, text, tool } = entry;
  return (
    <div class={`entry is-${kind}`} data-name={nameOf(entry)}>
      {tool ? (
        <ToolCall entry={entry} tool={tool} />
      ) : (
        <>
          {LABELS[kind] && <b class="label">{LABELS[kind]} </b>}
          {kind === 'raw' ? <Printed text={text} /> : <LongText text={text} />}
        </>
      )}
    </div>
  );
});

const LABELS: Partial<Record<TranscriptEntry['kind'], string>> = {
  session: 'session',
  limit: 'usage limit',
  refused: 'refused',
  warning: 'warning',
};

function ToolCall({
  entry: { text },
  tool,
}: {
  entry: TranscriptEntry;
  tool: NonNullable<TranscriptEntry['tool']>;
}) {
  const [isOpen, setOpen] = useState(false);
  const status = !tool.done ? 'running' : tool.failed ? 'failure' : 'success';
  const firstLine = text.split('\n', 1)[0] ?? '';
  const lastLine = tool.output?.trimEnd().split('\n').at(-1) ?? '';
  return (
    <details class={`tool is-${status}`} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class={`mark is-${status}`} role="img" aria-label={TOOL_WORDS[status]}>
          {TOOL_MARKS[status]}
        </span>{' '}
        <b>{tool.name}</b> <span class="tool-what">{firstLine}</span>
        {!isOpen && lastLine !== '' && (
          <span class="tool-last">
            <Printed text={lastLine} />
          </span>
        )}
      </summary>
      {isOpen && (
        <>
          {text.includes('\n') && <pre>{text}</pre>}
          <pre class="output">{tool.output === null ? 'No output.' : <Printed text={tool.output} />}</pre>
        </>
      )}
    </details>
  );
}

const TOOL_MARKS = { running: '●', success: '✓', failure: '✗' };
const TOOL_WORDS = { running: 'still running', success: 'succeeded', failure: 'failed' };

/** A text of many lines shows its first ones until it is unfolded. */
function LongText({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  const lines = text.split('\n');
  if (isOpen || lines.length <= MAX_LINES) return <Printed text={text} />;
  return (
    <>
      <Printed text={lines.slice(0, MAX_LINES).join('\n')} />
      {'\n'}
      <button type="button" class="quiet" onClick={() => setOpen(true)}>
        {lines.length - MAX_LINES} more lines
      </button>
    </>
  );
}
