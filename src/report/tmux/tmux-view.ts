import { type Machine, machineIn } from '../../machine/machine-files-and-locks.ts';
import type { Env } from '../../machine/paths-and-user-home.ts';
import type { Tmux, TmuxOptions } from '../../machine/tmux/run-tmux.ts';
import { TMUX_TIMEOUT_MS, TmuxError, tmuxClient, tmuxOff, tooSlow } from '../../machine/tmux/run-tmux.ts';
import type { PaneCommand, TmuxPane, TmuxSession } from '../../machine/tmux/session-windows-and-panes.ts';
import {
  closePanes,
  makeSession,
  openWindow,
  readSession,
  restartPane,
} from '../../machine/tmux/session-windows-and-panes.ts';
import { sessionName, windowName } from '../../machine/tmux/tmux-names-and-escapes.ts';
import { explained } from '../../model/errors.ts';
import type { EngineEvent } from '../../model/events.ts';
import { digest, refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { isRest } from '../../model/state/next-step-or-rest.ts';

export interface TmuxViewOptions extends Pick<TmuxOptions, 'cwd' | 'socketName' | 'timeoutMs'> {
  /** Name of the session; it is made safe for tmux. */
  session: string;
  stateDir: string;
  /** The repository whose work is shown. A session of this name that shows another repository is not used. */
  repo?: string | null | undefined;
  /** The run's environment. Add SIGNALBOX_CONFIG if a config file was named in another way. */
  env: Env;
  /** The command line of signalbox: `[node, cli.cjs]`. */
  cli: readonly string[];
  /** Maximum number of windows; the oldest finished ones are closed above it. */
  limit?: number | undefined;
  /**
   * Called with the first problem, when a window of running work is closed, and when the windows are in a session of
   * another name; once each. The work continues. Must not throw.
   */
  onProblem(message: string): void;
  /** Interval of checks that the session still exists. */
  checkEveryMs?: number | undefined;
}

export interface TmuxView {
  session: string;
  /** Why there are no windows, if the user turned them off. */
  off: string | null;
  /** Takes every event. Never throws or waits. */
  listen(event: EngineEvent): void;
  /** Waits for open windows at most as long as one tmux call may take. The windows stay. */
  close(): Promise<void>;
}

const LIMIT = 12;
const LOOK_MS = 5_000;

/** A tmux session with a window per ticket that follows its log. The work does not depend on it. */
export function openTmuxView(options: TmuxViewOptions): TmuxView {
  const session = sessionName(options.session);
  if (!tmuxOff(options.env)) return new Windows(options, session);
  const off = 'CODEAGENT_NO_TMUX is set: no tmux windows.';
  return { session, off, listen: () => undefined, close: async () => undefined };
}

class Windows implements TmuxView {
  readonly off = null;
  readonly #wanted: string;
  readonly #owner: string | null;
  /** Added to the name if another repository has a session of that name. */
  #number = 1;
  readonly #options: TmuxViewOptions;
  readonly #tmux: Tmux;
  readonly #machine: Machine;
  /** Tickets with an open window that have not stopped since. */
  readonly #shown = new Set<string>();
  readonly #resting = new Set<string>();
  /** Tickets that stopped since the last check; a missing window of theirs was closed by hand. */
  readonly #rested = new Set<string>();
  readonly #recorded = new Set<string>();
  /** Tickets that need a window, each at most once. */
  readonly #waiting = new Map<string, TicketRef>();
  #latest: TicketRef | undefined;
  /** Windows must be counted again; the last count was above the limit. */
  #count = false;
  #tooMany = false;
  /** The session must be checked: it may be closed during a phase. */
  #checkDue = false;
  #checks: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #seen = false;
  #reported = false;
  #reportedClosed = false;
  /** There is no tmux, or closing took too long. */
  #isClosed = false;
  readonly #abort = new AbortController();

  constructor(options: TmuxViewOptions, session: string) {
    this.#options = options;
    this.#wanted = session;
    const { repo, stateDir } = options;
    this.#owner = repo ? digest(`${stateDir}\0${repo}`) : null;
    this.#machine = machineIn(options.stateDir);
    this.#tmux = tmuxClient({ ...options, signal: this.#abort.signal });
  }

  get session(): string {
    return this.#number === 1 ? this.#wanted : `${this.#wanted}-${this.#number}`;
  }

  listen(event: EngineEvent): void {
    if (this.#isClosed) return;
    if (event.type === 'attempt:start' || event.type === 'attempt:adopt') {
      const { planId, ticketId } = event;
      this.#resting.delete(refKey(event));
      this.#latest = { planId, ticketId };
      this.#waiting.set(refKey(event), this.#latest);
      this.#wake();
    } else if (event.type === 'ticket:status' && isRest(event.status)) {
      this.#resting.add(refKey(event));
      if (this.#shown.delete(refKey(event)) && !this.#reportedClosed && !this.#reported) {
        this.#rested.add(refKey(event));
        this.#checkDue = true;
      }
      this.#count ||= this.#tooMany;
      if (this.#busy) this.#wake();
    }
  }

  async close(): Promise<void> {
    const timer = setTimeout(() => {
      this.#isClosed = true;
      this.#abort.abort(tooSlow(this.#options.timeoutMs));
    }, this.#options.timeoutMs ?? TMUX_TIMEOUT_MS);
    while (this.#working) await this.#working;
    clearTimeout(timer);
    this.#stopChecking();
  }

  get #busy(): boolean {
    return !this.#isClosed && (this.#waiting.size > 0 || this.#count || this.#checkDue);
  }

  #wake(): void {
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      if (this.#busy) this.#wake();
    });
  }

  /** Handles one item after the other, never inside the caller's turn. */
  async #work(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#busy) {
      try {
        await this.#next();
      } catch (error) {
        this.#problem(error);
      }
    }
  }

  async #next(): Promise<void> {
    if (this.#checkDue) {
      this.#checkDue = false;
      const session = await readSession(this.#tmux, this.session);
      if (session) this.#missClosed(session);
      else this.#gone();
    }
    const [[key, ref] = []] = this.#waiting;
    if (ref) {
      this.#waiting.delete(key ?? '');
      await this.#show(ref);
    }
    if (!this.#count) return;
    this.#count = false;
    await this.#closeSurplus();
  }

  #keepChecking(): void {
    if (this.#reported || this.#checks) return;
    this.#checks = setInterval(() => {
      this.#checkDue = true;
      this.#wake();
    }, this.#options.checkEveryMs ?? LOOK_MS);
    this.#checks.unref();
  }

  #stopChecking(): void {
    clearInterval(this.#checks);
    this.#checks = undefined;
    this.#checkDue = false;
  }

  async #show(ref: TicketRef): Promise<void> {
    const ticket = refKey(ref);
    const session = await this.#ensureSession();
    const step = windowStep(session.panes, ticket, !this.#shown.has(ticket));
    const command = followerOf(this.#options, ref);
    if (step.do === 'restart') await restartPane(this.#tmux, step.pane, command);
    if (step.do === 'open') {
      const select = !session.attached;
      await openWindow(this.#tmux, {
        session: this.session,
        ticketId: ref.ticketId,
        ticket,
        select,
        command,
      });
      this.#count = true;
    }
    if (!this.#resting.has(ticket)) this.#shown.add(ticket);
    await closePanes(this.#tmux, session.placeholders);
    this.#record(ref.planId, session.socket);
    this.#keepChecking();
  }

  async #ensureSession(): Promise<TmuxSession> {
    const before = this.#number;
    const found = await this.#own();
    if (!found && this.#seen) this.#gone();
    if (!found) await makeSession(this.#tmux, this.session, { cwd: this.#options.cwd, owner: this.#owner });
    const session = found ?? (await this.#own());
    if (!session)
      throw new TmuxError('tmux/gone', `The tmux session ${this.session} ended as soon as it was made.`);
    this.#seen = true;
    if (this.#number !== before)
      this.#options.onProblem(
        `The session ${this.#wanted} shows another repository; the windows are in ${this.session}.`,
      );
    return session;
  }

  /** The session of this repository, or one without an owner; sessions of other repositories are skipped. */
  async #own(): Promise<TmuxSession | undefined> {
    for (;;) {
      const found = await readSession(this.#tmux, this.session);
      if (!found || this.#owner === null || found.owner === null || found.owner === this.#owner) return found;
      this.#number += 1;
    }
  }

  /** Reports a window that was closed by hand. A window whose command has ended still exists. */
  #missClosed({ panes }: TmuxSession): void {
    const there = new Set(panes.map(({ ticket }) => ticket));
    const closed = [...this.#rested, ...this.#shown].find((ticket) => !there.has(ticket));
    this.#rested.clear();
    if (closed === undefined || this.#reportedClosed) return;
    this.#reportedClosed = true;
    const [planId = '', ticketId = ''] = closed.split('/');
    this.#options.onProblem(
      `The window ${windowName(ticketId)} was closed. ${wayToWatch({ planId, ticketId })}`,
    );
  }

  #gone(): void {
    this.#shown.clear();
    this.#rested.clear();
    this.#report(`The tmux session ${this.session} is gone; a new one is made for the windows that follow.`);
  }

  async #closeSurplus(): Promise<void> {
    const limit = this.#options.limit ?? LIMIT;
    const session = await readSession(this.#tmux, this.session);
    const panes = session?.panes ?? [];
    const closed = new Set(panesToClose({ panes, resting: this.#resting, limit }));
    for (const { id, ticket } of panes) {
      if (!closed.has(id) || ticket === null) continue;
      this.#shown.delete(ticket);
      this.#rested.delete(ticket);
    }
    await closePanes(this.#tmux, [...closed]);
    this.#tooMany = panes.filter((pane) => pane.ticket !== null).length > limit;
  }

  #record(planId: string, socket: string): void {
    if (this.#recorded.has(planId)) return;
    this.#recorded.add(planId);
    this.#machine.keepTmuxRecord(planId, { session: this.session, socket });
  }

  #problem(error: unknown): void {
    if (error instanceof TmuxError && error.code === 'tmux/missing') this.#isClosed = true;
    this.#report(explained(error));
  }

  #report(what: string): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#stopChecking();
    this.#options.onProblem(
      `${what} ${wayToWatch(this.#latest ?? { planId: '<plan>', ticketId: '<ticket>' })}`,
    );
  }
}

function wayToWatch({ planId, ticketId }: TicketRef): string {
  return `The work continues; watch it with: signalbox logs ${planId} ${ticketId} --follow`;
}

const VARIABLES = /^(HOME|PATH|LANG|LC_\w+|TZ|NO_COLOR|SIGNALBOX_HOME|SIGNALBOX_CONFIG)$/;

/** The command of a ticket's window. Panes inherit the server's environment, so it sets the variables that it needs. */
function followerOf(
  { env, cli, cwd, stateDir }: Pick<TmuxViewOptions, 'env' | 'cli' | 'cwd' | 'stateDir'>,
  { planId, ticketId }: TicketRef,
): PaneCommand {
  const kept = Object.entries(env).filter(([name]) => VARIABLES.test(name));
  const variables = [...kept, ['SIGNALBOX_STATE_DIR', stateDir]].map(([name, value]) => `${name}=${value}`);
  const words = ['logs', planId, ticketId, '--follow', '--until-rest'];
  return { cwd, argv: ['env', '-i', ...variables, ...cli, ...words] };
}

export interface Scene {
  /** All panes of the session, also foreign ones. */
  panes: readonly TmuxPane[];
  /** Tickets that do not move by themselves. */
  resting: ReadonlySet<string>;
  /** Maximum number of windows; windows of running tickets are never closed. */
  limit: number;
}

export type Step = { do: 'open' } | { do: 'restart'; pane: string } | { do: 'nothing' };

/**
 * What to do with a ticket's window when an attempt starts. `fresh`: the first attempt, or the first after a stop. Otherwise
 * a missing window was closed by hand and stays closed.
 */
export function windowStep(panes: readonly TmuxPane[], ticket: string, fresh: boolean): Step {
  const own = panes.find((pane) => pane.ticket === ticket);
  if (own) return own.dead || fresh ? { do: 'restart', pane: own.id } : { do: 'nothing' };
  return fresh ? { do: 'open' } : { do: 'nothing' };
}

/** Panes to close above the limit: finished ones that are not on screen, oldest first. */
export function panesToClose({ panes, resting, limit }: Scene): string[] {
  const ours = panes.filter((pane) => pane.ticket !== null);
  const finished = ours
    .filter((pane) => !pane.watched && (pane.dead || resting.has(pane.ticket ?? '')))
    .sort((a, b) => age(a) - age(b));
  return finished.slice(0, Math.max(0, ours.length - limit)).map((pane) => pane.id);
}

/** Pane ids count up. */
function age(pane: TmuxPane): number {
  return Number(pane.id.slice(1));
}
