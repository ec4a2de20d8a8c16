import { planOf } from '../../model/plans/plans-view.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { planLines, problemsWithoutPlan, statusJson, statusOf } from '../../report/status-text.ts';
import { oneLine, sayProblem, style } from '../../report/style-and-phrases.ts';
import type { Store, StoreView } from '../../store/store-interface.ts';
import { type Io, outJson } from '../io.ts';
import { type GlobalOptions, LAST, openState, planNamed } from '../open-state-and-find-named-tickets.ts';

interface StatusOptions extends GlobalOptions {
  plan?: string;
  all?: boolean;
}

/** Maximum number of finished plans shown, the latest first. */
const MAX_FINISHED_SHOWN = 10;

const NAMES: Record<string, 'plan' | 'config'> = {
  '-p': 'plan',
  '--plan': 'plan',
  '-C': 'config',
  '--config': 'config',
};

/** The options of a simple call. Undefined for others: they need the full parser, which takes longer to load. */
export function plainOptions(words: readonly string[]): StatusOptions | undefined {
  const options: StatusOptions = {};
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const name = NAMES[word];
    const value = name && words[at + 1];
    if (word === '--json') options.json = true;
    else if (word === '--all') options.all = true;
    else if (name && value && !value.startsWith('-')) {
      options[name] = value;
      at += 1;
    } else return undefined;
  }
  return options;
}

export async function status(io: Io, options: StatusOptions, given = options.plan): Promise<void> {
  const plan = given === LAST ? await latestPlan(io, options) : given;
  const isAll = plan === undefined && (options.all || options.json);
  const { store, view } = await openState(io, options, (state) =>
    isAll ? state.view() : openAndFinishedPlans(state, plan),
  );
  const holder = store.holder('status');
  const daemon = holder.daemon() !== undefined;
  const now = Date.now();
  const all = statusOf({ view, holder, daemon, now });
  if (plan) store.plan(plan);
  const wanted = plan ? all.filter((each) => each.plan.id === plan) : all;
  if (options.json) {
    const plans = wanted.map(statusJson);
    // A plan that cannot be read is listed with the reason in place of its content.
    const unreadable = problemsWithoutPlan(view).map((problem) => ({
      plan: null,
      tickets: [],
      problems: [problem],
    }));
    return outJson(io, plan ? plans[0] : [...plans, ...unreadable]);
  }
  const colors = style(io.color);
  const lines = wanted.flatMap((each, index) => [
    ...(index > 0 ? [''] : []),
    ...planLines(each, colors, now, plan !== undefined),
  ]);
  if (!plan)
    for (const problem of problemsWithoutPlan(view))
      lines.push(`${colors.red('✗')} ${oneLine(sayProblem(problem), 400)}`);
  const left = plan ? 0 : [...(view.finished?.ids() ?? [])].length - MAX_FINISHED_SHOWN;
  if (left > 0) lines.push('', colors.dim(`${plural(left, 'more finished plan')}: signalbox status --all`));
  io.out(lines.length > 0 ? lines : `No plans in ${store.location()}.`);
}

async function latestPlan(io: Io, options: StatusOptions): Promise<string> {
  const { store } = await openState(io, options, (state) => state.glance());
  return planNamed(io, store, LAST);
}

/** Plans that are not finished, and the named one or else the latest of those that are. */
function openAndFinishedPlans(store: Store, planId: string | undefined): StoreView {
  const open = store.glance();
  const ids = planId === undefined ? (open.finished?.since(0, MAX_FINISHED_SHOWN) ?? []) : [planId];
  const others = ids.filter((id) => !planOf({ plans: open.plans }, id)).map((id) => store.view(id));
  if (others.length === 0) return open;
  const plans = [open, ...others].flatMap((view) => view.plans);
  return {
    plans: plans.sort((a, b) => (a.id < b.id ? -1 : 1)),
    tickets: new Map([open, ...others].flatMap(({ tickets }) => [...tickets])),
    problems: [...open.problems, ...others.flatMap(({ problems }) => problems)],
    ...(open.finished ? { finished: open.finished } : {}),
  };
}
