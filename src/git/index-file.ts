import { join } from 'node:path';
import { readRegular } from '../machine/files/regular.ts';
import type { Git, Place } from './git.ts';

/** What the index says about files besides their content. */
export interface IndexMarks {
  /** Files that git was told to take as unchanged, whatever is in them. */
  assumed: string[];
  /** Files that git was told not to look for in the worktree; a sparse checkout is made of these. */
  skipped: string[];
  /** Commits of other repositories: submodules. */
  links: string[];
}

/** Reads the marks from the index itself, which saves a process after every phase; asks git where that is not possible. */
export async function readMarks(git: Git, at: Place): Promise<IndexMarks> {
  const index = readRegular(join(at.gitDir, 'index'));
  if (index === undefined) return { assumed: [], skipped: [], links: [] };
  return parseIndex(index, 20) ?? parseIndex(index, 32) ?? askGit(git, at);
}

const ASSUMED = 0x8000;
const EXTENDED = 0x4000;
const SKIPPED = 0x4000;
const LENGTH = 0xfff;
const LINK = 0xe000;
const DIRECTORY = 0x4000;
const STAT = 40;

/** The marks of an index whose object ids are `hash` bytes long; undefined when it has another form than the usual ones. */
export function parseIndex(index: Buffer, hash: number): IndexMarks | undefined {
  if (index.length < 12 + hash || index.toString('latin1', 0, 4) !== 'DIRC') return undefined;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return undefined;
  const marks: IndexMarks = { assumed: [], skipped: [], links: [] };
  const end = index.length - hash;
  let at = 12;
  let before: Buffer = Buffer.alloc(0);
  for (let left = index.readUInt32BE(8); left > 0; left -= 1) {
    if (at + STAT + hash + 4 > end) return undefined;
    const mode = index.readUInt32BE(at + 24);
    const flags = index.readUInt16BE(at + STAT + hash);
    const extended = version > 2 && (flags & EXTENDED) !== 0;
    let name = at + STAT + hash + (extended ? 4 : 2);
    let shared = 0;
    if (version === 4) [shared, name] = readOffset(index, name);
    const length = flags & LENGTH;
    const nul = version === 4 || length === LENGTH ? index.indexOf(0, name) : name + length;
    if (nul < 0 || nul >= end || index[nul] !== 0 || mode === DIRECTORY || shared > before.length)
      return undefined;
    if (version === 4)
      before = Buffer.concat([before.subarray(0, before.length - shared), index.subarray(name, nul)]);
    const path = () => (version === 4 ? before.toString('utf8') : index.toString('utf8', name, nul));
    if (flags & ASSUMED) marks.assumed.push(path());
    if (extended && index.readUInt16BE(at + STAT + hash + 2) & SKIPPED) marks.skipped.push(path());
    if (mode === LINK) marks.links.push(path());
    at = version === 4 ? nul + 1 : at + ((nul - at + 8) & ~7);
  }
  return extensionsEndAt(index, at, end) ? marks : undefined;
}

/** How many bytes of the path before are left out: git's variable-length number. */
function readOffset(index: Buffer, start: number): [value: number, next: number] {
  let at = start;
  let byte = index[at++] ?? 0;
  let value = byte & 127;
  while (byte & 128 && at < index.length) {
    byte = index[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 127);
  }
  return [value, at];
}

/** Whether the entries were read rightly: what follows them fills the file. A split index has the rest elsewhere. */
function extensionsEndAt(index: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at + 8 <= end) {
    if (index.toString('latin1', at, at + 4) === 'link') return false;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return at === end;
}

async function askGit(git: Git, at: Place): Promise<IndexMarks> {
  const { stdout } = await git(['ls-files', '-v', '--stage', '-z'], { at });
  const marks: IndexMarks = { assumed: [], skipped: [], links: [] };
  for (const line of stdout.split('\0')) {
    const [, tag = '', mode, path = ''] = /^(.) (\d+) [^\t]*\t(.*)$/s.exec(line) ?? [];
    if (tag !== tag.toUpperCase()) marks.assumed.push(path);
    if (tag === 'S' || tag === 's') marks.skipped.push(path);
    if (mode === '160000') marks.links.push(path);
  }
  return marks;
}
