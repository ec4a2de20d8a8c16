import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { costText, dollars } from '../../src/model/limits/usage-cost-and-estimate.ts';
import { isTooSilent } from '../../src/report/board/make-board.ts';
import {
  BOARD_SECTIONS,
  SECTION_NAMES,
  type BoardSection as Section,
} from '../../src/report/plan-and-ticket-status.ts';
import { clock, enginesText, rounded, waitTime } from '../../src/report/style-and-phrases.ts';
import { hasWords, sectionWords } from '../../src/report/top/filter-and-group-rows.ts';
import type { BoardRow } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { keyOf } from '../live/board-state.ts';
import { board, now } from '../live/live.ts';
import { address, setQuery } from '../live/route.ts';
import { bySection, linesOf } from '../logic/fold-rows.ts';
import { ActButton } from '../parts/act.tsx';
import {
  Age,
  Command,
  Empty,
  Loading,
  localTimes,
  Mark,
  Since,
  TicketLink,
  ticketAddress,
} from '../parts/small.tsx';
import { ticketWish } from '../parts/ticket-wishes.ts';

/** Rows of a section that are shown before it is unfolded. */
const FIRST_ROWS: Record<Section, number> = { 'need you': 50, running: 100, waiting: 30, done: 10 };
const MORE_ROWS = 200;

const idOf = (section: Section) => section.replace(' ', '-');

export function BoardPage() {
  const state = board.value;
  const query = address.value.query.get('q') ?? '';
  if (!state) return <Loading error={undefined} rows={8} />;
  const sections = bySection(state.rows.values(), state.plans, (row) => query === '' || hasWords(row, query));
  return (
    <>
      <h1 class="hidden">Board</h1>
      <Head />
      <Filter query={query} />
      {state.plans.size === 0 && (
        <div class="part">
          <Empty>There are no open plans. Start with a task of your own, in its repository:</Empty>
          <Command command={'signalbox run --task "Fix the typo in README"'} />
        </div>
      )}
      {BOARD_SECTIONS.map((section) => (
        <BoardSection key={section} section={section} rows={sections[section]} isFiltered={query !== ''} />
      ))}
      <Problems />
    </>
  );
}

function Head() {
  const head = board.value?.head;
  if (!head) return null;
  const { counts, running, maximum, today, limits, engines } = head;
  const budget = today.budgetUsd === null ? '' : ` of ${dollars(today.budgetUsd)}`;
  return (
    <>
      <nav class="counts" aria-label="Sections">
        {BOARD_SECTIONS.map((section) => (
          <a
            key={section}
            href={`#${idOf(section)}`}
            class={`count is-${idOf(section)}`}
            data-some={counts[section] > 0}
          >
            <b class="number">{counts[section]}</b> {sectionWords(section, counts[section])}
          </a>
        ))}
      </nav>
      <p class="facts">
        <span>
          <span class="number">
            {running} of {maximum}
          </span>{' '}
          running
        </span>
        <span>
          <span class="number">{costText(today.usd ?? (today.unpriced ? null : 0), today.unpriced)}</span>
          {budget} today
        </span>
        <span title={engines.map(({ by, pid, host }) => `${by} ${pid} on ${host}`).join('\n')}>
          {enginesText(engines)}
        </span>
      </p>
      {limits.map(({ account, until }) => (
        <p key={account} class="limit">
          Usage limit of <b>{account}</b> until {clock(until, now.value)}, in{' '}
          <span class="number">{waitTime(Date.parse(until) - now.value)}</span>
        </p>
      ))}
    </>
  );
}

function Filter({ query }: { query: string }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).matches('input, textarea, select, dialog *');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <search class="filter">
      <input
        ref={field}
        type="search"
        value={query}
        placeholder="Filter by plan, ticket, phase, agent, reason   /"
        aria-label="Filter tickets"
        onInput={(event) => setQuery({ q: event.currentTarget.value })}
      />
    </search>
  );
}

function BoardSection({
  section,
  rows,
  isFiltered,
}: {
  section: Section;
  rows: BoardRow[];
  isFiltered: boolean;
}) {
  const [more, setMore] = useState(0);
  const groups = isFiltered ? rows.map((row) => ({ why: row.why, rows: [row] })) : linesOf(section, rows);
  const shown = groups.slice(0, FIRST_ROWS[section] + more);
  const left = groups.length - shown.length;
  return (
    <section
      id={idOf(section)}
      class={`section is-${idOf(section)}`}
      aria-labelledby={`${idOf(section)}-name`}
    >
      <h2 id={`${idOf(section)}-name`}>
        {SECTION_NAMES[section]} <span class="number">{rows.length}</span>
      </h2>
      {rows.length === 0 ? (
        <Empty>{isFiltered ? 'None that the filter finds.' : EMPTY[section]}</Empty>
      ) : (
        <ul class="rows">
          {shown.map(({ why, rows: all }) => {
            const [row] = all;
            if (!row) return null;
            return all.length === 1 ? (
              <Row key={keyOf(row)} row={row} />
            ) : (
              <Folded key={why} why={why} rows={all} />
            );
          })}
        </ul>
      )}
      {left > 0 && (
        <button type="button" class="quiet" onClick={() => setMore(more + MORE_ROWS)}>
          Show {Math.min(left, MORE_ROWS)} more of {left}
        </button>
      )}
    </section>
  );
}

const EMPTY: Record<Section, string> = {
  'need you': 'Nothing needs you.',
  running: 'Nothing is running.',
  waiting: 'Nothing is waiting.',
  done: 'Nothing was finished in the last day.',
};

/** Many tickets with the same reason. */
function Folded({ why, rows }: { why: string; rows: BoardRow[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li class="folded">
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <b class="number">{rows.length} tickets</b> {localTimes(why)}
        </summary>
        {isOpen && (
          <ul class="rows">
            {rows.slice(0, MORE_ROWS).map((row) => (
              <Row key={keyOf(row)} row={row} />
            ))}
          </ul>
        )}
      </details>
    </li>
  );
}

const Row = memo(({ row }: { row: BoardRow }) => {
  const {
    section,
    planName,
    planId,
    why,
    phase,
    visit,
    attempt,
    agent,
    usage,
    unpriced,
    machine,
    pullRequest,
  } = row;
  const isActive = section === 'running';
  const times = [visit > 1 ? `visit ${visit}` : '', attempt > 1 ? `attempt ${attempt}` : ''].filter(Boolean);
  return (
    <li class={`row is-${row.status}`} data-key={keyOf(row)}>
      <Mark status={row.status} />
      <div class="what">
        <TicketLink row={row} />
        <p class="why">{isActive ? <Action row={row} /> : localTimes(why)}</p>
        {section === 'need you' && <RowControls row={row} />}
      </div>
      <div class="where">
        <a href={`/plans/${encodeURIComponent(planId)}`}>{planName}</a>
        {section !== 'done' && (
          <span class="phase">
            {phase ?? ''} {times.length > 0 && <small>({times.join(', ')})</small>}
          </span>
        )}
        <small>
          {[agent, machine && `on ${machine}`].filter(Boolean).join(' ')}
          {pullRequest && (
            <>
              {' '}
              <a href={pullRequest} target="_blank" rel="noreferrer">
                pull request
              </a>
            </>
          )}
        </small>
      </div>
      <div class="figures">
        <Age row={row} />
        <small class="number">
          {usage && `${rounded((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0))} tok`}
        </small>
        <small class="number">{(usage || unpriced > 0) && costText(usage?.costUsd ?? null, unpriced)}</small>
      </div>
    </li>
  );
});

/** What a running ticket does; how long it has been silent where that is unusual. */
function Action({ row }: { row: BoardRow }) {
  const isSilent = isTooSilent(row, now.value);
  return (
    <>
      {isSilent && (
        <b class="silent">
          silent for <Since time={row.printedAt ?? row.since} />{' '}
        </b>
      )}
      <span class="action">{row.action ?? (row.why === row.phase ? '' : localTimes(row.why))}</span>
    </>
  );
}

function RowControls({ row }: { row: BoardRow }) {
  const isGate = row.legal.includes('respond');
  const isCommand = row.next.startsWith('signalbox ');
  return (
    <div class="buttons">
      {isGate && (
        <a class="button primary" href={`${ticketAddress(row)}#gate`}>
          Answer
        </a>
      )}
      {row.legal.includes('retry') && !isGate && <ActButton wish={ticketWish(row, 'retry')} primary />}
      {row.legal.includes('resume') && <ActButton wish={ticketWish(row, 'resume')} primary />}
      {isCommand && !isGate && <Command command={row.next} />}
    </div>
  );
}

function Problems() {
  const problems = board.value?.head.problems ?? [];
  if (problems.length === 0) return null;
  return (
    <section class="section" aria-labelledby="problems-name">
      <h2 id="problems-name">
        Cannot be read <span class="number">{problems.length}</span>
      </h2>
      <ul class="rows">
        {problems.map(({ path, message }) => (
          <li key={path} class="row">
            <Mark status="failed" />
            <div class="what">
              {!message.includes(path) && <code>{path}</code>}
              <p class="why">{message}</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
