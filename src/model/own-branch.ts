/** Where finished work is gathered while the base itself is checked out. */
export const integrationBranch = (base: string) => `signalbox/${base}`;

/** The branches that work is merged into; null where there is none, or none is known. */
export interface Trunks {
  /** `main` or `origin/main`. */
  base: string | null;
  /** The repository's default branch. */
  trunk: string | null;
}

/** Why a ticket must not work on this branch: what it commits there would be merged before anybody has seen it. */
export function ownBranchProblem(branch: string, { base, trunk }: Trunks): string | undefined {
  const name = base?.replace(/^origin\//, '');
  if (branch === base || branch === name) return 'is the base that its work is merged into';
  if (branch === trunk) return "is the repository's default branch";
  const gathers = [name, trunk].find((each) => each && branch === integrationBranch(each));
  return gathers ? `is where finished work for ${gathers} is gathered` : undefined;
}

/** The names above a branch: git keeps a branch as a file, so `x` and `x/y` cannot both be there. */
export function namesAbove(branch: string): string[] {
  const parts = branch.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** True when git can have only one of the two. */
export function exclude(a: string, b: string): boolean {
  return a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}
