import type { EngineContext } from '../../engine/context.ts';
import type { IssuePlace } from '../../issues/checkouts.ts';
import { sayItem, type WorkItem } from '../../issues/item.ts';
import { WORK_PHASE } from '../../model/issue-phases.ts';
import { orderByDependencies } from '../../model/plans/order.ts';
import { blockersOf, planOf } from '../../model/plans/view.ts';
import { tipOf } from '../../model/ticket.ts';
import { landed } from '../landed/landed.ts';
import type { DoneBefore, Resumed, RunMode } from './plan.ts';
import { sourceKey } from './previous-runs.ts';
import type { Refused } from './types.ts';

interface ChainInput {
  items: readonly WorkItem[];
  done: Map<string, DoneBefore>;
  resumed: ReadonlyMap<string, Resumed>;
  supersedes: Map<string, string[]>;
  placeOf(item: WorkItem): IssuePlace;
  ahead(item: WorkItem): string[];
}

/**
 * Only links that were done one upon the other are skipped. One without the finished work of the link before it is taken
 * out of those that are done; their names are returned with a note for each.
 */
export async function openLooseLinks(parts: EngineContext, input: ChainInput): Promise<Map<string, string>> {
  const { items, done, supersedes } = input;
  const notes = new Map<string, string>();
  let before: WorkItem | undefined;
  let firm = true;
  for (const item of orderByDependencies(items).order) {
    const own = done.get(item.key);
    // What is in the base already is under every link.
    if (own && (await isInBase(parts, input, item, own))) {
      done.set(item.key, { ...own, merged: true });
      continue;
    }
    firm =
      firm && workOf(input, item) !== undefined && (!before || (await isUpon(parts, input, item, before)));
    if (own && !firm && before) {
      done.delete(item.key);
      supersedes.set(item.key, [...(supersedes.get(item.key) ?? []), own.by]);
      notes.set(
        item.id,
        `Done before without the work of ${sayItem(before)}: it is done again on top of that.`,
      );
    }
    before = item;
  }
  return notes;
}

/** The finished work of a link that is not done again; undefined where there is none. */
function workOf(input: ChainInput, item: WorkItem): Pick<DoneBefore, 'tip'> | undefined {
  const own = input.done.get(item.key);
  if (own) return own;
  const part = input.resumed.get(item.key);
  const ahead = input.ahead(item);
  const works = part && ahead.slice(ahead.indexOf(part.phase)).includes(WORK_PHASE);
  return part && !works && part.tip !== null ? part : undefined;
}

async function isInBase(parts: EngineContext, input: ChainInput, item: WorkItem, own: DoneBefore) {
  if (own.merged || own.branch === null) return true;
  if (own.tip === null) return false;
  const view = parts.store.view();
  const ticket = view.tickets.get(own.by);
  const base = planOf(view, ticket?.planId)?.base ?? null;
  const { repo } = input.placeOf(item);
  const work = { repo, branch: own.branch, base, recordedBase: null, tickets: [], commit: own.tip };
  return (await landed(parts, work, ['history'])) !== null;
}

/** Whether a done link was built upon the other: it has its commits, or began with what there was of it elsewhere. */
async function isUpon(
  parts: EngineContext,
  input: ChainInput,
  item: WorkItem,
  before: WorkItem,
): Promise<boolean> {
  const own = input.done.get(item.key);
  const tip = workOf(input, before)?.tip ?? null;
  const { repo } = input.placeOf(item);
  if (!own?.branch || input.placeOf(before).repo !== repo) return true;
  if (tip === null) return false;
  if (await parts.workspaces.branchHas({ repo, branch: own.branch, commit: tip })) return true;
  const view = parts.store.view();
  const ticket = view.tickets.get(own.by);
  const blockers = ticket ? blockersOf(view, ticket) : [];
  return blockers.some((blocker) => sourceKey(blocker) === before.key && tipOf(blocker) === tip);
}

interface LineInput {
  mode: RunMode;
  /** All that were asked for and could be read. */
  items: readonly WorkItem[];
  runnable: readonly WorkItem[];
  refused: readonly Refused[];
  done: ReadonlyMap<string, unknown>;
  /** Keys by group. */
  batches: readonly (readonly string[])[] | null;
}

/** Where one issue runs after the other, nothing starts behind one that cannot be run. */
export function stopAtRefused(input: LineInput): { items: WorkItem[]; refused: Refused[] } {
  const { mode, runnable, batches } = input;
  if (mode === 'parallel') return { items: [...runnable], refused: [] };
  const groupOf = ({ key }: WorkItem) => {
    const group = batches?.findIndex((keys) => keys.includes(key)) ?? 0;
    return group < 0 ? (batches?.length ?? 0) : group;
  };
  const line = orderByDependencies(input.items).order.toSorted((a, b) => groupOf(a) - groupOf(b));
  const stop = line.findIndex((item) => input.refused.some((each) => each.item?.key === item.key));
  const at = line[stop];
  if (!at) return { items: [...runnable], refused: [] };
  const why = input.refused.find((each) => each.item?.key === at.key);
  const behind = new Set(line.slice(stop + 1).map(({ key }) => key));
  const kept = (item: WorkItem) =>
    !behind.has(item.key) || (mode === 'sequential' && input.done.has(item.key));
  const name = sayItem(at);
  const what = why?.waiting ? why.reason : 'is not run';
  return {
    items: runnable.filter(kept),
    refused: runnable
      .filter((item) => !kept(item))
      .map((item) => ({
        reference: sayItem(item),
        item,
        notStarted: true,
        reason: `the ${mode === 'chain' ? 'chain' : 'run'} stops at ${name}, which ${what}`,
        hint: `Go on with ${name} first, then name it again.`,
      })),
  };
}
