import type { EngineContext } from '../../engine/context.ts';
import { workspaceFor } from '../../engine/ticket-defaults.ts';
import type { IssuePlace } from '../../issues/checkouts.ts';
import { sayItem, type WorkItem } from '../../issues/item.ts';
import { InputError, WorkspaceError } from '../../model/errors.ts';
import { refKey } from '../../model/ids.ts';
import { TicketPlan } from '../../model/plan-schema.ts';
import { planOf } from '../../model/plans/view.ts';
import { TicketBase } from '../../model/ticket-schema.ts';
import type { BasedOn } from '../../workspaces/index.ts';
import type { Refused } from './types.ts';

interface BasesInput {
  items: readonly WorkItem[];
  /** Where issues are worked on, those that are done before too. */
  repos: readonly string[];
  base: string | null;
  force: boolean;
  placeOf(item: WorkItem): IssuePlace;
  /** The branch that an item is worked on. */
  branchOf(item: WorkItem): string;
}

interface Based {
  items: WorkItem[];
  refused: Refused[];
  /** Notes about issues that are run all the same, by their id. */
  notes: Map<string, string>;
}

/** A named base must exist, and existing branches of the issues must have begun at it. */
export async function checkBases(parts: EngineContext, input: BasesInput): Promise<Based> {
  const { items, base, force } = input;
  const based: Based = { items: [], refused: [], notes: new Map() };
  if (base === null) return { ...based, items: [...items] };
  for (const repo of input.repos)
    await known({ repo, base }, () => parts.workspaces.checkBase({ repo, base }));
  for (const item of items) {
    const branch = input.branchOf(item);
    const found = await look(parts, item, { repo: input.placeOf(item).repo, base, branch });
    const from = found.branch === 'other' ? (found.from ?? 'another branch') : null;
    if (from === null) based.items.push(item);
    else if (force) {
      based.items.push(item);
      based.notes.set(item.id, `Its branch ${branch} stays as it began, from ${from} and not from ${base}.`);
    } else
      based.refused.push({
        reference: sayItem(item),
        item,
        reason: `its branch ${branch} exists and began at ${from}, not at ${base}`,
        hint: `Go on with it as it is with --force, or ${found.branch === 'other' && found.from ? `with --base ${found.from}, or ` : ''}delete the branch to begin anew.`,
      });
  }
  return based;
}

async function look(
  parts: EngineContext,
  item: WorkItem,
  { repo, base, branch }: { repo: string; base: string; branch: string },
): Promise<BasedOn> {
  const { workspaces, settings, store } = parts;
  const view = store.view();
  const plan = TicketPlan.parse({ id: 'run', name: 'run', createdAt: parts.now(), repo, tickets: [] });
  const ticket = TicketBase.parse({ planId: plan.id, ticketId: item.id, title: item.title, branch });
  const { path } = workspaceFor(ticket, plan, settings, view);
  const before = [...view.tickets.values()].findLast((each) => {
    const own = each.repo ?? planOf(view, each.planId)?.repo;
    return each.branch === branch && each.base !== null && own === repo && refKey(each) !== refKey(ticket);
  });
  return known({ repo, base }, () =>
    workspaces.basedOn({ repo, branch, path, base, recorded: before?.base?.ref ?? null }),
  );
}

/** A base that is not there is a wrong call, not a workspace that cannot be made. */
async function known<T>(details: { repo: string; base: string }, look: () => Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    throw new InputError('run/base', error.message, {
      hint: 'Name a branch that is here or on origin.',
      details,
    });
  }
}
