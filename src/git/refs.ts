import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readRegular } from '../machine/files/regular.ts';
import type { Git } from './git.ts';
import type { Repo } from './repository.ts';

const OID = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

export function isOid(text: string): boolean {
  return OID.test(text);
}

export const branchRef = (name: string) => `refs/heads/${name}`;
export const originRef = (name: string) => `refs/remotes/origin/${name}`;

/** True when refs are files, so that reading one needs no git process. */
export function hasFileRefs(commonDir: string): boolean {
  return !existsSync(join(commonDir, 'reftable'));
}

/** The commit a full ref name stands for, or undefined when there is no such ref. */
export async function readRef(git: Git, repo: Repo, ref: string): Promise<string | undefined> {
  if (hasFileRefs(repo.commonDir)) return readFileRef(repo.commonDir, ref);
  return (await askGit(git, repo, ref))?.oid;
}

/** The ref a symbolic ref names, or undefined. */
export async function readSymref(git: Git, repo: Repo, ref: string): Promise<string | undefined> {
  if (!hasFileRefs(repo.commonDir)) return (await askGit(git, repo, ref))?.symref;
  return targetOf(readLoose(repo.commonDir, ref));
}

async function askGit(git: Git, repo: Repo, ref: string) {
  const format = '%(refname)%09%(objectname)%09%(symref)';
  const { stdout } = await git(['for-each-ref', `--format=${format}`, ref], { at: repo });
  for (const line of stdout.split('\n')) {
    const [name, oid, symref] = line.split('\t');
    if (name === ref && oid) return { oid, symref: symref || undefined };
  }
  return undefined;
}

/** Reads a ref as git stores it: a loose file, else a line of packed-refs. */
export function readFileRef(commonDir: string, ref: string): string | undefined {
  let name = ref;
  for (let depth = 0; depth < 5; depth += 1) {
    const text = readLoose(commonDir, name);
    if (text === undefined) return packedRefs(commonDir).get(name);
    const target = targetOf(text);
    if (target === undefined) return isOid(text) ? text : undefined;
    name = target;
  }
  return undefined;
}

function targetOf(text: string | undefined): string | undefined {
  return text?.startsWith('ref: ') ? text.slice(5).trim() : undefined;
}

function readLoose(commonDir: string, ref: string): string | undefined {
  return readText(join(commonDir, ref));
}

/** A file's trimmed text, or undefined when there is no such file. */
export function readText(path: string): string | undefined {
  return readRegular(path)?.toString('utf8').trim();
}

const packed = new Map<string, { stamp: string; refs: Map<string, string> }>();

function packedRefs(commonDir: string): Map<string, string> {
  const path = join(commonDir, 'packed-refs');
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return new Map();
  const stamp = `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
  const known = packed.get(path);
  if (known?.stamp === stamp) return known.refs;
  const refs = new Map<string, string>();
  for (const line of (readText(path) ?? '').split('\n')) {
    const space = line.indexOf(' ');
    if (space > 0 && line[0] !== '#' && line[0] !== '^')
      refs.set(line.slice(space + 1), line.slice(0, space));
  }
  packed.set(path, { stamp, refs });
  return refs;
}
