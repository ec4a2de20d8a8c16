import { clock } from '../../src/report/style-and-phrases.ts';
import { sectionWords } from '../../src/report/top/filter-and-group-rows.ts';
import { connectAgain, link, needYou, now, session } from '../live/live.ts';
import { canNotify, turnOnNotifications } from '../live/notifications.ts';
import { notifications, person, theme } from '../live/preferences.ts';
import { route } from '../live/route.ts';

const PAGES = [
  ['/', 'Board', ['board']],
  ['/plans', 'Plans', ['plans', 'plan', 'ticket']],
  ['/costs', 'Costs', ['costs']],
  ['/report', 'Report', ['report']],
] as const;

export function TopBar() {
  const { page } = route.value;
  return (
    <header class="top-bar">
      <a class="brand" href="/" aria-label="Signalbox, board">
        <img src="/icon.svg" alt="" width="22" height="22" />
        <span>Signalbox</span>
      </a>
      <nav aria-label="Pages">
        {PAGES.map(([path, name, of]) => (
          <a key={path} href={path} aria-current={of.some((each) => each === page) ? 'page' : undefined}>
            {name}
            {path === '/' && needYou.value > 0 && (
              <span
                class="badge number"
                role="img"
                aria-label={`${needYou.value} ${sectionWords('need you', needYou.value)}`}
              >
                {needYou.value}
              </span>
            )}
          </a>
        ))}
      </nav>
      <span class="space" />
      <ConnectionMark />
      <Settings />
    </header>
  );
}

function ConnectionMark() {
  const { kind } = link.value;
  const text =
    session.value?.readOnly && kind === 'live' ? 'read-only' : kind === 'lost' ? 'not connected' : kind;
  return (
    <span class={`connection is-${kind}`} role="status">
      {text}
    </span>
  );
}

/** Says since when what is shown is old. */
export function ConnectionNote() {
  const state = link.value;
  if (state.kind !== 'lost') return null;
  const time = <b>{clock(new Date(state.since).toISOString(), now.value)}</b>;
  if (state.isServed)
    return (
      <div class="note is-lost" role="alert">
        <p>The server cannot read the state: this is from {time}. Nothing can be decided until it can.</p>
      </div>
    );
  return (
    <div class="note is-lost" role="alert">
      <p>
        No connection: this is from {time}. Nothing can be decided until it is back. If the server was
        stopped, start it again: <code>signalbox web</code>
      </p>
      <button type="button" onClick={connectAgain}>
        Connect now
      </button>
    </div>
  );
}

function Settings() {
  const { user, host, stateDir, version } = session.value ?? {};
  return (
    <details class="settings">
      <summary aria-label="Settings">
        <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
          <path d="M3 5h14M3 10h14M3 15h14" />
          <circle cx="7" cy="5" r="2" />
          <circle cx="13" cy="10" r="2" />
          <circle cx="6" cy="15" r="2" />
        </svg>
      </summary>
      <div class="panel">
        <label class="field">
          Your name, recorded with your decisions
          <input
            value={person.value}
            maxLength={80}
            placeholder={user ?? ''}
            onInput={(event) => {
              person.value = event.currentTarget.value;
            }}
          />
        </label>
        <fieldset>
          <legend>Theme</legend>
          {['auto', 'light', 'dark'].map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="theme"
                checked={theme.value === each}
                onChange={() => {
                  theme.value = each;
                }}
              />{' '}
              {each}
            </label>
          ))}
        </fieldset>
        <label class="check">
          <input
            type="checkbox"
            checked={notifications.value === 'on'}
            disabled={!canNotify}
            onChange={(event) => {
              if (event.currentTarget.checked) void turnOnNotifications();
              else notifications.value = 'off';
            }}
          />{' '}
          Desktop notifications when a ticket needs you
        </label>
        {!canNotify && <p class="hint">Browsers show them over HTTPS or on localhost only.</p>}
        <p class="hint">
          Signalbox {version} on {host}
          <br />
          {stateDir}
        </p>
      </div>
    </details>
  );
}
