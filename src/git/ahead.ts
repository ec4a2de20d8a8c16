import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { isOid } from './refs.ts';

/** A longer way is git's business. */
const FURTHEST = 50;
const LARGEST = 1 << 20;

/** How many commits there are from `head` down to `base`; undefined means "ask git". */
export function countAhead(commonDir: string, head: string, base: string): number | undefined {
  return commitsAhead(commonDir, head, base)?.length;
}

/**
 * The commits from `head` down to `base`, by reading them, which saves a process after every phase: what an agent has
 * just committed is one file per commit. Undefined means "ask git": merges, packed commits, or a base that is not below.
 */
export function commitsAhead(commonDir: string, head: string, base: string): string[] | undefined {
  if (existsSync(join(commonDir, 'refs', 'replace')) || existsSync(join(commonDir, 'info', 'grafts')))
    return undefined;
  const commits: string[] = [];
  let commit = head;
  while (commits.length <= FURTHEST) {
    if (commit === base) return commits;
    const [parent, ...others] = parentsOf(commonDir, commit) ?? [];
    if (parent === undefined || others.length > 0) return undefined;
    commits.push(commit);
    commit = parent;
  }
  return undefined;
}

const known = new Map<string, string[]>();

/** What a commit comes from never changes, and a ticket's commits are counted again after each of its phases. */
function parentsOf(commonDir: string, oid: string): string[] | undefined {
  const key = `${commonDir}:${oid}`;
  const parents = known.get(key) ?? readParents(commonDir, oid);
  if (known.size > 1000) known.clear();
  if (parents) known.set(key, parents);
  return parents;
}

/** The parents of a commit that is a file of its own and hashes to its name. */
function readParents(commonDir: string, oid: string): string[] | undefined {
  let content: Buffer;
  try {
    const file = readFileSync(join(commonDir, 'objects', oid.slice(0, 2), oid.slice(2)));
    content = inflateSync(file, { maxOutputLength: LARGEST });
  } catch {
    // Not there, packed by now, or no object at all: git will say.
    return undefined;
  }
  if (
    createHash(oid.length === 40 ? 'sha1' : 'sha256')
      .update(content)
      .digest('hex') !== oid
  )
    return undefined;
  const [header = ''] = content
    .subarray(content.indexOf(0) + 1)
    .toString('utf8')
    .split('\n\n', 1);
  const parents = header.split('\n').flatMap((line) => (line.startsWith('parent ') ? [line.slice(7)] : []));
  return content.toString('latin1', 0, 7) === 'commit ' && parents.every(isOid) ? parents : undefined;
}
