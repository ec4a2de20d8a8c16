import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** Where a file of a spec is written, and what git calls it. */
export interface FilePlace {
  file: string;
  /** From the top of the tree. */
  name: string;
}

/**
 * A link in a tree is followed to what it names there, or to what the user's own file is; one that an agent has pointed
 * elsewhere is written over and leads nobody out of the tree.
 */
export function placeOfFile(tree: string, name: string, original: string): FilePlace {
  const file = join(tree, name);
  const target = realOf(file) ?? pointedAt(file);
  if (target === undefined) return { file, name };
  const inside = relative(realOf(tree) ?? tree, target);
  const isOut = inside.startsWith('..') || isAbsolute(inside) || inside.split(sep)[0] === '.git';
  if (!isOut) return { file: target, name: inside };
  return { file: target === realOf(original) ? target : file, name };
}

/** Writes at a place; a link that was not followed goes. */
export function writeAt({ file }: FilePlace, data: string | Buffer): void {
  if (isLink(file)) rmSync(file);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, data);
}

function isLink(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Where a link leads at whose end nothing is. */
function pointedAt(file: string): string | undefined {
  const dir = realOf(dirname(file));
  return dir !== undefined && isLink(file) ? resolve(dir, readlinkSync(file)) : undefined;
}

/** Undefined where nothing is there, also at the end of a link. */
export function realOf(path: string): string | undefined {
  return existsSync(path) ? realpathSync.native(path) : undefined;
}
