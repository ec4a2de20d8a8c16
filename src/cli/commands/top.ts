import { machineIn } from '../../machine/machine-files-and-locks.ts';
import { isInForeground } from '../../machine/process-identity-and-signals.ts';
import { finishedInstead } from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { BoardReader, type BoardSource } from '../../report/board/read-board.ts';
import { printBoard } from '../../report/top/draw-board.ts';
import { readerRedactor } from '../../sandbox/secret-redactors-and-fingerprints.ts';
import type { Store } from '../../store/store-interface.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { planNamed, plansHere } from '../find-named-plans-and-tickets.ts';
import { type Io, outJson } from '../io.ts';
import { openLiveStore, openSettings } from '../open-settings-store-and-engine.ts';

type TopOptions = OptionsOf<'top'>;

export async function top(io: Io, options: TopOptions, word: string | undefined): Promise<void> {
  const settings = await openSettings(io, options);
  const store = await openLiveStore(io, options, settings);
  const machine = machineIn(settings.stateDir);
  const scope = scopeOf(io, options, store, word);
  const redact = readerRedactor(settings, io.env, machine.fingerprints);
  const reader = new BoardReader({ store, settings, machine, redact, ...scope });
  const { terminal } = io.stdout;
  if (terminal && !options.json && isLive(io))
    return (await import('./top-live.ts')).showBoard(io, options, {
      terminal,
      store,
      reader,
      empty: scope.empty,
    });
  await reader.seeOthers();
  const now = Date.now();
  const board = reader.read(now);
  if (options.json) return outJson(io, board);
  const columns = io.columns?.() ?? Number.POSITIVE_INFINITY;
  const shown = {
    shown: { filter: '', failuresOnly: false, grouping: 'section' as const },
    empty: scope.empty,
  };
  io.out(printBoard(board, shown, { columns, style: io.style, now }));
}

/** Whether a person is at the terminal, and it can move its cursor. */
function isLive({ env, stdin }: Io): boolean {
  return env.TERM !== 'dumb' && stdin.isTTY() && stdin.readKeys !== undefined && isInForeground();
}

/** The plan that was named; else the open plans of this repository, and outside of one all open plans. */
function scopeOf(
  io: Io,
  options: TopOptions,
  store: Store,
  word: string | undefined,
): Pick<BoardSource, 'isShown' | 'finished' | 'ofLastDay'> & { empty: string[] } {
  if (word !== undefined) {
    const planId = planNamed(io, store, 'top', word);
    store.plan(planId);
    return {
      isShown: ({ id }) => id === planId,
      finished: [planId],
      empty: [`Plan ${planId} has no tickets.`],
    };
  }
  const isHere = options.all ? undefined : plansHere(io, store);
  const isShown = isHere ?? (() => true);
  const view = store.glance();
  const latest = finishedInstead(view, isShown);
  const others = isHere ? view.plans.filter((plan) => !isHere(plan)).length : 0;
  return {
    isShown,
    finished: latest ? [latest.id] : [],
    // All plans are what the page shows.
    ofLastDay: options.all === true,
    empty: [
      `No open plans${isHere ? ' in this repository' : ''}.`,
      ...(others > 0
        ? [`Those of other repositories: signalbox top --all`]
        : ['Start with: signalbox run --task "Fix the typo in README"']),
    ],
  };
}
