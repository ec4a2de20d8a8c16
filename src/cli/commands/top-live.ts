import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from '../../engine/context.ts';
import { carryOutCommand } from '../../engine/control-tickets-and-plans.ts';
import { pinnedFor } from '../../engine/pinned-workflow.ts';
import { workspaceFor } from '../../engine/work-out-workspace-and-repository.ts';
import { isInForeground } from '../../machine/process-identity-and-signals.ts';
import { InputError, messageOf, SignalboxError } from '../../model/errors.ts';
import { refKey, type TicketRef } from '../../model/ids-and-branch-names.ts';
import { refreshSoon, StoreConnection } from '../../report/board/notice-lost-store.ts';
import type { BoardReader } from '../../report/board/read-board.ts';
import { sayTicketMoved } from '../../report/next-step-after-command.ts';
import { type Lines, printable } from '../../report/printable-text.ts';
import { inLocalTime } from '../../report/style-and-phrases.ts';
import type { Effect, Program, Wish } from '../../report/top/top-state.ts';
import { answerEnded, choosePhase, say } from '../../report/top/top-state.ts';
import { TopView } from '../../report/top/top-view.ts';
import type { BoardRow } from '../../report/view-schemas.ts';
import type { Store } from '../../store/store-interface.ts';
import { exitOf, type Io, inherited, type Terminal } from '../io.ts';
import { type GlobalOptions, openEngine } from '../open-settings-store-and-engine.ts';
import { hideWhileSuspended, keyReader, readSizeAgain, signalCode } from '../show-events-until-stopped.ts';
import { hasDesktop, openInBrowser, pageLines, pagerOf } from '../show-in-pager-or-browser.ts';
import { logs } from './attach-and-logs.ts';
import { resumeSession, runWithClaim } from './list-and-resume-sessions.ts';
import { diff } from './workspace-checks-integrate-diff.ts';

interface BoardShown {
  terminal: Terminal;
  store: Store;
  reader: BoardReader;
  /** Shown in place of rows if there are none. */
  empty: readonly string[];
}

/** Shows the board until a person leaves it. It reads the store, and needs no engine of its own. */
export async function showBoard(io: Io, options: GlobalOptions, shown: BoardShown): Promise<void> {
  await new LiveTop(io, options, shown).untilLeft();
}

class LiveTop {
  readonly #io: Io;
  readonly #options: GlobalOptions;
  readonly #shown: BoardShown;
  readonly #view: TopView;
  readonly #keys: ReturnType<typeof keyReader>;
  readonly #connection: StoreConnection;
  #engine: Promise<EngineContext> | undefined;
  readonly #pending = new Set<Promise<void>>();
  /** A program has the terminal. */
  #isBusy = false;
  #isOver = false;
  #end: (code: number) => void = () => undefined;
  readonly #left = new Promise<number>((resolve) => {
    this.#end = resolve;
  });

  constructor(io: Io, options: GlobalOptions, shown: BoardShown) {
    const { terminal, reader, store, empty } = shown;
    this.#io = io;
    this.#options = { ...options, json: false };
    this.#shown = shown;
    this.#connection = new StoreConnection(store, () => this.#view.changed());
    this.#keys = keyReader(io, (typed) => this.#view.keys(typed));
    this.#view = new TopView({
      screen: { columns: terminal.columns, rows: terminal.rows, write: (text) => io.stdout.write(text) },
      style: io.style,
      safe: (line) => printable(line, io.color),
      read: (now) => {
        this.#connection.refuseIfLost();
        const board = reader.read(now);
        this.#connection.refuseIfLost();
        return board;
      },
      answeredAt: () => this.#connection.answeredAt,
      logTail: (ref) => reader.logTail(ref, () => this.#view.changed()),
      whyClosed: (ref, attempt) => {
        const says = reader.whyClosed(ref, attempt);
        return says && inLocalTime(says);
      },
      act: (effect) => this.#act(effect),
      empty,
    });
  }

  async untilLeft(): Promise<void> {
    const { signals, onCrash } = this.#io;
    const { store, reader, terminal } = this.#shown;
    this.#io.onUnread = () => this.#end(0);
    const unhooks = [
      store.watch((changed) => {
        reader.changed(changed);
        this.#view.changed();
      }),
      terminal.onResize(() => this.#view.resized()),
      // Ctrl-C is for the program that has the terminal.
      signals.on(['SIGINT'], () => {
        if (!this.#isBusy) this.#end(0);
      }),
      signals.on(['SIGTERM', 'SIGHUP', 'SIGQUIT'], (signal) => this.#end(signalCode(signal))),
      hideWhileSuspended({ leave: () => this.#leave(), back: () => void this.#back() }, signals),
      onCrash?.(() => this.#leave()) ?? (() => undefined),
      () => this.#connection.close(),
    ];
    try {
      await this.#back();
      this.#io.exit(await this.#left);
    } finally {
      this.#isOver = true;
      for (const unhook of unhooks) unhook();
      this.#leave();
    }
    await Promise.all(this.#pending);
  }

  #leave(): void {
    this.#keys.stop();
    this.#view.leave();
  }

  /** Takes the terminal again, as soon as this process may write there. */
  async #back(): Promise<void> {
    while (!isInForeground() && !this.#isOver) {
      // Stops this process until the shell continues it in the foreground.
      this.#io.signals.raise('SIGTTIN');
      await delay(BACKGROUND_MS);
    }
    if (this.#isOver || this.#isBusy) return;
    readSizeAgain(this.#io.signals);
    this.#view.enter();
    this.#keys.read(true);
  }

  #act(effect: Effect): void {
    switch (effect.type) {
      case 'quit':
        this.#end(0);
        break;
      case 'start':
        this.#track(this.#start(effect.program, effect.row));
        break;
      case 'phases':
        this.#track(this.#askForPhase(effect.row));
        break;
      case 'command':
        this.#track(this.#carryOut(effect.ref, effect.wish));
        break;
    }
  }

  #track(work: Promise<void>): void {
    const done: Promise<void> = work
      .catch((error: unknown) => this.#say(refusal(error), true))
      .finally(() => void this.#pending.delete(done));
    this.#pending.add(done);
  }

  /** Below the board, or on the normal screen after the board was left. */
  #say(lines: Lines, isProblem = false): void {
    if (this.#isOver) this.#io.out(lines);
    else this.#view.update((state) => say(state, lines, isProblem));
  }

  async #opened(): Promise<EngineContext> {
    this.#connection.refuseIfLost();
    this.#engine ??= openEngine(this.#io, this.#options, 'top', { opened: this.#shown.store });
    try {
      const engine = await this.#engine;
      await refreshSoon(engine.store);
      return engine;
    } catch (error) {
      this.#engine = undefined;
      throw error;
    }
  }

  async #carryOut(ref: TicketRef, wish: Wish): Promise<void> {
    if (wish.type !== 'respond') this.#say(`${DOING[wish.type]} ${refKey(ref)}…`);
    try {
      const engine = await this.#opened();
      const ticket = await carryOutCommand(engine, ref, wish, 'a person');
      this.#view.update((state) => answerEnded(state));
      this.#say(inLocalTime(sayTicketMoved(engine, ticket)));
    } catch (error) {
      this.#view.update((state) => answerEnded(state, refusal(error).join(' ')));
      if (wish.type !== 'respond' || this.#isOver) throw error;
    }
    this.#view.changed();
  }

  async #askForPhase(row: BoardRow): Promise<void> {
    const engine = await this.#opened();
    const ticket = engine.store.ticket(row);
    const { workflow } = await pinnedFor(engine, ticket, engine.store.plan(row.planId));
    const phases = workflow.phases.map(({ id }) => id).filter((id) => id !== row.phase);
    this.#view.update((state) => choosePhase(state, row, phases));
  }

  async #start(program: Program, row: BoardRow): Promise<void> {
    switch (program) {
      case 'pull request':
        return this.#openPullRequest(row);
      case 'log':
        return row.section === 'running' ? this.#followLog(row) : this.#showLog(row);
      case 'diff':
        return this.#withPager((io) => diff(io, this.#options, row.planId, row.ticketId));
      case 'shell':
        return this.#shell(row);
      case 'session':
        return this.#withTerminal(
          (io) =>
            resumeSession({ ...io, out: this.#io.out }, this.#options, row.planId, row.ticketId, undefined),
          { isSeen: () => true },
        );
    }
  }

  async #openPullRequest(row: BoardRow): Promise<void> {
    const { pullRequest: url } = row;
    if (url === null) return this.#say(`${refKey(row)} has no pull request.`, true);
    const problem = hasDesktop(this.#io) ? await openInBrowser(this.#io, url) : NO_BROWSER;
    this.#say(problem ? [`The pull request of ${refKey(row)}: ${url}`, problem] : `Opened ${url}`);
  }

  #showLog({ planId, ticketId }: BoardRow): Promise<void> {
    return this.#withPager(async (io) => {
      const lines: string[] = [];
      const collected = { ...io, out: (more: Lines) => void lines.push(...[more].flat()) };
      await logs(collected, this.#options, planId, ticketId);
      if (lines.length === 0) io.out(`${planId}/${ticketId} has printed nothing yet.`);
      // The end is what a person wants to see first.
      else await pageLines({ ...io, env: { ...io.env, LESS: `${io.env.LESS} +G` } }, lines);
    });
  }

  #followLog({ planId, ticketId }: BoardRow): Promise<void> {
    const { out, signals } = this.#io;
    const options = { ...this.#options, follow: true, untilRest: true };
    let isLeft = false;
    const unhook = signals.on(['SIGINT'], () => {
      isLeft = true;
      // The terminal has shown the key where the cursor was.
      out('');
    });
    // What ends the board ends its log, too.
    const ending: Io['signals'] = {
      ...signals,
      on: (names, listener) => signals.on([...names, 'SIGHUP', 'SIGQUIT'], listener),
    };
    return this.#withTerminal((io) => logs({ ...io, out, signals: ending }, options, planId, ticketId), {
      title: `The log of ${planId}/${ticketId}. Ctrl-C returns to the board.`,
      isSeen: () => isLeft,
    }).finally(unhook);
  }

  async #shell(row: BoardRow): Promise<void> {
    const { store, settings, holder } = await this.#opened();
    const ticket = store.ticket(row);
    const name = refKey(row);
    if (ticket.phaseHistory.length === 0)
      throw new InputError('workspace/none', `${name} has no worktree yet: it has not started.`);
    const { path: cwd } = workspaceFor(ticket, store.plan(row.planId), settings, store.glance());
    const argv = [this.#io.env.SHELL || '/bin/sh'];
    const { env } = this.#io;
    const isSeen = () => true;
    const isDriven = ticket.claim !== null && ticket.claim.by !== 'session' && holder.isLive(ticket.claim);
    if (isDriven)
      return this.#withTerminal(
        async (io) => {
          const child = spawn(argv[0] ?? '', [], { cwd, env, stdio: inherited(io) });
          const unhook = io.signals.on(['SIGTERM', 'SIGHUP'], () => void child.kill('SIGHUP'));
          await exitOf(child).finally(unhook);
        },
        { title: `The agent of ${name} continues to work in ${cwd}. Leave with: exit`, isSeen },
      );
    const says = `${name} waits until you leave its worktree ${cwd} with: exit`;
    const failed = (error: Error) =>
      new InputError('shell/missing', `${argv[0]} cannot be started (${error.message}).`);
    return this.#withTerminal(
      async (io) => {
        const engine = await openEngine(io, this.#options, 'session', { opened: this.#shown.store });
        await runWithClaim({ ...io, out: this.#io.out }, engine, row, { cwd, argv, env, says, failed });
      },
      { isSeen },
    );
  }

  /** The board comes back when a person leaves `less`. Another pager may have ended by itself, before anything was read. */
  async #withPager(work: (io: Io) => Promise<void>): Promise<void> {
    const isLess = /^(\S*\/)?less\b/.test(await pagerOf(this.#io));
    return this.#withTerminal(work, { isSeen: (ms) => isLess || ms > READ_MS });
  }

  /** Gives the normal screen to a command or program. What the command says at its end is shown below the board. */
  async #withTerminal(
    work: (io: Io) => Promise<void>,
    { title, isSeen }: { title?: string; isSeen(ms: number): boolean },
  ): Promise<void> {
    // A key that was pressed twice starts one program.
    if (this.#isBusy || this.#isOver) return;
    // Where the state is gone, commands would find no plans.
    this.#connection.refuseIfLost();
    const { io, said, close } = nested(this.#io);
    this.#isBusy = true;
    this.#leave();
    const began = performance.now();
    let problem: string[] | undefined;
    try {
      if (title !== undefined) this.#io.out(title);
      await work(io);
    } catch (error) {
      problem = refusal(error);
    } finally {
      await close();
    }
    const isRead = said.length > 0 || isSeen(performance.now() - began);
    const isLong = said.length > MAX_SAID;
    if (isLong) this.#io.out(said);
    if (!this.#isOver && (isLong || (problem === undefined && !isRead))) await this.#anyKey();
    this.#isBusy = false;
    if (this.#isOver) return;
    await this.#back();
    if (problem) this.#say(problem, true);
    else if (!isLong && said.length > 0) this.#say(said);
  }

  /** Waits until what is on the normal screen was read. */
  async #anyKey(): Promise<void> {
    this.#io.out('Press any key to return to the board.');
    let stop: ((isInForeground: boolean) => void) | undefined;
    const key = new Promise<void>((resolve) => {
      stop = this.#io.stdin.readKeys?.(() => resolve());
      if (!stop) resolve();
    });
    await Promise.race([key, this.#left]);
    stop?.(isInForeground());
  }
}

const DOING: Record<Exclude<Wish['type'], 'respond'>, string> = {
  retry: 'Retrying',
  pause: 'Pausing',
  resume: 'Resuming',
  skip: 'Skipping a phase of',
};
const NO_BROWSER = 'No browser can be opened here: copy the address.';
const BACKGROUND_MS = 200;
/** A pager that ended earlier was not read. */
const READ_MS = 1000;
/** More lines than these do not fit below the board. */
const MAX_SAID = 4;

/** What a refused command says, as on the command line. */
function refusal(error: unknown): string[] {
  const hint = error instanceof SignalboxError ? (error.hint?.split('\n') ?? []) : [];
  return [messageOf(error), ...hint].map((line) => inLocalTime(line));
}

/** The same for a command inside this one: what it says is collected, and what it opens is closed at its end. */
function nested(io: Io): { io: Io; said: string[]; close(): Promise<void> } {
  const said: string[] = [];
  const endings: (() => Promise<void>)[] = [];
  const note = (lines: Lines) => void said.push(...[lines].flat());
  // A pager that ends by itself would be covered by the board.
  const env = { ...io.env, LESS: `${io.env.LESS ?? 'RX'} -+F` };
  const inner: Io = {
    ...io,
    env,
    out: note,
    err: note,
    exit: () => undefined,
    atEnd: (close) => void endings.push(close),
  };
  return {
    io: inner,
    said,
    async close() {
      await Promise.all(endings.map((end) => end()));
    },
  };
}
