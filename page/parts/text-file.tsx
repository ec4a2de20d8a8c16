import { useEffect, useState } from 'preact/hooks';
import type { TextWindow } from '../../src/web/api-schemas.ts';
import { ApiError, get } from '../live/api.ts';
import { link } from '../live/live.ts';
import { Empty, Loading, Printed } from './small.tsx';

/** A text file of an attempt: from its beginning, or from its end. More is read on demand. */
export function TextFile({ path, name, from }: { path: string; name: string; from: 'beginning' | 'end' }) {
  const [window, setWindow] = useState<TextWindow>();
  const [error, setError] = useState<ApiError>();
  const load = async (query: string, join: (next: TextWindow) => TextWindow) => {
    try {
      const sign = path.includes('?') ? '&' : '?';
      setWindow(join(await get<TextWindow>(`${path}${query ? `${sign}${query}` : ''}`)));
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    }
  };
  const isLive = link.value.kind === 'live';
  useEffect(() => {
    if (!window) void load(from === 'beginning' ? 'after=0' : '', (first) => first);
  }, [path, isLive]);
  if (!window) return <Loading error={error} rows={6} />;
  const before = () =>
    load(`before=${window.from}`, (next) => ({
      ...window,
      from: next.from,
      text: `${next.text}${window.text}`,
    }));
  const after = () =>
    load(`after=${window.to}`, (next) => ({
      ...next,
      from: window.from,
      text: `${window.text}${next.text}`,
    }));
  if (window.size === 0) return <Empty>{name} is empty.</Empty>;
  return (
    <div class="text-file">
      {window.from > 0 && (
        <button type="button" class="quiet" onClick={before}>
          Show what comes before
        </button>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroller" tabIndex={0} aria-label={name}>
        <pre>
          <Printed text={window.text} />
        </pre>
      </section>
      {window.to < window.size && (
        <button type="button" class="quiet" onClick={after}>
          Show what comes next
        </button>
      )}
    </div>
  );
}
