import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../git/refs.ts';
import { overwrite } from '../machine/files/atomic.ts';
import type { ProcessIdentity } from '../machine/process-identity.ts';

/**
 * Who may use a worktree, kept in git's own directory for it, where no agent's `git add` finds it.
 * `checkout`: git is filling it; `setup`: files are copied and hooks run; `slot`: free, and nothing in it is unique.
 */
export interface Owner {
  owner: string;
  branch: string;
  state: 'checkout' | 'setup' | 'ready' | 'slot';
  /** False for a worktree that was there before us: it is used, never released. */
  created: boolean;
  base: { ref: string; commit: string } | null;
  /** SHA-256 of the untracked files that we copied in, by path. */
  copied: Record<string, string>;
  /** A slot that still has cache directories. */
  caches: boolean;
  /** Whose setup commands run, while the state is `setup`. */
  by?: ProcessIdentity | undefined;
  /** Its owner has gone and left it to whoever works on its branch next. */
  left?: boolean | undefined;
}

const FILE = 'signalbox-owner';

export const ownerFile = (adminDir: string) => join(adminDir, FILE);

/** The owner, or undefined when there is none or the file is damaged: such a worktree is nobody's to delete. */
export function readOwner(adminDir: string): Owner | undefined {
  const text = readText(ownerFile(adminDir));
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Partial<Owner>;
    if (typeof value.owner !== 'string' || typeof value.branch !== 'string') return undefined;
    return {
      owner: value.owner,
      branch: value.branch,
      state: value.state ?? 'ready',
      created: value.created === true,
      base: value.base ?? null,
      copied: value.copied ?? {},
      caches: value.caches !== false,
      by: value.by,
      left: value.left === true || undefined,
    };
  } catch {
    return undefined;
  }
}

export function writeOwner(adminDir: string, owner: Owner): void {
  const path = ownerFile(adminDir);
  const text = `${JSON.stringify(owner)}\n`;
  if (existsSync(path)) {
    overwrite(path, text);
    return;
  }
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, path);
}
