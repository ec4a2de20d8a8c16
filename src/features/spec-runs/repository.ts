import { dirname } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { InputError, messageOf, WorkspaceError } from '../../model/errors.ts';
import type { SpecRunRequest } from './run.ts';

/** The repository that the work happens in: the one that was named, else the spec's, else the one around us. */
export async function repositoryOf(
  { workspaces }: EngineContext,
  { workdir, cwd }: SpecRunRequest,
  dir: string,
): Promise<string> {
  if (workdir !== null) {
    const { root } = await named(() => workspaces.checkRepo(workdir), '--workdir', 'Name a git repository.');
    return root;
  }
  try {
    return (await workspaces.checkRepo(dir)).root;
  } catch (error) {
    if (error instanceof WorkspaceError && error.code === 'workspace/no-commit') throw error;
    try {
      return (await workspaces.checkRepo(cwd)).root;
    } catch {
      throw new InputError('spec/no-repository', messageOf(error), {
        hint: 'Say with --workdir in which repository the work happens.',
      });
    }
  }
}

/** A base that somebody names has to be there before anything runs. */
export async function checkBase(
  { workspaces }: EngineContext,
  repo: string,
  base: string | null,
): Promise<void> {
  if (base === null) return;
  const hint = `Name a branch that is there, or make it: git -C ${repo} branch ${base}`;
  await named(() => workspaces.checkBase({ repo, base }), '--base', hint);
}

/** Git keeps branches as files: none can be in another one. */
export async function refuseBeside(
  { workspaces }: EngineContext,
  repo: string,
  branch: string,
): Promise<void> {
  const above = dirname(branch);
  if (above === '.' || !(await workspaces.tip({ repo, branch: above }))) return;
  throw new InputError(
    'spec/branch-name',
    `The branch ${branch} cannot be there together with the branch ${above}.`,
    {
      hint: `Give that one another name: git -C ${repo} branch -m ${above} ${above}-old\nOr work on the branch that the checkout is on, with --in-place.`,
      details: { branch, above },
    },
  );
}

/** What is wrong with something that a flag names. */
async function named<T>(look: () => Promise<T>, flag: string, hint: string): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    const { message, code, details } = error;
    const way = code === 'workspace/no-commit' ? error.hint : hint;
    throw new InputError(code, `${flag}: ${message}`, { hint: way, details, cause: error });
  }
}
