import type { TicketRef } from '../../model/ids-and-branch-names.ts';
import {
  countHidden,
  finishedInstead,
  isFinished,
  newestFirst,
} from '../../model/plans/latest-plans-and-unknown-name-errors.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import {
  allStatusJson,
  isIn,
  type PlanStatus,
  problemsWithoutPlan,
  statusJson,
  statusOf,
} from '../../report/plan-and-ticket-status.ts';
import { type Lines, oneLine, printable } from '../../report/printable-text.ts';
import { asGitHasIt, planLines, ticketLines } from '../../report/status-text.ts';
import { sayProblem } from '../../report/style-and-phrases.ts';
import { openAndOnePlan } from '../../store/store-interface.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { planOrTicketNamed, plansHere } from '../find-named-plans-and-tickets.ts';
import { type Io, outJson, outWrapped, untilSignal } from '../io.ts';
import { openState } from '../open-settings-store-and-engine.ts';

type StatusOptions = OptionsOf<'status'>;

const WATCH_MS = 2_000;

const NAMES: Record<string, 'plan' | 'config'> = {
  '-p': 'plan',
  '--plan': 'plan',
  '-C': 'config',
  '--config': 'config',
};
const FLAGS: Record<string, 'json' | 'all' | 'failed' | 'waiting'> = {
  '--json': 'json',
  '--all': 'all',
  '--failed': 'failed',
  '--waiting': 'waiting',
};

/** The options of a simple call. Undefined for others: they need the full parser, which takes longer to load. */
export function plainOptions(words: readonly string[]): StatusOptions | undefined {
  const options: StatusOptions = {};
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const name = NAMES[word];
    const flag = FLAGS[word];
    const value = name && words[at + 1];
    if (flag) options[flag] = true;
    else if (name && value && !value.startsWith('-')) {
      options[name] = value;
      at += 1;
    } else return undefined;
  }
  return options;
}

export async function status(
  io: Io,
  options: StatusOptions,
  ...words: (string | undefined)[]
): Promise<void> {
  const named = [words[0] ?? options.plan, words[1]];
  const { terminal } = io.stdout;
  if (!options.watch || options.json || !terminal) return show(io, options, named);
  await untilSignal(io, WATCH_MS, async () => {
    const lines: string[] = [];
    await show({ ...io, out: (more) => void lines.push(...[more].flat()) }, options, named);
    const rows = terminal.rows() - 2;
    const over = lines.length - rows;
    const shown = over > 0 ? [...lines.slice(0, rows - 1), `… ${plural(over + 1, 'more line')}`] : lines;
    const text = shown.map((line) => `${printable(line, io.color)}\n`).join('');
    // A line that is too wide is cut, not wrapped.
    io.stdout.write(`\u001b[?7l\u001b[H\u001b[2J${text}\u001b[?7h`);
    return false;
  });
}

async function show(io: Io, options: StatusOptions, words: readonly (string | undefined)[]): Promise<void> {
  const { store, view: found } = await openState(io, options, (state) => {
    const named = words[0] === undefined ? undefined : planOrTicketNamed(io, state, 'status', words);
    if (named === undefined && (options.all || options.json)) return { named, view: state.view() };
    const isHere = plansHere(io, state) ?? (() => true);
    const planId = named?.planId ?? finishedInstead(state.glance(), isHere)?.id;
    return { named, view: openAndOnePlan(state, planId) };
  });
  const { named, view } = found;
  const holder = store.holder('status');
  const now = Date.now();
  if (named) store.plan(named.planId);
  if (named?.ticketId !== undefined) store.ticket({ ...named, ticketId: named.ticketId });
  const drivers = store.fleet
    ? (await import('../../report/engines-of-tickets.ts')).enginesIn(store, holder)
    : { daemon: holder.daemon() !== undefined };
  const all = statusOf({ view, holder, now, ...drivers });
  const wanted = named ? all.filter(({ plan }) => plan.id === named.planId) : all;
  const isNamed = ({ ticketId }: Pick<TicketRef, 'ticketId'>) => ticketId === named?.ticketId;
  const tickets =
    named?.ticketId && wanted.flatMap((each) => each.tickets.filter(({ ticket }) => isNamed(ticket)));
  const [first] = wanted;
  if (options.json && named) return outJson(io, first && statusJson(tickets ? { ...first, tickets } : first));
  if (options.json) return outJson(io, allStatusJson(wanted, view));
  const out = (text: Lines) => outWrapped(io, text);
  const inGit = (plans: readonly PlanStatus[]) =>
    asGitHasIt(plans, async () =>
      (await import('../../workspaces/workspaces.ts')).createWorkspaces({ env: io.env }),
    );
  if (tickets && first) {
    const [known = first] = await inGit([{ ...first, tickets }]);
    return out(known.tickets.flatMap((each) => ticketLines(each, first.plan, io.style, now)));
  }
  const isHere = named || options.all ? undefined : plansHere(io, store);
  const here = isHere ? wanted.filter(({ plan }) => isHere(plan)) : wanted;
  const only = options.failed ? 'need you' : options.waiting ? 'waiting' : undefined;
  const shown = only ? here.filter((each) => each.tickets.some(({ ticket }) => isIn(only, ticket))) : here;
  if (!named) shown.sort((a, b) => newestFirst(a.plan, b.plan));
  const lines = (await inGit(shown)).flatMap((each, index) => [
    ...(index > 0 ? [''] : []),
    ...planLines(each, io.style, now, { detailed: named !== undefined, only }),
  ]);
  const isEmpty = only !== undefined && lines.length === 0;
  const place = named ? ` in ${named.planId}` : ' here';
  if (isEmpty) lines.push(`${only === 'waiting' ? 'Nothing waits' : 'Nothing needs you'}${place}.`);
  if (named) return out(lines);
  for (const problem of problemsWithoutPlan(view))
    lines.push(`${io.style.red('✗')} ${oneLine(sayProblem(problem), 400)}`);
  const hidden = countHidden(
    view,
    here.map(({ plan }) => plan),
  );
  const more = options.all ? '' : moreLine(hidden);
  const isIdle = !options.all && here.every(({ plan }) => isFinished(plan));
  const idle = `No open plans${isHere ? ' in this repository' : ''}.${here.length > 0 ? ' The last one:' : ''}`;
  if (isIdle && !isEmpty && (more || here.length > 0)) lines.unshift(idle, '');
  if (more) lines.push(...(lines.at(-1) === '' ? [] : ['']), io.style.dim(more));
  const start = io.tty ? ['Start with: signalbox run --task "Fix the typo in README"'] : [];
  out(lines.length > 0 ? lines : [`No plans in ${store.location()}.`, ...start]);
}

function moreLine({ open, finished }: ReturnType<typeof countHidden>): string {
  const counts = [
    ...(open > 0
      ? [plural(open, 'open plan of other repositories', 'open plans of other repositories')]
      : []),
    ...(finished > 0 ? [plural(finished, 'more finished plan')] : []),
  ];
  return counts.length > 0 ? `${counts.join(', ')}: signalbox status --all` : '';
}
