import { exactly, literal, type Tmux, TmuxError, windowName, word } from './run-tmux.ts';

/** One pane of a session. Ours have a ticket; a person may have others beside them. */
export interface TmuxPane {
  /** `%3`. Ids name one pane of one server, whatever people do to names and places. */
  id: string;
  window: string;
  name: string;
  /** `plan/ticket`, or null where the pane is not ours. */
  ticket: string | null;
  /** Its command has ended; the text is still there. */
  dead: boolean;
  /** A client shows its window. */
  watched: boolean;
}

export interface TmuxSession {
  socket: string;
  /** Which run made it; null: a person did. */
  owner: string | null;
  /** A client is attached to it. */
  attached: boolean;
  panes: TmuxPane[];
  /** Windows that only keep the session there until it has others. */
  placeholders: string[];
}

/** What a pane runs. `cwd` and `argv` are taken as they are. */
export interface PaneCommand {
  cwd: string;
  argv: readonly string[];
}

const MARK = '@signalbox_ticket';
const OWNER = '@signalbox_owner';
const PLACEHOLDER = '-';
/** Waits for ever and asks nothing; two words, so that no shell is started for it. */
const WAIT = ['cat', '-'];
const HISTORY_LINES = 10_000;
const FIELDS = [
  'socket_path',
  OWNER,
  'session_attached',
  'pane_id',
  'window_id',
  'pane_dead',
  'window_active_clients',
  MARK,
  'window_name',
];
/** No socket, id or ticket has it; a window's name comes last and may. */
const BETWEEN = '|';
const FORMAT = FIELDS.map((field) => `#{${field}}`).join(BETWEEN);

/** The session as it is now, or undefined when there is none of that very name. */
export async function readSession(tmux: Tmux, name: string): Promise<TmuxSession | undefined> {
  try {
    return parseSession(await tmux('list-panes', '-s', '-t', exactly(name), '-F', FORMAT));
  } catch (error) {
    if (error instanceof TmuxError && error.code === 'tmux/gone') return undefined;
    throw error;
  }
}

export function parseSession(text: string): TmuxSession {
  const session: TmuxSession = { socket: '', owner: null, attached: false, panes: [], placeholders: [] };
  for (const line of text.split('\n').filter(Boolean)) {
    const [socket = '', owner = '', attached, id = '', window = '', dead, watchers, mark = '', ...rest] =
      line.split(BETWEEN);
    checked(id, line);
    session.socket = socket;
    session.owner = owner === '' ? null : owner;
    session.attached = Number(attached) > 0;
    if (mark === PLACEHOLDER) session.placeholders.push(id);
    else
      session.panes.push({
        id,
        window,
        name: rest.join(BETWEEN),
        ticket: mark === '' ? null : mark,
        dead: dead === '1',
        watched: Number(watchers) > 0,
      });
  }
  return session;
}

function checked(pane: string, answer = pane): string {
  if (!/^%\d+$/.test(pane))
    throw new TmuxError('tmux/failed', `tmux answered ${JSON.stringify(answer.slice(0, 100))}.`, {
      hint: 'tmux 3.0 or newer is needed.',
    });
  return pane;
}

/** Makes a detached session. Its windows are opened after its options are set, so that they have them. */
export async function makeSession(
  tmux: Tmux,
  name: string,
  { cwd, owner }: { cwd: string; owner: string | null },
): Promise<void> {
  const set = (...args: string[]) => [';', 'set-option', '-t', exactly(name), ...args];
  const size = ['-x', '200', '-y', '50'];
  const place = ['-c', literal(cwd)];
  try {
    await tmux(
      ...['new-session', '-d', '-s', name, '-n', 'signalbox', ...size, ...place, ...WAIT],
      ...set('destroy-unattached', 'off'),
      ...set('history-limit', String(HISTORY_LINES)),
      ...set('-p', MARK, PLACEHOLDER),
      ...(owner === null ? [] : set(OWNER, owner)),
    );
    // By default its name is cut so short that it runs into the windows'; a person's own setting counts.
    if ((await tmux('show-options', '-gv', 'status-left-length')) === '10')
      await tmux('set-option', '-t', exactly(name), 'status-left-length', String(name.length + 4));
  } catch (error) {
    // Another process has just made it.
    if (!(error instanceof TmuxError && error.code === 'tmux/taken')) throw error;
  }
}

export interface NewWindow {
  session: string;
  command: PaneCommand;
  ticketId: string;
  /** `plan/ticket`. */
  ticket: string;
  /** Make it the one that is seen. */
  select: boolean;
}

/** Opens a ticket's window. The command starts after the options are set: it may end at once, and its text must stay. */
export async function openWindow(tmux: Tmux, window: NewWindow): Promise<void> {
  const select = window.select ? [] : ['-d'];
  const name = ['-n', literal(windowName(window.ticketId))];
  // After the last: in the gaps that closed windows leave, the order would be lost.
  const at = ['-a', '-t', `${exactly(window.session)}{end}`, '-c', literal(window.command.cwd)];
  const shown = ['-P', '-F', '#{pane_id}'];
  const pane = checked(await tmux('new-window', ...select, ...shown, ...at, ...name, ...WAIT));
  const set = (...args: string[]) => ['set-option', '-t', pane, ...args, ';'];
  try {
    await tmux(
      ...set('-p', MARK, window.ticket),
      ...set('-p', 'remain-on-exit', 'on'),
      // Not every tmux has this one.
      ...set('-q', '-p', 'remain-on-exit-format', ''),
      ...set('-w', 'allow-rename', 'off'),
      ...set('-w', 'automatic-rename', 'off'),
      ...respawn(pane, window.command),
    );
  } catch (error) {
    await closePanes(tmux, [pane]);
    throw error;
  }
}

/** Starts a pane's command anew; what is still running in it ends. */
export async function restartPane(tmux: Tmux, pane: string, command: PaneCommand): Promise<void> {
  await tmux(...respawn(pane, command));
}

function respawn(pane: string, { cwd, argv }: PaneCommand): string[] {
  return ['respawn-pane', '-k', '-t', pane, '-c', literal(cwd), ...argv.map(word)];
}

/** Closes panes, and with them the windows that have no other. One that is gone already is fine. */
export async function closePanes(tmux: Tmux, panes: readonly string[]): Promise<void> {
  for (const pane of panes) {
    try {
      await tmux('kill-pane', '-t', pane);
    } catch (error) {
      if (!(error instanceof TmuxError && error.code === 'tmux/gone')) throw error;
    }
  }
}
