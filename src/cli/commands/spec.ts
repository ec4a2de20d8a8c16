import { resolve } from 'node:path';
import type { Command } from 'commander';
import { plural } from '../../model/text/plural.ts';
import { type Io, outJson } from '../io.ts';
import { openSettings } from '../open.ts';
import type { SpecRunOptions } from './run-spec.ts';

interface Options extends SpecRunOptions {
  spec?: string;
  unit?: string;
  includeOptional?: boolean;
  only?: string;
  from?: string;
  skip?: string;
}

/** Of problems in a spec, and of everything else that keeps one from running. */
const UNUSABLE = 5;

export function registerSpec(program: Command, io: Io): void {
  const spec = program
    .command('spec')
    .argument('[dir]', 'the spec directory')
    .description('run a Kiro spec’s tasks one unit at a time, until done')
    .option('--spec <dir>', 'the same as the argument')
    .option('--backend <agent>', 'agent that does the work, unless an owner has another')
    .option('--assign-backend <agent>', 'agent that decides whose a unit is; default the backend')
    .option('--assign <how>', 'each unit when its turn comes, or all of them at once; default each')
    .option('--delay <seconds>', 'wait between two units, more or less; default 15')
    .option('--max-iterations <n>', 'most units that this run begins; default 50')
    .option('--max-attempts <n>', 'most attempts at one unit; default 3')
    .option(
      '--on-failure <what>',
      'after a unit has failed for good: stop, or continue with what does not need it',
    )
    .option('--unit <kind>', 'what one agent gets at a time: parent or leaf')
    .option('--include-optional', 'take optional tasks along')
    .option('--only <ids>', 'these tasks, by commas')
    .option('--from <id>', 'this task and what comes behind it')
    .option('--skip <ids>', 'all but these tasks, by commas')
    .option('--workdir <path>', 'the repository; default the one that the spec is in')
    .option('--base <branch>', 'branch that the work starts from')
    .option(
      '--in-place',
      'work in the checkout on its current branch; refused when something is not committed',
    )
    .option('--fresh', 'start over, on a new branch')
    .option('--tmux-session <name>', 'name of the tmux session; default sequential-<spec>')
    .option('--no-tmux', 'open no windows')
    .option('--detach', 'give the terminal back; a daemon goes on')
    .option('--dry-run', 'say what would be done and do nothing')
    .option('-v, --verbose', 'show what agents say and do')
    .option('--plain', 'one line per event, also on a terminal')
    .option('--json', 'print events, then the result, as JSON lines')
    .addHelpText(
      'after',
      `
Blocks until all units are complete, asking nothing in between. Calling it again goes on where it was.
Exit code 0 when all is complete, 1 when --max-iterations was reached, 2 when a person is needed, 3 or more when the
spec could not be run, 130 after Ctrl-C.

Examples:
  $ signalbox spec .kiro/specs/my-feature
  $ signalbox spec .kiro/specs/my-feature --delay 60 --backend codex --detach
  $ signalbox spec .kiro/specs/my-feature --only 2,3.1 --dry-run
  $ signalbox spec check .kiro/specs/my-feature`,
    )
    .action(async (dir: string | undefined, _options: unknown, command: Command) =>
      run(dir, command.optsWithGlobals<Options>(), io),
    );
  spec
    .command('tick')
    .argument('[plan]', 'default: the plan of this phase')
    .argument('[ticket]', 'default: the ticket of this phase')
    .description('tick the boxes of a unit that is done and commit that')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox spec tick spec-my-feature 2.1')
    .action(
      async (plan: string | undefined, ticket: string | undefined, _options: unknown, command: Command) =>
        tick(plan, ticket, command.optsWithGlobals<Options>(), io),
    );
  spec
    .command('check')
    .argument('<dir>', 'the spec directory')
    .description(
      'print a spec’s tasks, units, order and dependencies, and find what is wrong, before anything runs',
    )
    .option('--unit <kind>', 'what one agent gets at a time: parent or leaf; default parent')
    .option('--include-optional', 'take optional tasks along')
    .option('--only <ids>', 'these tasks, by commas')
    .option('--from <id>', 'this task and what comes behind it')
    .option('--skip <ids>', 'all but these tasks, by commas')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits with 5 when there is an error; warnings alone are 0.\n\nExamples:\n  $ signalbox spec check .kiro/specs/my-feature\n  $ signalbox spec check .kiro/specs/my-feature --unit leaf --from 2.1',
    )
    .action(async (dir: string, _options: unknown, command: Command) =>
      check(dir, command.optsWithGlobals<Options>(), io),
    );
}

async function run(dir: string | undefined, options: Options, io: Io): Promise<void> {
  const { InputError } = await import('../../model/errors.ts');
  const { spec, ...rest } = options;
  const wanted = dir ?? spec;
  if (wanted === undefined || (dir !== undefined && spec !== undefined && dir !== spec))
    throw new InputError('usage', wanted === undefined ? 'Which spec?' : 'Name one spec at a time.', {
      hint: 'For example: signalbox spec .kiro/specs/my-feature',
    });
  const { runSpec } = await import('./run-spec.ts');
  return runSpec(wanted, rest, await unitOptions(options), io);
}

async function tick(
  planId: string | undefined,
  ticketId: string | undefined,
  options: Options,
  io: Io,
): Promise<void> {
  const [{ inPhase, outStep, ticketHere }, { openEngine }, { tickStep }] = await Promise.all([
    import('./checks.ts'),
    import('../open.ts'),
    import('../../features/spec-runs/tick.ts'),
  ]);
  const ref = ticketHere(io, planId, ticketId);
  const parts = await openEngine(io, options, 'tick');
  const { SIGNALBOX_PHASE: phase } = io.env;
  outStep(io, options, await tickStep({ parts, ref, phase, inPhase: inPhase(io) }));
}

async function check(dir: string, options: Options, io: Io): Promise<void> {
  const { readSpec } = await import('../../kiro/read-spec.ts');
  const { unitsOf } = await import('../../kiro/units.ts');
  const wanted = await unitOptions(options);
  const spec = await readSpec(resolve(io.cwd, dir));
  const { units, problems: more } = unitsOf(spec, wanted);
  const { emptyCheckpoints, projectOf } = await import('../../features/spec-runs/checkpoints.ts');
  const place = { root: projectOf(spec.dir), file: spec.files.tasks };
  const hasCheckpoint = (await emptyCheckpoints(units, { ...place, configured: [] })).length > 0;
  const configured = hasCheckpoint ? (await openSettings(io, options)).checks : [];
  const empty = await emptyCheckpoints(units, { ...place, configured });
  const problems = [...spec.problems, ...more, ...empty];
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) io.exit(UNUSABLE);
  if (options.json) {
    const { name, kind, files, tasks, requirements, sections, config } = spec;
    outJson(io, {
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
    return;
  }
  const [{ specText, specProblemText }, { style }] = await Promise.all([
    import('../../report/spec-text.ts'),
    import('../../report/style.ts'),
  ]);
  const look = style(io.color);
  const near = { look, cwd: io.cwd };
  io.out(specText({ spec, units }, near));
  if (problems.length > 0) io.out('');
  for (const problem of problems) io.out(specProblemText(problem, near));
  io.out(
    problems.length === 0 ? '\nNo problems.' : `\n${count(errors.length, problems.length - errors.length)}.`,
  );
}

function count(errors: number, warnings: number): string {
  const say = (number: number, word: string) => (number === 0 ? [] : [`${plural(number, word)}`]);
  return [...say(errors, 'error'), ...say(warnings, 'warning')].join(', ');
}

/** The selection that flags ask for. */
async function unitOptions({ unit = 'parent', includeOptional = false, only, from, skip }: Options) {
  const { InputError } = await import('../../model/errors.ts');
  if (unit !== 'parent' && unit !== 'leaf')
    throw new InputError('usage', `Invalid --unit value: ${unit}. Must be parent or leaf.`, {
      hint: 'For example: --unit leaf',
    });
  const list = (flag: string, text: string) => {
    const ids = text.split(/[\s,]+/).filter((id) => id !== '');
    if (ids.length === 0)
      throw new InputError('usage', `${flag} names no task.`, { hint: `For example: ${flag} 1,2.1` });
    return ids;
  };
  return {
    unit,
    includeOptional,
    ...(only === undefined ? {} : { only: list('--only', only) }),
    ...(from === undefined ? {} : { from }),
    ...(skip === undefined ? {} : { skip: list('--skip', skip) }),
  } as const;
}
