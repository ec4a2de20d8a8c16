import { basename, resolve } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { isNameOfRepository, withRepositoryNames } from '../../engine/work-out-workspace-and-repository.ts';
import { collectWork } from '../../issues/collect-issues-and-spec-units.ts';
import { mappedPath, placeItems } from '../../issues/find-issue-checkouts.ts';
import { type SourceProblem, sayItem, ticketFields, type WorkItem } from '../../issues/work-item.ts';
import { InputError, ignoring, WorkspaceError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import { TicketPlan } from '../../model/plan-schema.ts';
import { orderByDependencies } from '../../model/plans/dependency-order.ts';
import { markedBlocked, type Ticket } from '../../model/ticket.ts';
import { IssueTicket } from '../../model/ticket-schema.ts';
import { type PlanEdit, parsed, requireWorkflow } from './edit-plan.ts';

export interface DraftRequest {
  planId: string;
  /** Issues, files and spec directories; none makes an empty plan. */
  from: readonly string[];
  cwd: string;
  /** Any directory of the repository, or on a fleet its name or address; null if unknown. */
  repo: string | null;
  edit?: PlanEdit;
  unit?: 'parent' | 'leaf';
  createdBy: string;
}

export interface Drafted {
  plan: Plan;
  tickets: Ticket[];
  /** What was left out and why: closed issues, dependencies outside the plan. */
  notes: string[];
}

/** Creates a draft plan from issues, files or a spec, without a model. Writes nothing if one of them cannot be read. */
export async function draftPlan(engine: EngineContext, request: DraftRequest): Promise<Drafted> {
  const { store } = engine;
  if (store.hasPlan(request.planId))
    throw new InputError('plan/exists', `A plan "${request.planId}" already exists.`, {
      hint: `Choose another id, or add to it: signalbox plan add ${request.planId} <ticket> --title "…"`,
    });
  await requireWorkflow(engine, request.edit ?? {});
  const { settings, workspaces } = engine;
  const named = store.fleet && request.repo && isNameOfRepository(request.repo) ? request.repo : null;
  const dir = named === null ? request.repo : (mappedPath(settings.repos, named) ?? null);
  const open = async (path: string) => (await workspaces.checkRepo(path)).root;
  // A machine that only makes plans needs no clone.
  const root =
    dir === null
      ? null
      : named
        ? ((await ignoring(WorkspaceError, () => open(dir))) ?? null)
        : await open(dir);
  const {
    items,
    problems,
    notes: said,
  } = await collectWork(request.from, {
    cwd: root ?? request.cwd,
    filesFrom: request.cwd,
    env: engine.env,
    gh: engine.settings.ghCommand,
    ...(request.unit ? { unit: request.unit } : {}),
  });
  if (problems[0]) throw sourceError(problems);
  const openItems = items.filter(({ state }) => state === 'open');
  const notes = items
    .filter(({ state }) => state === 'closed')
    .map((item) => `${sayItem(item)} is done and left out.`);
  const repos = root === null ? new Map<string, string>() : await reposOf(engine, root, openItems);
  const drafted = plannedWork({
    request,
    repo: named ?? root,
    items: openItems,
    known: items,
    repos,
    now: engine.now(),
  });
  const plan = await withRepositoryNames(engine, drafted.plan, drafted.tickets);
  await store.create(plan, drafted.tickets);
  return { ...drafted, notes: [...notes, ...said, ...drafted.notes] };
}

/** The plan's name: the spec's name, or the issues that it has. */
function nameOf({ from, cwd }: DraftRequest, items: readonly WorkItem[]): string {
  const [only = '', ...others] = from;
  const isSpec = (text: string) => items.some(({ key }) => key.startsWith(`kiro:${resolve(cwd, text)}#`));
  const called = (text: string) => (isSpec(text) ? basename(resolve(cwd, text)) : text);
  if (others.length === 0) return called(only);
  if (from.some(isSpec)) return `${called(only)} and ${others.length} more`;
  const [first, ...more] = items;
  return more.length === 0 ? (first?.id ?? '') : `${first?.id} and ${more.length} more`;
}

function sourceError(problems: readonly SourceProblem[]): InputError {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return new InputError('plan/source', `${first?.message}${more}`, {
    hint: first?.hint,
    details: { problems },
  });
}

/** Local checkouts of other repositories' issues, by key. */
async function reposOf(
  engine: EngineContext,
  root: string,
  items: readonly WorkItem[],
): Promise<Map<string, string>> {
  const { places, refused } = await placeItems(
    { workspaces: engine.workspaces, repos: engine.settings.repos },
    root,
    items,
  );
  const [first] = refused;
  if (first) throw new InputError('plan/source', `${first.reason}.`, { hint: first.hint });
  return new Map([...places].flatMap(([key, { repo }]) => (repo === root ? [] : [[key, repo] as const])));
}

interface Work {
  request: DraftRequest;
  repo: string | null;
  items: readonly WorkItem[];
  /** Closed ones included. */
  known: readonly WorkItem[];
  repos: ReadonlyMap<string, string>;
  now: string;
}

function plannedWork({ request, repo, items: given, known, repos, now }: Work): Drafted {
  const { items, parents } = afterSubIssues(given);
  const { order, cycles, missing } = orderByDependencies(items);
  if (cycles[0])
    throw new InputError(
      'plan/cycle',
      `These wait for each other: ${[...cycles[0], cycles[0][0]].join(' → ')}.`,
      { hint: 'Remove one of these dependencies.' },
    );
  const ids = new Map(items.map((item) => [item.key, item.id]));
  const done = new Set(known.filter(({ state }) => state === 'closed').map(({ key }) => key));
  const wanted = {
    name: nameOf(request, items),
    ...request.edit,
    id: request.planId,
    createdAt: now,
    createdBy: request.createdBy,
    repo,
    status: 'draft',
    tickets: order.map((item, index) => ({
      ticketId: item.id,
      order: index + 1,
      blockedBy: [...new Set(item.dependsOn.flatMap((key) => ids.get(key) ?? []))],
    })),
  };
  const plan = parsed(TicketPlan, wanted, 'new');
  const tickets = order.map((item) =>
    IssueTicket.parse({
      planId: request.planId,
      ...ticketFields(item),
      ...(item.paths ? { paths: item.paths } : {}),
      ...(item.blocked === undefined ? {} : markedBlocked(item.blocked)),
      repo: repos.get(item.key) ?? null,
    }),
  );
  const outside = missing.filter(({ on }) => !done.has(on));
  return {
    plan,
    tickets,
    notes: [
      ...outside.map(({ key, on }) => `${ids.get(key)} depends on ${on}, which is not in the plan.`),
      ...parents.map(({ parent, subs }) => {
        const remove = `signalbox plan remove ${request.planId} ${parent.id}`;
        return `${parent.id} waits for its sub-issues ${subs.join(', ')}; if they are all of it: ${remove}`;
      }),
    ],
  };
}

interface Parent {
  parent: WorkItem;
  /** Ids of the sub-issues that it waits for. */
  subs: string[];
}

/** Lets issues wait for their sub-issues in the plan: what is left of the parent comes last. */
function afterSubIssues(items: readonly WorkItem[]): { items: WorkItem[]; parents: Parent[] } {
  const byKey = new Map(items.map((item) => [item.key, item]));
  const parents: Parent[] = [];
  for (const item of items) {
    const subs = items.filter(
      (each) =>
        (each.parent === item.key || item.subIssues?.includes(each.key)) && !needs(byKey, each, item.key),
    );
    if (subs.length === 0) continue;
    const dependsOn = [...new Set([...item.dependsOn, ...subs.map(({ key }) => key)])];
    byKey.set(item.key, { ...item, dependsOn });
    parents.push({ parent: item, subs: subs.map(({ id }) => id) });
  }
  return { items: items.map(({ key }) => byKey.get(key) as WorkItem), parents };
}

/** Whether an item waits for another, directly or not. */
function needs(items: ReadonlyMap<string, WorkItem>, from: WorkItem, key: string): boolean {
  const seen = new Set<string>();
  const open = [from.key];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === key) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    open.push(...(items.get(at)?.dependsOn ?? []));
  }
  return false;
}
