import { createHash } from 'node:crypto';
import type { Env } from '../../machine/environment.ts';
import { Machine } from '../../machine/machine.ts';
import { sessionName, tmuxOff, windowName } from '../../machine/tmux/names.ts';
import {
  closePanes,
  makeSession,
  openWindow,
  type PaneCommand,
  readSession,
  restartPane,
  type TmuxPane,
  type TmuxSession,
} from '../../machine/tmux/session.ts';
import { TMUX_TIMEOUT_MS, type Tmux, TmuxError, tmuxClient, tooSlow } from '../../machine/tmux/tmux.ts';
import { explained } from '../../model/errors.ts';
import type { EngineEvent } from '../../model/events.ts';
import { refKey, type TicketRef } from '../../model/ids.ts';
import { isRest } from '../../model/state/next.ts';

export interface TmuxViewOptions {
  /** Name of the session; made safe here. */
  session: string;
  stateDir: string;
  /** The repository whose work is shown: a session of that name which shows another's is left alone. */
  repo?: string | null | undefined;
  cwd: string;
  /** The run's own. Add SIGNALBOX_CONFIG where a config file was named in another way. */
  env: Env;
  /** How our own command is called: `[node, cli.cjs]`. */
  cli: readonly string[];
  /** A server of its own, as `tmux -L`. */
  socketName?: string | undefined;
  /** Most windows; above it the oldest finished ones are closed. */
  limit?: number | undefined;
  /**
   * Called at most once with the first thing that went wrong, and once when a window of work under way is closed; the work
   * goes on whatever it is. Must not throw.
   */
  onProblem(message: string): void;
  /** Called when the windows are in a session of another name than was asked for. Must not throw. */
  onMoved?(message: string): void;
  timeoutMs?: number | undefined;
  /** Between two looks whether the session is still there. */
  lookEveryMs?: number | undefined;
}

export interface TmuxView {
  session: string;
  /** Why there are no windows, where the user wants none. */
  off: string | null;
  /** Takes every event, throws nothing and waits for nothing. */
  listen(event: EngineEvent): void;
  /** Waits until the windows asked for are there, as long as one call of tmux may take. They stay. */
  close(): Promise<void>;
}

const LIMIT = 12;
const LOOK_MS = 5_000;

/** A tmux session with a window per ticket that follows its log. Only shows: nothing of the work depends on it. */
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
  /** What is put behind the name: others may have sessions of it. */
  #number = 1;
  readonly #options: TmuxViewOptions;
  readonly #tmux: Tmux;
  readonly #machine: Machine;
  /** Tickets whose window was opened and which have not rested since. */
  readonly #shown = new Set<string>();
  readonly #resting = new Set<string>();
  /** Tickets that have rested since the last look; their windows are still there unless somebody closed them. */
  readonly #rested = new Set<string>();
  readonly #recorded = new Set<string>();
  /** What to look after next, by ticket: an attempt that starts while its ticket is waiting here adds nothing. */
  readonly #waiting = new Map<string, TicketRef>();
  #latest: TicketRef | undefined;
  /** The windows have to be counted; and the last time there were too many. */
  #count = false;
  #tooMany = false;
  /** The session has to be looked for: somebody may end it in the middle of a phase. */
  #look = false;
  #looks: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #seen = false;
  #told = false;
  #toldClosed = false;
  /** There is no tmux, or nobody waits for it any more. */
  #over = false;
  readonly #abort = new AbortController();

  constructor(options: TmuxViewOptions, session: string) {
    this.#options = options;
    this.#wanted = session;
    const { repo, stateDir } = options;
    this.#owner = repo
      ? createHash('sha256').update(`${stateDir}\0${repo}`).digest('hex').slice(0, 16)
      : null;
    this.#machine = new Machine(options.stateDir);
    this.#tmux = tmuxClient({ ...options, signal: this.#abort.signal });
  }

  get session(): string {
    return this.#number === 1 ? this.#wanted : `${this.#wanted}-${this.#number}`;
  }

  listen(event: EngineEvent): void {
    if (this.#over) return;
    if (event.type === 'attempt:start' || event.type === 'attempt:adopt') {
      const { planId, ticketId } = event;
      this.#resting.delete(refKey(event));
      this.#latest = { planId, ticketId };
      this.#waiting.set(refKey(event), this.#latest);
      this.#wake();
    } else if (event.type === 'ticket:status' && isRest(event.status)) {
      this.#resting.add(refKey(event));
      if (this.#shown.delete(refKey(event)) && !this.#toldClosed && !this.#told) {
        this.#rested.add(refKey(event));
        this.#look = true;
      }
      this.#count ||= this.#tooMany;
      if (this.#busy) this.#wake();
    }
  }

  async close(): Promise<void> {
    const timer = setTimeout(() => {
      this.#over = true;
      this.#abort.abort(tooSlow(this.#options.timeoutMs));
    }, this.#options.timeoutMs ?? TMUX_TIMEOUT_MS);
    while (this.#working) await this.#working;
    clearTimeout(timer);
    this.#lookNoMore();
  }

  get #busy(): boolean {
    return !this.#over && (this.#waiting.size > 0 || this.#count || this.#look);
  }

  #wake(): void {
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      if (this.#busy) this.#wake();
    });
  }

  /** One thing after the other, and none of it in the turn of whoever told us. */
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
    if (this.#look) {
      this.#look = false;
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

  #keepLooking(): void {
    if (this.#told || this.#looks) return;
    this.#looks = setInterval(() => {
      this.#look = true;
      this.#wake();
    }, this.#options.lookEveryMs ?? LOOK_MS);
    this.#looks.unref();
  }

  #lookNoMore(): void {
    clearInterval(this.#looks);
    this.#looks = undefined;
    this.#look = false;
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
    this.#keepLooking();
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
      this.#options.onMoved?.(
        `The session ${this.#wanted} shows another repository; the windows are in ${this.session}.`,
      );
    return session;
  }

  /** The session that is ours or nobody's, if there is one; what others of us have made is passed by. */
  async #own(): Promise<TmuxSession | undefined> {
    for (;;) {
      const found = await readSession(this.#tmux, this.session);
      if (!found || this.#owner === null || found.owner === null || found.owner === this.#owner) return found;
      this.#number += 1;
    }
  }

  /** What we close ourselves is not looked for; a window whose command has ended is still there. */
  #missClosed({ panes }: TmuxSession): void {
    const there = new Set(panes.map(({ ticket }) => ticket));
    const closed = [...this.#rested, ...this.#shown].find((ticket) => !there.has(ticket));
    this.#rested.clear();
    if (closed === undefined || this.#toldClosed) return;
    this.#toldClosed = true;
    const [planId = '', ticketId = ''] = closed.split('/');
    this.#options.onProblem(
      `The window ${windowName(ticketId)} was closed. ${wayToWatch({ planId, ticketId })}`,
    );
  }

  #gone(): void {
    this.#shown.clear();
    this.#rested.clear();
    this.#tell(`The tmux session ${this.session} is gone; a new one is made for the windows that follow.`);
  }

  async #closeSurplus(): Promise<void> {
    const limit = this.#options.limit ?? LIMIT;
    const session = await readSession(this.#tmux, this.session);
    const panes = session?.panes ?? [];
    const closed = new Set(surplus({ panes, resting: this.#resting, limit }));
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
    if (error instanceof TmuxError && error.code === 'tmux/missing') this.#over = true;
    this.#tell(explained(error));
  }

  #tell(what: string): void {
    if (this.#told) return;
    this.#told = true;
    this.#lookNoMore();
    this.#options.onProblem(
      `${what} ${wayToWatch(this.#latest ?? { planId: '<plan>', ticketId: '<ticket>' })}`,
    );
  }
}

function wayToWatch({ planId, ticketId }: TicketRef): string {
  return `The work goes on; watch it with: signalbox logs ${planId} ${ticketId} --follow`;
}

const VARIABLES = /^(HOME|PATH|LANG|LC_\w+|TZ|NO_COLOR|SIGNALBOX_HOME|SIGNALBOX_CONFIG)$/;

/** What a ticket's window runs. Panes have the server's variables, not ours: it gets those it needs and no others. */
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
  /** All panes of the session, other people's too. */
  panes: readonly TmuxPane[];
  /** Tickets that move no more by themselves, as far as events told. */
  resting: ReadonlySet<string>;
  /** Most windows of tickets; those of tickets under way do not count as too many. */
  limit: number;
}

export type Step = { do: 'open' } | { do: 'restart'; pane: string } | { do: 'nothing' };

/**
 * What a ticket's window needs when an attempt starts. `fresh`: this is its first attempt, or the first after a rest;
 * otherwise a window that is not there was closed by hand, and stays closed.
 */
export function windowStep(panes: readonly TmuxPane[], ticket: string, fresh: boolean): Step {
  const own = panes.find((pane) => pane.ticket === ticket);
  if (own) return own.dead || fresh ? { do: 'restart', pane: own.id } : { do: 'nothing' };
  return fresh ? { do: 'open' } : { do: 'nothing' };
}

/** Panes to close so that the limit holds: finished ones that nobody looks at, the oldest first. */
export function surplus({ panes, resting, limit }: Scene): string[] {
  const ours = panes.filter((pane) => pane.ticket !== null);
  const finished = ours
    .filter((pane) => !pane.watched && (pane.dead || resting.has(pane.ticket ?? '')))
    .sort((a, b) => age(a) - age(b));
  return finished.slice(0, Math.max(0, ours.length - limit)).map((pane) => pane.id);
}

/** Ids count upwards. */
function age(pane: TmuxPane): number {
  return Number(pane.id.slice(1));
}
