import { type ProjectManifest, readManifest } from '../config/read-or-detect-project-manifest.ts';
import { surroundingsOf } from './orchestrator-arguments.ts';

export { InputError, SignalboxError } from '../model/errors.ts';
export type { ProjectManifest };

/**
 * Stack and package manager of the project that `cwd` is in: as `signalbox init` wrote them down, else as its files
 * show it. A manifest that cannot be read rejects with an InputError.
 */
export async function getManifest(options: { cwd?: string } = {}): Promise<ProjectManifest> {
  return readManifest(surroundingsOf(options).cwd);
}
