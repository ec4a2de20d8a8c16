import type { UnitOptions } from '../../kiro/units.ts';

export interface SpecRunRequest {
  /** The spec directory, or its tasks.md. */
  dir: string;
  /** Where the repository is; null: where the spec is, else `cwd`. */
  workdir: string | null;
  cwd: string;
  units: UnitOptions;
  backend: string | null;
  assignBackend: string | null;
  base: string | null;
  delaySeconds: number;
  maxIterations: number;
  maxAttempts: number;
  stopOnFailure: boolean;
  inPlace: boolean;
  fresh: boolean;
  /** One agent assigns all units at once, instead of each before its work. */
  assignAll: boolean;
}
