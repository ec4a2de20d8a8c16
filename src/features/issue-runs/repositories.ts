import type { EngineContext } from '../../engine/context.ts';
import { parseRepository, repositoryText } from '../../github/gh/repository-name.ts';
import type { WorkItem } from '../../issues/index.ts';
import { messageOf, WorkspaceError } from '../../model/errors.ts';
import { isForeign, sayItem } from './plan.ts';
import type { Refused } from './request.ts';

/** Where an issue is worked on. */
export interface IssuePlace {
  repo: string;
  /** Whether there is an origin to push to. */
  hasRemote: boolean;
}

export interface Placed {
  /** By key of the item. */
  places: Map<string, IssuePlace>;
  refused: Refused[];
}

/** The repository of each issue: the one we are in, and for others what `repos` says. */
export async function placeItems(
  parts: EngineContext,
  cwd: string,
  items: readonly WorkItem[],
): Promise<Placed> {
  const { root } = await parts.workspaces.checkRepo(cwd);
  const placed: Placed = { places: new Map(), refused: [] };
  for (const item of items) {
    const path = isForeign(item) ? mappedPath(parts, item.repository) : root;
    const place = path === undefined ? unmapped(item) : await open(parts, path);
    if (typeof place === 'object') placed.places.set(item.key, place);
    else {
      const hint = `Say in the settings where it lies:\nrepos:\n  ${item.repository}: /path/to/its/checkout`;
      placed.refused.push({ reference: sayItem(item), item, reason: place, hint });
    }
  }
  return placed;
}

/** GitHub does not tell upper from lower case in names. */
function mappedPath({ settings }: EngineContext, repository: string | null): string | undefined {
  const same = Object.entries(settings.repos).find(([name]) => nameOf(name) === nameOf(repository ?? ''));
  return same?.[1];
}

function nameOf(text: string): string {
  const name = parseRepository(text);
  return (name ? repositoryText(name) : text).toLowerCase();
}

function unmapped(item: WorkItem): string {
  return `${item.repository}#${item.number} is an issue of another repository, and "repos" does not say where that lies here`;
}

async function open({ workspaces }: EngineContext, path: string): Promise<IssuePlace | string> {
  try {
    const { root } = await workspaces.checkRepo(path);
    return { repo: root, hasRemote: await workspaces.hasRemote(root) };
  } catch (error) {
    if (error instanceof WorkspaceError) return messageOf(error);
    throw error;
  }
}
