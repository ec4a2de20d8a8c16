import { useState } from 'preact/hooks';
import type { Diff } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { useLoaded } from '../live/use-loaded.ts';
import { type DiffFile, filesOf } from '../logic/diff.ts';
import { Empty, Loading } from './small.tsx';

/** Files with more lines are folded at first, and so are all behind the first lines of a large diff. */
const OPEN_LINES = 400;
const OPEN_LINES_IN_ALL = 1_500;

/** What a ticket has changed, by file. */
export function DiffView({ path, version }: { path: string; version: unknown }) {
  const { data, error } = useLoaded<Diff>(`${path}/diff`, version);
  if (!data) return <Loading error={error} rows={6} />;
  const files = filesOf(data.text);
  if (files.length === 0) return <Empty>There are no changes.</Empty>;
  let lines = 0;
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <div class="diff">
      <p class="hint">
        <b>{files.length === 1 ? '1 file' : `${files.length} files`}</b>,{' '}
        <span class="added-count">+{added}</span> <span class="removed-count">−{removed}</span>, {data.branch}{' '}
        since {data.base.replace(/^[0-9a-f]{40}$/, (hash) => hash.slice(0, 10))}
      </p>
      {files.map((file) => {
        lines += file.lines.length;
        const isOpen = file.lines.length <= OPEN_LINES && lines <= OPEN_LINES_IN_ALL;
        return <FileView key={file.name} file={file} isOpenFirst={isOpen} />;
      })}
      {data.cut > 0 && (
        <Empty>{data.cut} more characters are not shown. The command shows all of them.</Empty>
      )}
    </div>
  );
}

function FileView({ file, isOpenFirst }: { file: DiffFile; isOpenFirst: boolean }) {
  const [isOpen, setOpen] = useState(isOpenFirst);
  return (
    <details class="diff-file" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b>{file.name}</b> {file.change && <small>{file.change}</small>}
        <span class="added-count number">+{file.added}</span>
        <span class="removed-count number">−{file.removed}</span>
      </summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="diff-lines" tabIndex={0} aria-label={`Changes of ${file.name}`}>
          <table>
            <tbody>
              {file.lines.map((line, index) => (
                <tr key={index} class={`is-${line.kind}`}>
                  <td class="line-number">{line.before}</td>
                  <td class="line-number">{line.after}</td>
                  <td class="line-text">
                    {SIGNS[line.kind] && <span class="sign">{SIGNS[line.kind]}</span>}
                    {line.text}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  );
}

const SIGNS: Record<string, string> = { added: '+', removed: '−', same: ' ' };
