import type { EngineContext } from '../../engine/context.ts';
import type { GhOptions } from '../../github/gh/run-gh.ts';
import { type FetchResult, fetchItems } from '../../issues/fetch-work-items.ts';
import { numberOfKey, referenceFromKey } from '../../issues/issue-references.ts';
import { isForeign, sayItem, type WorkItem } from '../../issues/work-item.ts';
import { parseRef } from '../../model/ids-and-branch-names.ts';
import { WORK_PHASE } from '../../model/issue-phases.ts';
import { orderByDependencies } from '../../model/plans/dependency-order.ts';
import { blockersOf, planOf, ticketOf } from '../../model/plans/plans-view.ts';
import { tipOf } from '../../model/ticket.ts';
import { findLanded } from '../landed/find-landed-work.ts';
import { sourceKey } from './earlier-work-on-issues.ts';
import { type Candidate, type DoneBefore, groupOf, type IssuePlanInput } from './plan-issues.ts';
import type { Refused } from './request-and-result-types.ts';

/** Refuses issues that depend on one which is open, unfinished and not part of this run. Returns the others. */
export async function refuseOpenDependencies(
  options: GhOptions,
  given: { issues: readonly Candidate[]; finished: ReadonlyMap<string, string>; refused: Refused[] },
): Promise<Candidate[]> {
  const { issues, finished, refused } = given;
  const before = [...refused];
  const here = new Set([...issues.map(({ key }) => key), ...finished.keys()]);
  const dependencies = new Set(issues.filter(({ done }) => !done).flatMap(({ dependsOn }) => dependsOn));
  const outside = [...dependencies].filter((key) => !here.has(key));
  const references = outside.flatMap((key) => referenceFromKey(key) ?? []);
  const found = references.length > 0 ? await fetchItems(references, options) : null;
  const over = found?.items.filter((item) => item.state === 'closed') ?? [];
  const closed = new Set(
    over.flatMap((item) => [item.key, ...(isForeign(item) ? [] : [`number:${item.number}`])]),
  );
  let good = [...issues];
  // Issues that depend on a refused one are refused, too.
  for (let count = -1; count !== good.length; ) {
    count = good.length;
    const left = new Set([...good.map(({ key }) => key), ...finished.keys()]);
    good = good.filter((item) => {
      const open = item.done ? [] : item.dependsOn.filter((key) => !left.has(key) && !closed.has(key));
      const named = before.find((each) => each.item && open.includes(each.item.key));
      if (open.length > 0)
        refused.push(named ? waitsForNamed(item, named) : waits(item, open, issues, whyNotRead(found, open)));
      return open.length === 0;
    });
  }
  return good;
}

/** The refusal of an issue whose dependency is part of the run and was refused. */
function waitsForNamed(item: WorkItem, { reference, locked, waiting, reason }: Refused): Refused {
  const which = locked ? `is ${reason}` : waiting ? reason : `is not run: ${reason}`;
  const hint = locked
    ? `Run it again when ${reference} is done; watch that with: signalbox status`
    : `Continue ${reference} first, then name it again.`;
  return { reference: sayItem(item), item, reason: `depends on ${reference}, which ${which}`, hint };
}

/** Why one of these could not be read, without the full stop; undefined when all were. */
function whyNotRead(found: FetchResult | null, open: readonly string[]): string | undefined {
  const key = open.find((each) => !found?.items.some((item) => item.key === each));
  const about = (reference: string) => key?.endsWith(reference.replace(/^.*#/, '#')) === true;
  const problem = found?.problems.find(({ reference }) => about(reference)) ?? found?.problems[0];
  return key === undefined ? undefined : problem?.message.replace(/\.$/, '');
}

function waits(
  item: WorkItem,
  open: readonly string[],
  items: readonly WorkItem[],
  problem: string | undefined,
): Refused {
  const here = items.filter(({ key }) => open.includes(key)).map(sayItem);
  const about = { reference: sayItem(item), item };
  if (here.length > 0)
    return { ...about, reason: `depends on ${here.join(', ')}, which cannot be run either` };
  const names = open.map((key) => sayKey(key, item)).join(', ');
  if (problem !== undefined)
    return {
      ...about,
      reason: `depends on ${names}, and it is not known whether that is closed: ${problem}`,
      hint: 'Correct the dependency, or use --force.',
    };
  return {
    ...about,
    reason: `depends on ${names}, which is not closed and not part of this run`,
    hint: `Run ${names} too, or use --force.`,
  };
}

/** A number alone is an issue of the current repository. */
function sayKey(key: string, item: WorkItem): string {
  const bare = numberOfKey(key);
  if (bare !== undefined) return `#${bare}`;
  const [, repository, number] = /^[a-z]+:(.*)(#.*)$/.exec(key) ?? [];
  if (number === undefined) return key.replace(/^[a-z]+:/, '');
  const [own] = item.key.split('#');
  return key.startsWith(`${own}#`) && !isForeign(item) ? number : `${repository}${number}`;
}

/**
 * Skips only done links that were built on one another. A link that lacks the finished work of the link before it is done again,
 * with a note.
 */
export async function redoUnstackedIssues(
  engine: EngineContext,
  issues: readonly Candidate[],
): Promise<void> {
  let before: Candidate | undefined;
  let firm = true;
  for (const link of orderByDependencies(issues).order) {
    const { done } = link;
    // Every link already contains what is in the base.
    if (done && (await isInBase(engine, link, done))) {
      link.done = { ...done, merged: true };
      continue;
    }
    firm = firm && workOf(link) !== undefined && (!before || (await isBuiltOn(engine, link, before)));
    if (done && !firm && before) {
      delete link.done;
      link.supersedes.push(done.by);
      link.note = `Done before without the work of ${sayItem(before)}: it is done again on top of that.`;
    }
    before = link;
  }
}

/** The finished work of a link that is not done again; undefined where there is none. */
function workOf({ done, resumed, ahead }: Candidate): Pick<DoneBefore, 'tip'> | undefined {
  if (done || !resumed) return done;
  return !ahead.includes(WORK_PHASE) && resumed.tip !== null ? resumed : undefined;
}

async function isInBase(
  engine: EngineContext,
  { place }: Candidate,
  { merged, branch, tip, by }: DoneBefore,
) {
  if (merged || branch === null) return true;
  if (tip === null) return false;
  const base = planOf(engine.store.glance(), parseRef(by, '').planId)?.base ?? null;
  const work = { repo: place.repo, branch, base, recordedBase: null, tickets: [], commit: tip };
  return (await findLanded(engine, work, ['history'])) !== null;
}

/** Whether a done link was built on the other: it has its commits, or started from its merged work. */
async function isBuiltOn(
  engine: EngineContext,
  { done, place: { repo } }: Candidate,
  before: Candidate,
): Promise<boolean> {
  const tip = workOf(before)?.tip ?? null;
  if (!done?.branch || before.place.repo !== repo) return true;
  if (tip === null) return false;
  if (await engine.workspaces.branchHas({ repo, branch: done.branch, commit: tip })) return true;
  const view = engine.store.glance();
  const ticket = ticketOf(view, parseRef(done.by, ''));
  const blockers = ticket ? blockersOf(view, ticket) : [];
  return blockers.some((blocker) => sourceKey(blocker) === before.key && tipOf(blocker) === tip);
}

interface LineInput extends Pick<IssuePlanInput, 'mode' | 'issues' | 'groups'> {
  /** All that were asked for and could be read. */
  asked: readonly WorkItem[];
  /** Those that can be run. */
  refused: Refused[];
}

/** Refuses issues behind one that cannot be run, if issues run one after the other. */
export function stopAtRefused({ mode, asked, issues, refused, groups }: LineInput): Candidate[] {
  const why = (item: WorkItem) => refused.find((each) => each.item?.key === item.key);
  const line = orderByDependencies(asked).order.toSorted(
    (a, b) => groupOf(groups, a.key) - groupOf(groups, b.key),
  );
  const at = mode === 'parallel' ? undefined : line.find(why);
  if (!at) return [...issues];
  const behind = new Set(line.slice(line.indexOf(at) + 1).map(({ key }) => key));
  const kept = ({ key, done }: Candidate) => !behind.has(key) || (mode === 'sequential' && done);
  const name = sayItem(at);
  const { waiting, reason } = why(at) ?? {};
  const stop = `the ${mode === 'chain' ? 'chain' : 'run'} stops at ${name}, which ${waiting ? reason : 'is not run'}`;
  const hint = `Continue ${name} first, then name it again.`;
  for (const item of issues.filter((each) => !kept(each)))
    refused.push({ reference: sayItem(item), item, notStarted: true, reason: stop, hint });
  return issues.filter(kept);
}
