import { harmless } from '../../features/issue-runs/callbacks.ts';
import { reasonOf, workedSeconds } from '../../features/issue-runs/results/issue-result.ts';
import { issueName, remarksOf, storedRun } from '../../features/issue-runs/results/stored-run.ts';
import type { RunResult } from '../../features/issue-runs/types.ts';
import type { EngineEvent } from '../../model/events.ts';
import { ticketOf } from '../../model/plans/view.ts';
import type { Ticket } from '../../model/ticket.ts';
import { isSuperseded } from '../../model/ticket.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/port.ts';
import { style } from '../style.ts';
import { type Mark, RunLines } from './progress-lines.ts';
import { dryRunLines, issueSummary } from './summary.ts';

interface IssueLinesOptions {
  store: Store;
  out(line: string): void;
  verbose: boolean;
}

/** The progress lines of an issue run, with names and reasons from its store. */
export function issueLines({ store, out, verbose }: IssueLinesOptions) {
  let planId = '';
  const known = <T>(ticketId: string, read: (ticket: Ticket) => T, otherwise: T): T => {
    const ticket = ticketOf(store.view(), { planId, ticketId });
    return ticket ? read(ticket) : otherwise;
  };
  const lines = new RunLines({
    out,
    clock: () => performance.now(),
    verbose,
    nameOf: (id) => known(id, issueName, id),
    msOf: (id) => known(id, (ticket) => workedSeconds(ticket) * 1000, 0),
    reasonOf: (id) => known(id, reasonOf, ''),
    remarksOf: (id, phase) => known(id, (ticket) => remarksOf(ticket, phase), []),
  });
  return {
    begin(id: string): void {
      planId = id;
      const plan = store.plan(id);
      const marks = plan.tickets.map(({ ticketId }) => [ticketId, known(ticketId, markOf, '⏳')] as const);
      lines.begin(new Map(marks), storedRun(plan)?.config.sequential);
    },
    listen: (event: EngineEvent): void => lines.listen(event),
    close: (): void => lines.close(),
  };
}

function markOf(ticket: Ticket): Mark {
  if (ticket.status === 'complete') return '✓';
  if (ticket.status === 'failed') return '✗';
  return isSuperseded(ticket) ? '‖' : '⏳';
}

export interface RunOutputOptions {
  output(line: string): void;
  stateDir: string;
  verbose: boolean;
  /** Print only the result. */
  quiet: boolean;
}

export interface RunOutput {
  listen(event: EngineEvent): void;
  end(result: RunResult): void;
  close(): void;
}

/** The lines that the command line prints for a run, without colours, for callers of the library. */
export function runOutput({ output, stateDir, verbose, quiet }: RunOutputOptions): RunOutput {
  // A callback that throws once still gets the next lines, the result last.
  const show = harmless(output);
  const out = (text: string) => {
    for (const line of text.split('\n')) show(line);
  };
  const lines = issueLines({ store: openStore(stateDir), out, verbose });
  let begun = false;
  return {
    listen(event) {
      if (quiet) return;
      if (event.type === 'plan:status' && !begun) {
        begun = true;
        return lines.begin(event.planId);
      }
      lines.listen(event);
    },
    end(result) {
      lines.close();
      if (result.detached) return;
      const text = result.dryRun
        ? dryRunLines(result.dryRun, result.results)
        : issueSummary(result, style(false));
      if (text.length > 0) out(text.join('\n'));
    },
    close: () => lines.close(),
  };
}
