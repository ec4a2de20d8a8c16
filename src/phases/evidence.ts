import type { Expect } from '../model/workflow.ts';
import type { PhaseContext } from './context.ts';

/** What the engine itself sees of an agent's work, against what the phase expects. Undefined when all is there. */
export async function missingEvidence(context: PhaseContext, expect: Expect): Promise<string | undefined> {
  const { worktree, base } = context.place;
  const wish = { dirty: expect.clean === true, files: expect.files !== undefined };
  const seen = await context.workspaces.evidence(worktree, base.commit, wish);
  const commits = expect.commits === true ? 1 : (expect.commits ?? 0);
  if (seen.ahead < commits) {
    const all = await context.workspaces.evidence(worktree, base.commit);
    const dirty = all.dirty.length > 0 ? ` (${all.dirty.length} uncommitted files)` : '';
    return `expected at least ${commits} commit${commits === 1 ? '' : 's'} ahead of ${base.ref}, found ${seen.ahead}${dirty}`;
  }
  if (expect.clean && seen.dirty.length > 0) {
    return `expected a clean tree, found uncommitted: ${seen.dirty.slice(0, 5).join(', ')}${seen.dirty.length > 5 ? ', …' : ''}`;
  }
  for (const pattern of expect.files ?? []) {
    if (!seen.files.some((file) => matches(file, pattern)))
      return `expected a change in ${pattern}, found none`;
  }
  return undefined;
}

const GLOBS: Record<string, string> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** `*` stays inside a directory, `**` crosses them, `?` is one character; a directory stands for all below it. */
export function matches(file: string, pattern: string): boolean {
  const body = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*\*|\*|\?/g, (glob) => GLOBS[glob] ?? '');
  return new RegExp(`^${body}(?:/.*)?$`).test(file);
}
