import type { UnitOptions } from '../../kiro/units.ts';
import type { Plan } from '../../model/plan.ts';
import type { Ticket } from '../../model/ticket.ts';

/** What a person asks for with `signalbox spec`. */
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
  /** Wall-clock limit of one attempt of an agent; null: the setting's. */
  timeoutSeconds: number | null;
  stopOnFailure: boolean;
  inPlace: boolean;
  fresh: boolean;
  /** One agent assigns all units at once, instead of each before its work. */
  assignAll: boolean;
}

/** An earlier run of the same spec that this one continues. */
export interface EarlierRun {
  plan: Plan;
  tickets: readonly Ticket[];
}
