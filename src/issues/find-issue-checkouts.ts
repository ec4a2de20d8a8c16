import { parseRemote, parseRepository, repositoryText } from '../github/gh/repository-name.ts';
import { messageOf, orError, shortageOf, WorkspaceError } from '../model/errors.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { isForeign, sayItem, type WorkItem } from './work-item.ts';

/** Where an issue is worked on. */
export interface IssuePlace {
  repo: string;
  /** Whether there is an origin to push to. */
  hasRemote: boolean;
}

interface Checkouts {
  workspaces: Workspaces;
  /** The setting of this name: local checkouts of other repositories. */
  repos: Readonly<Record<string, string>>;
}

/**
 * The checkout of each issue, by its key: the one at `cwd`, and for issues of other repositories what the setting `repos`
 * says. Issues whose repository has no checkout here are refused.
 */
export async function placeItems({ workspaces, repos }: Checkouts, cwd: string, items: readonly WorkItem[]) {
  const { root } = await workspaces.checkRepo(cwd);
  const places = new Map<string, IssuePlace>();
  const refused: { reference: string; item: WorkItem; reason: string; hint: string }[] = [];
  for (const item of items) {
    const path = isForeign(item) ? mappedPath(repos, item.repository) : root;
    const place =
      path === undefined
        ? `${item.repository}#${item.number} is an issue of another repository, and "repos" has no checkout of it`
        : await open(workspaces, path);
    if (typeof place === 'object') places.set(item.key, place);
    else {
      const hint = `Set the path of its checkout in the settings:\nrepos:\n  ${item.repository}: /path/to/its/checkout`;
      refused.push({ reference: sayItem(item), item, reason: place, hint });
    }
  }
  return { places, refused };
}

/** The path of a repository by the setting `repos`. GitHub ignores upper and lower case in names. */
export function mappedPath(repos: Checkouts['repos'], repository: string | null): string | undefined {
  const wanted = comparableName(repository ?? '');
  return Object.entries(repos).find(([name]) => comparableName(name) === wanted)?.[1];
}

/** The same text for all ways to name a repository; that of a path is its path. */
export function comparableName(text: string): string {
  const name = parseRepository(text) ?? parseRemote(text);
  return (name ? repositoryText(name) : text).toLowerCase();
}

async function open(workspaces: Workspaces, path: string): Promise<IssuePlace | string> {
  const place = await orError(WorkspaceError, async () => {
    const { root } = await workspaces.checkRepo(path);
    return { repo: root, hasRemote: await workspaces.hasRemote(root) };
  });
  if (!(place instanceof WorkspaceError)) return place;
  // The path is not to blame.
  if (shortageOf(place)) throw place;
  return messageOf(place);
}
