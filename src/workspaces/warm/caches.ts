import { type Dirent, lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../../git/context.ts';
import type { GitLocation } from '../../git/location.ts';
import { isInside } from '../paths.ts';

const LOCKFILES = [
  'npm-shrinkwrap.json',
  'package-lock.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
  'uv.lock',
  'poetry.lock',
  'Cargo.lock',
  'go.sum',
  'Gemfile.lock',
  'composer.lock',
];

/** Ignored files that a warm worktree does not keep. */
export function disposable(ignored: readonly string[], caches: readonly string[]): string[] {
  return ignored.filter((path) => !caches.some((cache) => isCache(path, cache)));
}

function isCache(path: string, cache: string): boolean {
  const name = cache.replace(/^\/+|\/+$/g, '');
  const plain = path.replace(/\/$/, '');
  return name.includes('/') ? isInside(plain, name) : plain.split('/').includes(name);
}

/** Deletes everything that git does not have, save the caches. */
export async function cleanAround(
  context: Context,
  at: GitLocation,
  caches: readonly string[],
): Promise<void> {
  const excludes = caches.flatMap((cache) => ['-e', cache.replace(/^[!#]/, '\\$&')]);
  await context.git(['clean', '-ffdxq', ...excludes], { at, write: true });
}

/**
 * Deletes what goes by the name of a cache and is a link: the next ticket would write where it leads. Links inside a
 * cache are those of a package manager and stay.
 */
export function dropLinkedCaches(root: string, ignored: readonly string[], caches: readonly string[]): void {
  for (const path of ignored) {
    if (!path.endsWith('/')) dropLink(join(root, path));
    // A directory around caches, of which only they are left.
    else if (!caches.some((cache) => isCache(path, cache))) dropLinksBelow(root, path, caches);
  }
}

function dropLinksBelow(root: string, directory: string, caches: readonly string[]): void {
  for (const entry of entriesOf(join(root, directory))) {
    const path = `${directory}${entry.name}`;
    if (!entry.isDirectory()) dropLink(join(root, path));
    else if (!caches.some((cache) => isCache(path, cache))) dropLinksBelow(root, `${path}/`, caches);
  }
}

/** Deletes links on the ways to the caches of a worktree that is taken, where git does not have them. */
export async function cutLinkedCaches(
  context: Context,
  at: GitLocation,
  caches: readonly string[],
): Promise<void> {
  const links = new Set(caches.flatMap((cache) => linkOnWay(at.workTree, cache) ?? []));
  for (const link of links)
    await context.git(['clean', '-ffdxq', '--', `:(top,literal)${link}`], { at, write: true });
}

function linkOnWay(root: string, cache: string): string | undefined {
  const parts = cache.split('/').filter((part) => part !== '' && part !== '.');
  const ways = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  return ways.find((way) => isLink(join(root, way)));
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function dropLink(path: string): void {
  if (isLink(path)) rmSync(path, { force: true });
}

function entriesOf(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

/** Whether a checkout's lockfiles are others in the next commit. */
export async function lockfilesDiffer(context: Context, at: GitLocation, next: string): Promise<boolean> {
  const pathspecs = LOCKFILES.map((name) => `:(glob)**/${name}`);
  const args = ['diff-tree', '-r', '--name-only', 'HEAD', next, '--', ...pathspecs];
  return (await context.git(args, { at })).stdout !== '';
}
