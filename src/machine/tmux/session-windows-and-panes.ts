import { type Tmux, TmuxError, unlessTmux } from './run-tmux.ts';
import { exactSession, literal, tmuxWord, windowName } from './tmux-names-and-escapes.ts';

/** One pane of a session. Signalbox's panes have a ticket; a person may have others beside them. */
export interface TmuxPane {
  /** `%3`. Ids stay the same when people rename or move panes. */
  id: string;
  window: string;
  name: string;
  /** `plan/ticket`, or null if the pane is not Signalbox's. */
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
/** A command that waits for ever. Two words, so that tmux starts no shell for it. */
const WAIT_FOR_EVER = ['cat', '-'];
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
/** No socket, id or ticket contains it. A window's name may, so it comes last. */
const SEPARATOR = '|';
const FORMAT = FIELDS.map((field) => `#{${field}}`).join(SEPARATOR);

/** The session as it is now, or undefined when there is none of that very name. */
export async function readSession(tmux: Tmux, name: string): Promise<TmuxSession | undefined> {
  const listed = () => tmux('list-panes', '-s', '-t', exactSession(name), '-F', FORMAT);
  const text = await unlessTmux('tmux/gone', listed);
  return text === undefined ? undefined : parseSession(text);
}

export function parseSession(text: string): TmuxSession {
  const session: TmuxSession = { socket: '', owner: null, attached: false, panes: [], placeholders: [] };
  for (const line of text.split('\n').filter(Boolean)) {
    const [socket = '', owner = '', attached, id = '', window = '', dead, watchers, mark = '', ...rest] =
      line.split(SEPARATOR);
    checked(id, line);
    session.socket = socket;
    session.owner = owner === '' ? null : owner;
    session.attached = Number(attached) > 0;
    if (mark === PLACEHOLDER) session.placeholders.push(id);
    else
      session.panes.push({
        id,
        window,
        name: rest.join(SEPARATOR),
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

/** Creates a detached session. Its options are set before its windows are opened, so that they apply to them. */
export async function makeSession(
  tmux: Tmux,
  name: string,
  { cwd, owner }: { cwd: string; owner: string | null },
): Promise<void> {
  const set = (...args: string[]) => [';', 'set-option', '-t', exactSession(name), ...args];
  const size = ['-x', '200', '-y', '50'];
  const place = ['-c', literal(cwd)];
  // Another process may just have made it.
  await unlessTmux('tmux/taken', async () => {
    await tmux(
      ...['new-session', '-d', '-s', name, '-n', 'signalbox', ...size, ...place, ...WAIT_FOR_EVER],
      ...set('destroy-unattached', 'off'),
      ...set('history-limit', String(HISTORY_LINES)),
      ...set('-p', MARK, PLACEHOLDER),
      ...(owner === null ? [] : set(OWNER, owner)),
    );
    // tmux's default is too short for the session name. A person's own setting is kept.
    if ((await tmux('show-options', '-gv', 'status-left-length')) === '10')
      await tmux('set-option', '-t', exactSession(name), 'status-left-length', String(name.length + 4));
  });
}

export interface NewWindow {
  session: string;
  command: PaneCommand;
  ticketId: string;
  /** `plan/ticket`. */
  ticket: string;
  /** Selects the window. */
  select: boolean;
}

/** Opens a ticket's window. The command starts after the options are set: it may end at once, and its text must stay. */
export async function openWindow(tmux: Tmux, window: NewWindow): Promise<void> {
  const select = window.select ? [] : ['-d'];
  const name = ['-n', literal(windowName(window.ticketId))];
  // Adds it after the last window: in the gaps of closed windows the order would be lost.
  const at = ['-a', '-t', `${exactSession(window.session)}{end}`, '-c', literal(window.command.cwd)];
  const shown = ['-P', '-F', '#{pane_id}'];
  const pane = checked(await tmux('new-window', ...select, ...shown, ...at, ...name, ...WAIT_FOR_EVER));
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

/** Restarts a pane's command; a process that still runs in it is killed. */
export async function restartPane(tmux: Tmux, pane: string, command: PaneCommand): Promise<void> {
  await tmux(...respawn(pane, command));
}

function respawn(pane: string, { cwd, argv }: PaneCommand): string[] {
  return ['respawn-pane', '-k', '-t', pane, '-c', literal(cwd), ...argv.map(tmuxWord)];
}

/** Closes panes, and windows without other panes. Panes that are already gone are ignored. */
export async function closePanes(tmux: Tmux, panes: readonly string[]): Promise<void> {
  for (const pane of panes) await unlessTmux('tmux/gone', () => tmux('kill-pane', '-t', pane));
}
