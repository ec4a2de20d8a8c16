import type { Command } from 'commander';
import type { RunResult } from '../engine/foreground.ts';
import type { Io } from './io.ts';
import { type GlobalOptions, openRunner, positiveInteger } from './open.ts';
import { eventView, goOnUnread, signalCode, stopOnSignals } from './show-events.ts';

interface Options extends GlobalOptions {
  concurrency?: string;
  agent?: string;
  verbose?: boolean;
  plain?: boolean;
}

export function register(program: Command, io: Io): void {
  program
    .command('run')
    .argument('<plan>', 'id of the plan')
    .argument('[tickets...]', 'only these tickets')
    .description('run a plan, or some of its tickets, until done')
    .option('-c, --concurrency <n>', 'most tickets at once')
    .option('-a, --agent <name>', 'agent of tickets and plans that name none')
    .option('-v, --verbose', 'show what agents say and do')
    .option('--plain', 'one line per event, also on a terminal')
    .option('--json', 'print events, then the result, as JSON lines')
    .addHelpText(
      'after',
      `
Blocks until nothing moves by itself any more: polls and usage limits are waited for.
Exit code 0 when all tickets are complete, 1 when not, 130 after Ctrl-C.

Examples:
  $ signalbox run sprint-12
  $ signalbox run sprint-12 PROJ-101 --verbose
  $ signalbox run sprint-12 --agent rehearsal      # no key, no network: a dry run`,
    )
    .action(async (planId: string, tickets: string[], _options: unknown, command: Command) =>
      run(planId, tickets, command.optsWithGlobals<Options>(), io),
    );
}

async function run(planId: string, ticketIds: string[], options: Options, io: Io): Promise<void> {
  const concurrency = positiveInteger('--concurrency', options.concurrency);
  const flags = {
    ...(options.agent ? { defaultAgent: options.agent } : {}),
    ...(concurrency ? { maxConcurrency: concurrency } : {}),
  };
  const view = await eventView(io, { ...options, withPlan: false });
  io.onUnread = goOnUnread;
  const parts = await openRunner(io, options, 'run', {
    flags,
    listen: view.listen,
  });
  view.watch(parts.store, { planId, ...(ticketIds.length > 0 ? { ticketIds } : {}) });
  const { runPlan } = await import('../engine/foreground.ts');
  const abort = new AbortController();
  const unhook = stopOnSignals(view, abort, 'the agents');
  const began = Date.now();
  try {
    const result = await runPlan(parts, {
      planId,
      ...(ticketIds.length > 0 ? { ticketIds } : {}),
      maxConcurrency: parts.settings.maxConcurrency,
      lookEveryMs: parts.settings.pollInterval * 1000,
      signal: abort.signal,
    });
    view.close();
    await show(result, Date.now() - began, abort.signal.aborted, options, io);
    io.exit(abort.signal.aborted ? signalCode(abort.signal.reason) : result.ok ? 0 : 1);
  } finally {
    view.close();
    unhook();
  }
}

async function show(
  result: RunResult,
  ms: number,
  stopped: boolean,
  options: Options,
  io: Io,
): Promise<void> {
  if (options.json) {
    const { plan, tickets, problems, ok } = result;
    const line = { type: 'result', ok, stopped, planId: plan.id, plan: plan.status, problems, tickets };
    return io.out(JSON.stringify(line));
  }
  const [{ summary }, { style }] = await Promise.all([
    import('../report/summary.ts'),
    import('../report/style.ts'),
  ]);
  io.out(summary({ ...result, ms, stopped }, style(io.color)));
}
