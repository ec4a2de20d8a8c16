import { resolve } from 'node:path';
import { emptyCheckpoints, projectOf } from '../../features/spec-runs/checkpoints-without-checks.ts';
import { type UnitOptions, unitsOf } from '../../kiro/group-tasks-into-units.ts';
import { readSpec } from '../../kiro/read-spec.ts';
import { InputError } from '../../model/errors.ts';
import { plural } from '../../model/text/clean-escape-quote-plural.ts';
import { specProblemText, specText } from '../../report/spec-text.ts';
import { oneOf } from '../check-option-values.ts';
import type { OptionsOf } from '../definitions/commands-and-their-options.ts';
import { type Io, outJson } from '../io.ts';
import { openEngine, openSettings } from '../open-settings-store-and-engine.ts';
import { inPhase, outStep, ticketHere } from './workspace-checks-integrate-diff.ts';

type Options = OptionsOf<'spec'>;

/** The exit code for problems in a spec, and for everything else that keeps one from running. */
const UNUSABLE = 5;

export async function specRun(io: Io, options: Options, dir: string | undefined): Promise<void> {
  const { spec, ...rest } = options;
  const wanted = dir ?? spec;
  if (wanted === undefined || (dir !== undefined && spec !== undefined && dir !== spec))
    throw new InputError('usage', wanted === undefined ? 'Which spec?' : 'Name one spec at a time.', {
      hint: 'For example: signalbox spec .kiro/specs/my-feature',
    });
  const { runSpec } = await import('./run-spec.ts');
  return runSpec(wanted, rest, unitOptions(options), io);
}

export async function specTick(
  io: Io,
  options: Options,
  planId: string | undefined,
  ticketId: string | undefined,
): Promise<void> {
  const ref = ticketHere(io, planId, ticketId);
  const engine = await openEngine(io, options, 'tick');
  const { tickStep } = await import('../../features/spec-runs/tick-unit.ts');
  const { SIGNALBOX_PHASE: phase } = io.env;
  outStep(io, options, await tickStep({ engine, ref, phase, inPhase: inPhase(io) }));
}

export async function specCheck(io: Io, options: Options, dir: string): Promise<void> {
  const wanted = unitOptions(options);
  const spec = await readSpec(resolve(io.cwd, dir));
  const { units, problems: more } = unitsOf(spec, wanted);
  const configured = async () => (await openSettings(io, options)).checks;
  const empty = await emptyCheckpoints(spec, units, projectOf(spec.dir), configured);
  const problems = [...spec.problems, ...more, ...empty];
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) io.exit(UNUSABLE);
  if (options.json) {
    const { name, kind, files, tasks, requirements, sections, config } = spec;
    return outJson(io, {
      ok: errors.length === 0,
      name,
      dir: spec.dir,
      kind,
      files,
      config,
      tasks,
      units: units.map(({ root: _root, leftOut: _leftOut, work, open, ...unit }) => ({
        ...unit,
        work: work.map(({ id }) => id),
        open: open.map(({ id }) => id),
      })),
      requirements: requirements.map(({ id, title, line, criteria }) => ({
        id,
        title,
        line,
        criteria: criteria.length,
      })),
      sections,
      problems,
    });
  }
  const textOptions = { colors: io.style, cwd: io.cwd };
  io.out(specText({ spec, units }, textOptions));
  if (problems.length > 0)
    io.out(['', ...problems.flatMap((problem) => specProblemText(problem, textOptions))]);
  const counts = [
    ...(errors.length > 0 ? [plural(errors.length, 'error')] : []),
    ...(problems.length > errors.length ? [plural(problems.length - errors.length, 'warning')] : []),
  ];
  io.out(['', `${counts.join(', ') || 'No problems'}.`]);
}

/** The selection that flags ask for. */
function unitOptions({ unit = 'parent', includeOptional = false, only, from, skip }: Options): UnitOptions {
  const list = (flag: string, text: string) => {
    const ids = text.split(/[\s,]+/).filter((id) => id !== '');
    if (ids.length === 0)
      throw new InputError('usage', `${flag} names no task.`, { hint: `For example: ${flag} 1,2.1` });
    return ids;
  };
  return {
    unit: oneOf('--unit', unit, ['parent', 'leaf']),
    includeOptional,
    ...(only === undefined ? {} : { only: list('--only', only) }),
    ...(from === undefined ? {} : { from }),
    ...(skip === undefined ? {} : { skip: list('--skip', skip) }),
  };
}
