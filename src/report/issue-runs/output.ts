import { harmless } from '../../features/issue-runs/callbacks.ts';
import { reasonOf, workedSeconds } from '../../features/issue-runs/results/issue-result.ts';
import { storedRun } from '../../features/issue-runs/results/stored-run.ts';
import { issueName, remarksOf } from '../../features/issue-runs/results/ticket-facts.ts';
import type { RunResult } from '../../features/issue-runs/types.ts';
import type { EngineEvent } from '../../model/events.ts';
import { ticketOf } from '../../model/plans/view.ts';
import { isSuperseded } from '../../model/state/superseded.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/port.ts';
import { style } from '../style.ts';
import { type Mark, RunLines } from './progress-lines.ts';
import { dryRunLines, issueSummary } from './summary.ts';

export interface IssueLinesOptions {
  store: Store;
  out(line: string): void;
  verbose: boolean;
}

/** The progress lines of an issue run, with names and reasons from its store. */
export class IssueLines {
  readonly #store: Store;
  readonly #lines: RunLines;
  #planId = '';

  constructor({ store, out, verbose }: IssueLinesOptions) {
    this.#store = store;
    this.#lines = new RunLines({
      out,
      clock: () => performance.now(),
      verbose,
      nameOf: (id) => {
        const ticket = this.#ticket(id);
        return ticket ? issueName(ticket) : id;
      },
      msOf: (id) => {
        const ticket = this.#ticket(id);
        return ticket ? workedSeconds(ticket) * 1000 : 0;
      },
      reasonOf: (id) => {
        const ticket = this.#ticket(id);
        return ticket ? reasonOf(ticket) : '';
      },
      remarksOf: (id, phase) => {
        const ticket = this.#ticket(id);
        return ticket ? remarksOf(ticket, phase) : [];
      },
    });
  }

  begin(planId: string): void {
    this.#planId = planId;
    const marks: Record<string, Mark> = { complete: '✓', failed: '✗' };
    const plan = this.#store.plan(planId);
    const of = plan.tickets.map(({ ticketId }) => {
      const ticket = this.#ticket(ticketId);
      const rests = ticket && isSuperseded(ticket) ? '‖' : '⏳';
      return [ticketId, marks[ticket?.status ?? ''] ?? rests] as const;
    });
    this.#lines.begin(new Map(of), storedRun(plan)?.config.sequential);
  }

  listen(event: EngineEvent): void {
    this.#lines.listen(event);
  }

  close(): void {
    this.#lines.close();
  }

  #ticket(id: string) {
    return ticketOf(this.#store.view(), { planId: this.#planId, ticketId: id });
  }
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
  const lines = new IssueLines({ store: openStore(stateDir), out, verbose });
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
