import { useSignalEffect } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { costText } from '../../src/model/limits/usage-cost-and-estimate.ts';
import { noLongerAsks } from '../../src/model/ticket.ts';
import { whyUnchecked } from '../../src/model/verdict-criteria-and-missing-checks.ts';
import { duration, usageText } from '../../src/report/style-and-phrases.ts';
import type { BoardRow, TicketPage as Page } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { ApiError, at, post } from '../live/api.ts';
import { board, canAct, latest, link, now } from '../live/live.ts';
import { address, setQuery } from '../live/route.ts';
import { useLoaded } from '../live/use-loaded.ts';
import { chooseAttempt } from '../logic/choose-attempt.ts';
import { gateToShow, type Question, questionKey } from '../logic/gate-to-show.ts';
import { ActButton, say, whyNot } from '../parts/act.tsx';
import { DiffView } from '../parts/diff.tsx';
import {
  AttemptMark,
  Command,
  Empty,
  Loading,
  localTimes,
  Mark,
  Printed,
  Problem,
  Since,
  TimeOfDay,
} from '../parts/small.tsx';
import { TextFile } from '../parts/text-file.tsx';
import { retryFrom, ticketWish } from '../parts/ticket-wishes.ts';
import { TranscriptView } from '../parts/transcript.tsx';

type AttemptFacts = Page['attempts'][number];
const VIEWS = [
  ['phases', 'Phases'],
  ['diff', 'Diff'],
  ['about', 'About'],
] as const;

/** Counts what happens to a ticket, so that its page is read again. */
function useNews(planId: string, ticketId: string): number {
  const [count, setCount] = useState(0);
  const before = useRef('');
  useSignalEffect(() => {
    const row = board.value?.rows.get(`${planId}/${ticketId}`);
    const isAbout = latest.value.some((event) => event.planId === planId && event.ticketId === ticketId);
    const state = JSON.stringify([row?.status, row?.phase, row?.visit, row?.attempt, row?.hold, row?.why]);
    const isBack = link.value.kind === 'live';
    if (isBack && (isAbout || state !== before.current)) setCount((old) => old + 1);
    before.current = state;
  });
  return count;
}

export function TicketPage({ planId, ticketId }: { planId: string; ticketId: string }) {
  const path = at('plans', planId, 'tickets', ticketId);
  const news = useNews(planId, ticketId);
  const { data, error } = useLoaded<Page>(path, news);
  if (!data) return <Loading error={error} rows={10} />;
  const row = board.value?.rows.get(`${planId}/${ticketId}`) ?? data.row;
  const wanted = address.value.query.get('view');
  const view = VIEWS.find(([name]) => name === wanted)?.[0] ?? 'phases';
  return (
    <article class="ticket">
      <TicketHead page={data} row={row} />
      <GateBox page={data} path={path} />
      {error && <Problem error={error} />}
      <nav id="work" class="tabs" aria-label="Parts of the ticket">
        {VIEWS.map(([name, label]) => (
          <a
            key={name}
            href={name === 'phases' ? path : `${path}?view=${name}`}
            aria-current={view === name ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      {view === 'phases' && <Phases page={data} row={row} path={path} />}
      {view === 'diff' &&
        (data.attempts.length === 0 ? (
          <Empty>It has not started. Its changes appear here when it does.</Empty>
        ) : (
          <DiffView path={path} version={news} />
        ))}
      {view === 'about' && <About page={data} />}
    </article>
  );
}

function TicketHead({ page, row }: { page: Page; row: BoardRow }) {
  const { plan, ticket, legal, phases } = page;
  const { why, next } = ticket;
  const names = phases.map(({ id }) => id);
  const isGate = page.gate !== null;
  const isOver = row.status === 'complete' || row.status === 'failed';
  const controls = (['retry', 'resume', 'pause', 'stop', 'skip', 'cancel'] as const).filter((name) =>
    legal.includes(name),
  );
  const main = isGate ? undefined : controls.find((name) => name === 'retry' || name === 'resume');
  return (
    <header class="page-head">
      <p class="crumbs">
        <a href="/plans">Plans</a> / <a href={at('plans', plan.id)}>{plan.name}</a> / {ticket.ticketId}
      </p>
      <h1>
        <Mark status={row.status} /> {ticket.title}
      </h1>
      <p class="state">
        <b>{row.status.replace('_', ' ')}</b>
        {row.phase && row.phase !== row.status && ` in ${row.phase}`}
        {row.since && (
          <>
            {isOver ? ' ' : ' for '}
            <Since time={row.since} about="since" />
            {isOver && ' ago'}
          </>
        )}
        {row.usage && ` · ${usageText(row.usage, row.unpriced)}`}
        {!row.usage && row.unpriced > 0 && ` · ${costText(null, row.unpriced)}`}
        {row.machine && ` · on ${row.machine}`}
        {row.pullRequest && (
          <>
            {' · '}
            <a href={row.pullRequest} target="_blank" rel="noreferrer">
              pull request
            </a>
          </>
        )}
      </p>
      {!isGate && why !== row.phase && why && <p class="why">{localTimes(why)}</p>}
      {!isGate &&
        next &&
        (next.startsWith('signalbox ') ? <Command command={next} /> : <p class="hint">{localTimes(next)}</p>)}
      <div class="buttons">
        {controls.map((name) => (
          <ActButton key={name} wish={ticketWish(row, name, names)} primary={name === main} />
        ))}
      </div>
    </header>
  );
}

/** The open question. One that was answered elsewhere stays while the person has typed or sent an answer to it. */
function GateBox({ page, path }: { page: Page; path: string }) {
  const { gate: open, ticket, attempts } = page;
  const [shown, setShown] = useState(open);
  const [isKept, setKept] = useState(false);
  const own = useRef('');
  const gate = gateToShow(page, shown, isKept);
  const closed = (key: string) => {
    if (key === open?.key) return null;
    const { attempt } = attempts.find((each) => each.key === key) ?? {};
    return localTimes(noLongerAsks(ticket, attempt, key));
  };
  useEffect(() => {
    if (gate?.key === shown?.key) return;
    const isSame = shown && gate && questionKey(shown) === questionKey(gate);
    const text = shown && !isSame && shown.key !== own.current && closed(shown.key);
    if (text) say(text);
    setShown(gate);
  }, [gate?.key]);
  if (!gate) return null;
  return (
    <Gate
      key={questionKey(gate)}
      page={page}
      gate={gate}
      path={path}
      closed={closed(gate.key)}
      onKept={setKept}
      onSent={() => {
        own.current = gate.key;
      }}
    />
  );
}

/** A question of a workflow, with its own answers. */
function Gate({
  page,
  gate,
  path,
  closed,
  onKept,
  onSent,
}: {
  page: Page;
  gate: Question;
  path: string;
  /** Who answered it; null: it is open. */
  closed: string | null;
  onKept: (isKept: boolean) => void;
  onSent: () => void;
}) {
  // A reload loses nothing that was typed.
  const draft = `signalbox.answer ${path} ${questionKey(gate)}`;
  const [message, setMessage] = useState(sessionStorage.getItem(draft) ?? '');
  useEffect(() => sessionStorage.setItem(draft, message), [draft, message]);
  const [error, setError] = useState<ApiError | null>(null);
  const [sent, setSent] = useState<string | null>(null);
  useEffect(() => setError(null), [gate.key]);
  const answer = async (decision: string) => {
    setSent(decision);
    setError(null);
    try {
      const { text } = await post<{ text: string }>(`${path}/respond`, {
        ...{ decision, message, attempt: gate.key },
      });
      onSent();
      say(text);
      setMessage('');
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    } finally {
      setSent(null);
    }
  };
  const isKept = message.trim() !== '' || error !== null || sent !== null;
  useEffect(() => onKept(isKept), [isKept]);
  useEffect(() => () => onKept(false), []);
  if (closed !== null && sent === null)
    return (
      <section id="gate" class="gate" aria-labelledby="gate-name">
        <h2 id="gate-name">Your answer was not sent</h2>
        <p class="problem" role="alert">
          {closed}
        </p>
        {message && (
          <label class="field">
            Your message
            <textarea rows={2} readOnly value={message} />
          </label>
        )}
        <div class="buttons">
          <button
            type="button"
            onClick={() => {
              setMessage('');
              setError(null);
            }}
          >
            Close
          </button>
        </div>
      </section>
    );
  return (
    <section id="gate" class="gate" aria-labelledby="gate-name">
      <h2 id="gate-name">It asks you</h2>
      <p class="asks">{localTimes(gate.asks)}</p>
      <p>
        <a href={`${path}?view=diff#work`}>See what it changed</a>
      </p>
      <label class="field">
        Message for the agent (optional)
        <textarea
          rows={2}
          maxLength={20_000}
          value={message}
          onInput={(event) => setMessage(event.currentTarget.value)}
        />
      </label>
      {error && <Problem error={error} />}
      <fieldset class="buttons decisions" aria-label={`Answer ${page.ticket.ticketId}`}>
        {gate.decisions.map((decision, index) => (
          <button
            key={decision}
            type="button"
            class={index === 0 ? 'primary' : ''}
            disabled={!canAct.value || sent !== null}
            title={whyNot() || undefined}
            onClick={() => void answer(decision)}
          >
            {decision.replaceAll('_', ' ')}
          </button>
        ))}
      </fieldset>
    </section>
  );
}

/** How often output on another machine is asked for. */
const ELSEWHERE_MS = 5_000;

const OUTPUTS = [
  ['transcript', 'Transcript'],
  ['prompt', 'Prompt'],
  ['stdout', 'Raw output'],
  ['stderr', 'Errors'],
] as const;

function Phases({ page, row, path }: { page: Page; row: BoardRow; path: string }) {
  const { query } = address.value;
  const chosen = chooseAttempt(page, query.get('attempt'));
  const byKey = useMemo(() => new Map(page.attempts.map((each) => [each.key, each])), [page]);
  return (
    <div class="phases">
      <nav aria-label="Phases">
        <ol class="phase-list">
          {page.phases.map((phase) => {
            const attempts = phase.attempts.flatMap((key) => byKey.get(key) ?? []);
            const latest = attempts.at(-1);
            const last = latest?.attempt;
            const isEnd = row.status === 'complete' && row.phase === phase.id;
            return (
              <li key={phase.id} class={`phase-item is-${last?.status ?? (isEnd ? 'complete' : 'none')}`}>
                <div class="phase-name">
                  {isEnd ? <Mark status="complete" /> : <AttemptMark attempt={last} />}
                  {latest ? (
                    <a href={attemptAddress(path, latest)}>
                      <b>{phase.id}</b>
                    </a>
                  ) : (
                    <b>{phase.id}</b>
                  )}
                  <small>{phase.type === 'unknown' ? '' : phase.type}</small>
                </div>
                <ul>
                  {attempts.map((each) => (
                    <AttemptLink key={each.key} facts={each} path={path} isChosen={each === chosen} />
                  ))}
                </ul>
              </li>
            );
          })}
        </ol>
      </nav>
      {chosen ? (
        <AttemptPanel key={chosen.key} page={page} facts={chosen} row={row} path={path} />
      ) : (
        <Empty>It has not started. Its log appears here when it does.</Empty>
      )}
    </div>
  );
}

const attemptAddress = (path: string, { key }: AttemptFacts) => `${path}?attempt=${encodeURIComponent(key)}`;

function lengthOf({ startedAt, completedAt }: AttemptFacts['attempt']): string {
  return completedAt ? duration(Date.parse(completedAt) - Date.parse(startedAt)) : '';
}

function AttemptLink({ facts, path, isChosen }: { facts: AttemptFacts; path: string; isChosen: boolean }) {
  const { attempt } = facts;
  const { visit, attempt: count, status, outcome } = attempt;
  const verdict = outcome && outcome !== status ? ` → ${outcome}` : '';
  const name = `visit ${visit}${count > 1 ? `, attempt ${count}` : ''}${verdict}`;
  return (
    <li>
      <a class="attempt-link" href={attemptAddress(path, facts)} aria-current={isChosen ? 'true' : undefined}>
        <AttemptMark attempt={attempt} />
        <span>{name}</span>
        <span class="number">{lengthOf(attempt) || <Since time={attempt.startedAt} />}</span>
        <small class="number">
          {attempt.usage && costText(attempt.usage.costUsd, attempt.usage.costUsd === null ? 1 : 0)}
        </small>
      </a>
    </li>
  );
}

function AttemptPanel({
  page,
  facts,
  row,
  path,
}: {
  page: Page;
  facts: AttemptFacts;
  row: BoardRow;
  path: string;
}) {
  const { attempt, key, hasPrompt, stdoutBytes, stderrBytes } = facts;
  const wanted = address.value.query.get('show');
  const outputs = OUTPUTS.filter(([name]) =>
    name === 'prompt' ? hasPrompt : name === 'stderr' ? stderrBytes > 0 : true,
  );
  const isGate = attempt.asks !== undefined;
  const hasVerdict = !!attempt.output && !!attempt.outcome && !/^(success|failure)$/.test(attempt.outcome);
  const show = outputs.find(([name]) => name === wanted)?.[0] ?? 'transcript';
  const base = `${path}/attempts/${encodeURIComponent(key)}`;
  const phase = page.phases.find(({ id }) => id === attempt.phase);
  // What an agent on another machine prints changes nothing on the board.
  const printed = row.machine && !attempt.completedAt ? Math.floor(now.value / ELSEWHERE_MS) : row.printedAt;
  const canRetry = page.legal.includes('skip') && phase?.type !== 'terminal' && phase?.type !== 'unknown';
  return (
    <section class="attempt" aria-labelledby="attempt-name">
      <header>
        <h2 id="attempt-name">
          <AttemptMark attempt={attempt} /> {attempt.phase}
          <small>
            visit {attempt.visit}, attempt {attempt.attempt}
          </small>
        </h2>
        <p class="hint">
          {[
            attempt.agent,
            attempt.outcome && `outcome ${attempt.outcome}`,
            lengthOf(attempt),
            attempt.usage && usageText(attempt.usage),
          ]
            .filter(Boolean)
            .join(' · ')}
          {' · '}
          <TimeOfDay time={attempt.startedAt} />
        </p>
        {attempt.error && <p class="attempt-error">{localTimes(attempt.error.message)}</p>}
        {whyUnchecked(attempt) && <p class="hint">{whyUnchecked(attempt)}</p>}
        {attempt.warning && <p class="hint">{attempt.warning}</p>}
        {attempt.asks && <p class="asks">{localTimes(attempt.asks)}</p>}
        {attempt.answeredBy && (
          <p class="hint">
            Answered by {attempt.answeredBy.by ?? 'a person'} ({attempt.answeredBy.door ?? 'unknown door'})
            {attempt.output && <>: {attempt.output}</>}
          </p>
        )}
        {hasVerdict && !attempt.answeredBy && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
          <section class="verdict" tabIndex={0} aria-label="Verdict">
            <Printed text={attempt.output ?? ''} />
          </section>
        )}
        {canRetry && (
          <div class="buttons">
            <ActButton wish={retryFrom(row, attempt.phase)} />
          </div>
        )}
      </header>
      {isGate ? null : (
        <>
          <nav class="tabs small" aria-label="Output of the attempt">
            {outputs.map(([name, label]) => (
              <button
                key={name}
                type="button"
                aria-pressed={show === name}
                onClick={() => setQuery({ attempt: key, show: name === 'transcript' ? null : name })}
              >
                {label}
              </button>
            ))}
          </nav>
          {show === 'transcript' && (
            <TranscriptView
              path={base}
              news={`${printed} ${attempt.status} ${stdoutBytes} ${link.value.kind}`}
            />
          )}
          {show === 'prompt' && <TextFile path={`${base}/prompt`} name="Prompt" from="beginning" />}
          {(show === 'stdout' || show === 'stderr') && (
            <TextFile
              key={show}
              path={`${base}/output?stream=${show}`}
              name={show === 'stdout' ? 'Raw output' : 'Errors'}
              from="end"
            />
          )}
        </>
      )}
    </section>
  );
}

function About({ page }: { page: Page }) {
  const { ticket, commands } = page;
  const { description, acceptanceCriteria = [], branch, base, worktree, linearUrl } = ticket;
  const isLink = typeof linearUrl === 'string' && /^https?:\/\//.test(linearUrl);
  return (
    <div class="about">
      <section>
        <h2>Work</h2>
        {description ? <p class="prose">{description}</p> : <Empty>It has no description.</Empty>}
        {isLink && (
          <p>
            <a href={linearUrl} target="_blank" rel="noreferrer">
              {linearUrl}
            </a>
          </p>
        )}
      </section>
      {acceptanceCriteria.length > 0 && (
        <section>
          <h2>Acceptance criteria</h2>
          <ul class="criteria">
            {acceptanceCriteria.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>Where it works</h2>
        <dl class="pairs">
          {branch && <Pair name="Branch" value={branch} />}
          {base && <Pair name="Base" value={`${base.ref} at ${base.commit.slice(0, 10)}`} />}
          {worktree && <Pair name="Worktree" value={worktree} />}
        </dl>
      </section>
      <section>
        <h2>In a terminal</h2>
        {commands.map((each) => (
          <Command key={each.command} command={each.command} about={each.about} />
        ))}
      </section>
    </div>
  );
}

function Pair({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code>{value}</code>
      </dd>
    </>
  );
}
