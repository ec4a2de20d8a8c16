import type { Command } from 'commander';
import { sayProblem } from '../report/problem-text.ts';
import { type Io, outJson } from './io.ts';
import { type GlobalOptions, openStore } from './open.ts';

export function register(program: Command, io: Io): void {
  program
    .command('status')
    .description('show plans and tickets: where they are, why they wait, what comes next')
    .option('-p, --plan <id>', 'one plan in detail')
    .option('--json', 'print JSON: an array of {plan, tickets}, or one of them with --plan')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox status\n  $ signalbox status --plan sprint-12\n  $ signalbox status --json',
    )
    .action(async (_options: unknown, command: Command) => show(command.optsWithGlobals(), io));
}

async function show(options: GlobalOptions & { plan?: string }, io: Io): Promise<void> {
  const { store, view } = await openStore(io, options);
  const [{ statusOf, planLines, homeless }, { style, oneLine }, { Holder }, { readDaemon }] =
    await Promise.all([
      import('../report/status.ts'),
      import('../report/style.ts'),
      import('../engine/claims.ts'),
      import('../engine/seat.ts'),
    ]);
  const holder = new Holder('status', store.layout.engines);
  const daemon = readDaemon(store.layout, holder) !== undefined;
  const all = statusOf({ view, isLive: (claim) => holder.isLive(claim), daemon });
  if (options.plan) store.plan(options.plan);
  const wanted = options.plan ? all.filter(({ plan }) => plan.id === options.plan) : all;
  if (options.json) return outJson(io, options.plan ? wanted[0] : [...wanted, ...lost(homeless(view))]);
  const look = style(io.color);
  const lines = wanted.flatMap((each, index) => [
    ...(index > 0 ? [''] : []),
    ...planLines(each, look, Date.now(), options.plan !== undefined),
  ]);
  if (!options.plan)
    for (const problem of homeless(view)) lines.push(`${look.red('✗')} ${oneLine(sayProblem(problem), 400)}`);
  io.out(lines.length > 0 ? lines.join('\n') : `No plans in ${store.layout.plans}.`);
}

/** A plan that cannot be read is still told, with the reason in place of its content. */
function lost(problems: { planId: string; path: string; message: string }[]) {
  return problems.map((problem) => ({ plan: null, tickets: [], problems: [problem] }));
}
