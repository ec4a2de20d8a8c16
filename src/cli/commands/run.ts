import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { flagOfOption, runFlags } from '../../config/run-flags.ts';
import type { RunResult } from '../../engine/run-plan.ts';
import { InputError } from '../../model/errors.ts';
import type { EngineEvent } from '../../model/events.ts';
import { jsonText } from '../../model/extra-fields.ts';
import type { TicketRef } from '../../model/ids.ts';
import { planOf } from '../../model/plans/view.ts';
import { answerTo } from '../../model/state/explain.ts';
import { style } from '../../report/style.ts';
import { eventView, goOnUnread, signalCode, stopOnSignals } from '../event-view.ts';
import type { Io } from '../io.ts';
import { type GlobalOptions, openRunner, openStore, positiveInteger } from '../open.ts';
import { type IssueOptions, resumeIssues, runIssues } from './run-issues.ts';

interface Options extends GlobalOptions {
  concurrency?: string | number;
  agent?: string | null;
  verbose?: boolean;
  plain?: boolean;
}

export function registerRun(program: Command, io: Io): void {
  const command = program
    .command('run')
    .argument(
      '[what...]',
      'a plan and some of its tickets, or issues: numbers, #12, URLs, ENG-12, Markdown files',
    )
    .description('run issues, or a plan, until done')
    .option('--plan <id>', 'run this plan; the arguments are its tickets')
    .option('--plain', 'one line per event, also on a terminal')
    .option('--json', 'print events, then the result, as JSON lines');
  for (const flag of runFlags()) {
    const option = new Option(flag.flags, flag.about);
    if (flag.hidden) option.hideHelp();
    if (flag.repeat)
      option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value]);
    command.addOption(option);
  }
  command
    .addHelpText(
      'after',
      `
Blocks until nothing moves by itself any more: polls and usage limits are waited for.
Exit code 0 when everything is complete, 1 when not, 130 after Ctrl-C.

Examples:
  $ signalbox run 100 101 102
  $ signalbox run 100 101 102 --chain --qa-gate
  $ signalbox run docs/issues/cache.md --agent rehearsal   # no key, no network, no forge
  $ signalbox run sprint-12 PROJ-101 --verbose             # a plan, and one ticket of it`,
    )
    .action(async (what: string[], _options: unknown, self: Command) =>
      dispatch(what, self.optsWithGlobals<Options & IssueOptions & { plan?: string }>(), io),
    );
}

/** A plan that exists is meant, unless the name could be an issue as well. */
async function dispatch(
  what: string[],
  given: Options & IssueOptions & { plan?: string },
  io: Io,
): Promise<void> {
  const { plan, ...options } = given;
  positiveInteger(
    '--concurrency',
    options.concurrency === undefined ? undefined : String(options.concurrency),
  );
  if (plan !== undefined) return run(plan, what, planOptions(options), io);
  const [first, ...rest] = what;
  const batched = options.batch !== undefined && options.batch.length > 0;
  if (first !== undefined && rest.length === 0 && isSpec(resolve(io.cwd, first)))
    return runAsSpec(first, options, io);
  if (first === undefined && !batched) throw new InputError('usage', 'Name a plan, or one or more issues.');
  const { store, view } = await openStore(io, options);
  if (first !== undefined && store.hasPlan(first)) {
    if (/^#?\d+$/.test(first) || existsSync(resolve(io.cwd, first))) {
      throw new InputError(
        'usage',
        `"${first}" is a plan and could be an issue. Say --plan ${first}, or ${/^\d+$/.test(first) ? `'#${first}'` : `./${first}`}.`,
      );
    }
    const asked = planOptions(options);
    const known = planOf(view, first);
    const whole = rest.length === 0 && asked.concurrency === undefined && !asked.agent && !asked.verbose;
    // A run of issues goes on as it began, unless something else is asked for.
    if (known?.kind === 'run' && known.status === 'active' && whole) return resumeIssues(first, asked, io);
    return run(first, rest, asked, io);
  }
  if (first !== undefined) await suggestPlan(first, view.plans, io);
  return runIssues(what, options, io);
}

/** What is no issue may be the name of a plan with a slip in it. */
async function suggestPlan(text: string, plans: readonly { id: string }[], io: Io): Promise<void> {
  const ids = plans.map(({ id }) => id);
  const { nearest } = await import('../../model/text/near.ts');
  const near = nearest(text, ids);
  if (near === undefined) return;
  const { parseReference } = await import('../../issues/reference.ts');
  try {
    parseReference(text, { cwd: io.cwd });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(
      error.code,
      `${JSON.stringify(text)} is neither a plan nor an issue reference. Did you mean the plan ${JSON.stringify(near)}?`,
      { hint: `Plans: signalbox plan list. ${error.hint ?? ''}`.trimEnd(), cause: error },
    );
  }
}

/** A directory with a task list is a spec, which has options of its own. */
function isSpec(path: string): boolean {
  return ['tasks.md', 'Tasks.md', 'TASKS.md'].some((name) => existsSync(join(path, name)));
}

async function runAsSpec(dir: string, options: Options & IssueOptions, io: Io): Promise<void> {
  const known = ['agent', 'verbose', 'plain', 'json', 'config', 'debug', 'detach', 'dryRun', 'base'];
  const [other] = Object.entries(options).filter(
    ([key, value]) => !known.includes(key) && value !== undefined,
  );
  if (other)
    throw new InputError('usage', `${flagOfOption(other[0])} is for runs of issues; ${dir} is a spec.`, {
      hint: `See: signalbox spec --help`,
    });
  const { agent, base, ...rest } = options;
  const { runSpec } = await import('./run-spec.ts');
  const more = { ...(agent ? { backend: agent } : {}), ...(base ? { base } : {}) };
  return runSpec(dir, { ...(rest as GlobalOptions), ...more }, {}, io);
}

/** What makes sense for a plan; its own policies decide the rest, so anything else is refused. */
function planOptions(options: Options & IssueOptions): Options {
  const known = new Set(['concurrency', 'agent', 'verbose', 'plain', 'json', 'config', 'debug']);
  const [other] = Object.keys(options).filter(
    (key) => !known.has(key) && options[key as keyof typeof options] !== undefined,
  );
  if (other === 'detach')
    throw new InputError('usage', '--detach is for runs of issues; a daemon runs all active plans.', {
      hint: 'Start one with: signalbox daemon --detach',
    });
  if (other)
    throw new InputError(
      'usage',
      `${flagOfOption(other)} is for runs of issues; a plan says it in plan.json.`,
    );
  return options;
}

async function run(planId: string, ticketIds: string[], options: Options, io: Io): Promise<void> {
  const concurrency = positiveInteger(
    '--concurrency',
    options.concurrency === undefined ? undefined : String(options.concurrency),
  );
  const flags = {
    ...(options.agent ? { defaultAgent: options.agent } : {}),
    ...(concurrency ? { maxConcurrency: concurrency } : {}),
  };
  const view = await eventView(io, { ...options, withPlan: false });
  io.onUnread = goOnUnread;
  const scope = { planId, ...(ticketIds.length > 0 ? { ticketIds } : {}) };
  const header = view.live ? (await import('../../report/header.ts')).planHeader : undefined;
  // With the first event, since before it the run may be refused.
  let begin = (): void => undefined;
  const listen = (event: EngineEvent) => {
    begin();
    view.listen(event);
    if (!options.json && event.type === 'ticket:status' && event.hold?.kind === 'gate') answer(event);
  };
  const answer = (ticket: TicketRef) =>
    view.out(style(io.color).dim(`  → ${answerTo(ticket, parts.store.plan(ticket.planId))}`));
  const parts = await openRunner(io, options, 'run', { flags, listen });
  if (header)
    begin = () => {
      begin = () => undefined;
      view.out(header(parts.store.view(), scope, style(io.color)).join('\n'));
    };
  view.watch(parts.store, scope);
  const { runPlan } = await import('../../engine/run-plan.ts');
  io.keepHeapSmall();
  const abort = new AbortController();
  const unhook = stopOnSignals(io, { view, abort, what: 'the agents', stateDir: parts.settings.stateDir });
  const began = performance.now();
  try {
    const result = await runPlan(parts, {
      planId,
      ...(ticketIds.length > 0 ? { ticketIds } : {}),
      maxConcurrency: parts.settings.maxConcurrency,
      lookEveryMs: parts.settings.pollInterval * 1000,
      signal: abort.signal,
    });
    view.close();
    await show(result, performance.now() - began, abort.signal.aborted, options, io);
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
    return io.out(jsonText(line));
  }
  const { summary } = await import('../../report/run-summary.ts');
  io.out(summary({ ...result, ms, stopped }, style(io.color), io.columns?.()));
}
