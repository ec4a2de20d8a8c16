import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Attempt } from '../../src/model/ticket.ts';
import { whyUnchecked } from '../../src/model/verdict-criteria-and-missing-checks.ts';
import { clock, inLocalTime, wholeSeconds } from '../../src/report/style-and-phrases.ts';
import type { BoardRow } from '../../src/web/schemas-of-api-answers-events-and-bodies.ts';
import { type ApiError, at } from '../live/api.ts';
import { now } from '../live/live.ts';
import { coloured } from '../logic/ansi.ts';

const MARKS: Record<string, [sign: string, name: string]> = {
  queued: ['◌', 'queued'],
  ready: ['◌', 'ready'],
  running: ['●', 'running'],
  paused: ['‖', 'paused'],
  complete: ['✓', 'complete'],
  failed: ['✗', 'failed'],
  needs_attention: ['!', 'needs attention'],
  success: ['✓', 'succeeded'],
  failure: ['✗', 'failed'],
  skipped: ['–', 'skipped'],
  unchecked: ['–', 'had nothing to check'],
  interrupted: ['‖', 'interrupted'],
  limit: ['◔', 'met a usage limit'],
  none: ['○', 'not started'],
};

/** A status as a sign with a name that screen readers say. */
export function Mark({ status }: { status: string }) {
  const [sign, name] = MARKS[status] ?? ['?', status];
  return (
    <span class={`mark is-${status}`} role="img" aria-label={name} title={name}>
      {sign}
    </span>
  );
}

/** How an attempt is marked. One that found nothing to check has not passed, and one that asks waits for a person. */
export function stateOf(attempt: Attempt): string {
  if (attempt.status === 'running' && attempt.asks !== undefined) return 'needs_attention';
  return whyUnchecked(attempt) === '' ? attempt.status : 'unchecked';
}

export function AttemptMark({ attempt }: { attempt: Attempt | undefined }) {
  return <Mark status={attempt ? stateOf(attempt) : 'none'} />;
}

/** How long ago a time was, moving on every second. */
export function Since({ time, about }: { time: string | null; about?: string }) {
  if (time === null) return null;
  return (
    <time class="number" dateTime={time} title={`${about ? `${about} ` : ''}${clock(time, now.value)}`}>
      {wholeSeconds(Math.max(0, now.value - Date.parse(time)))}
    </time>
  );
}

/** How long a ticket has been in its state. Of one that has ended, a bare time would read as how long it took. */
export function Age({ row: { since, status } }: { row: BoardRow }) {
  if (since === null) return null;
  return (
    <span>
      <Since time={since} about="since" />
      {(status === 'complete' || status === 'failed') && ' ago'}
    </span>
  );
}

export function TimeOfDay({ time }: { time: string }) {
  return (
    <time class="number" dateTime={time}>
      {clock(time, now.value)}
    </time>
  );
}

/** A sentence of the command line, with times of this browser's clock. */
export const localTimes = (text: string) => inLocalTime(text);

export const ticketAddress = (ref: { planId: string; ticketId: string }) =>
  at('plans', ref.planId, 'tickets', ref.ticketId);

export function TicketLink({ row }: { row: BoardRow }) {
  return (
    <a class="ticket-link" href={ticketAddress(row)}>
      <b>{row.ticketId}</b> <span class="title">{row.title}</span>
    </a>
  );
}

/** Text that agents printed. It is never anything but text; only colours are kept. */
export function Printed({ text }: { text: string }) {
  return (
    <>
      {coloured(text).map(({ text, classes }, index) =>
        classes === '' ? (
          text
        ) : (
          <span key={index} class={classes}>
            {text}
          </span>
        ),
      )}
    </>
  );
}

/** A command for the terminal, and a button that copies it. */
export function Command({ command, about }: { command: string; about?: string }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
      setSaid('copied');
    } catch {
      setSaid('select it and copy it');
    }
  };
  return (
    <div class="command">
      {about && <span class="command-about">{about}</span>}
      <code>{command}</code>
      <button type="button" class="quiet" onClick={copy} aria-label={`Copy: ${command}`}>
        <span aria-live="polite">{said || 'copy'}</span>
      </button>
    </div>
  );
}

export function Problem({ error }: { error: ApiError }) {
  return (
    <div class="problem" role="alert">
      <p>{localTimes(error.message)}</p>
      {error.hint && <p class="hint">{localTimes(error.hint)}</p>}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** Keeps the place of what is loaded, so that nothing jumps when it is there. */
export function Loading({ error, rows = 3 }: { error: ApiError | undefined; rows?: number }) {
  if (error) return <Problem error={error} />;
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}
