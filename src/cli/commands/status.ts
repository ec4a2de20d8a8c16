import type { Command } from 'commander';
import { homeless, planLines, statusJson, statusOf } from '../../report/status.ts';
import { oneLine, sayProblem, style } from '../../report/style.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, openState } from '../open.ts';

export function registerStatus(program: Command, io: Io): void {
  program
    .command('status')
    .argument('[plan]', 'one plan in detail')
    .description('show plans and tickets: where they are, why they wait, what comes next')
    .option('-p, --plan <id>', 'the same as the argument')
    .option('--json', 'print JSON: an array of {plan, tickets}, or one of them with --plan')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox status\n  $ signalbox status sprint-12\n  $ signalbox status --json',
    )
    .action(async (plan: string | undefined, _options: unknown, command: Command) =>
      showStatus({ ...command.optsWithGlobals<StatusOptions>(), ...(plan ? { plan } : {}) }, io),
    );
}

interface StatusOptions extends GlobalOptions {
  plan?: string;
}

const NAMES: Record<string, 'plan' | 'config'> = {
  '-p': 'plan',
  '--plan': 'plan',
  '-C': 'config',
  '--config': 'config',
};

/** The options of a call that needs no explaining. Any other is for the full parser, which takes longer to load. */
export function plainOptions(words: readonly string[]): StatusOptions | undefined {
  const options: StatusOptions = {};
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const name = NAMES[word];
    const value = name && words[at + 1];
    if (word === '--json') options.json = true;
    else if (name && value && !value.startsWith('-')) {
      options[name] = value;
      at += 1;
    } else return undefined;
  }
  return options;
}

export async function showStatus(options: StatusOptions, io: Io): Promise<void> {
  const { store, view } = await openState(io, options);
  const holder = store.holder('status');
  const daemon = holder.daemon() !== undefined;
  const all = statusOf({ view, isLive: (claim) => holder.isLive(claim), daemon });
  if (options.plan) store.plan(options.plan);
  const wanted = options.plan ? all.filter(({ plan }) => plan.id === options.plan) : all;
  if (options.json) {
    const told = wanted.map(statusJson);
    return outJson(io, options.plan ? told[0] : [...told, ...lost(homeless(view))]);
  }
  const look = style(io.color);
  const lines = wanted.flatMap((each, index) => [
    ...(index > 0 ? [''] : []),
    ...planLines(each, look, Date.now(), options.plan !== undefined),
  ]);
  if (!options.plan)
    for (const problem of homeless(view)) lines.push(`${look.red('✗')} ${oneLine(sayProblem(problem), 400)}`);
  io.out(lines.length > 0 ? lines.join('\n') : `No plans in ${store.location()}.`);
}

/** A plan that cannot be read is still told, with the reason in place of its content. */
function lost(problems: { planId: string; path: string; message: string }[]) {
  return problems.map((problem) => ({ plan: null, tickets: [], problems: [problem] }));
}
