import type { Command } from 'commander';
import { type Io, outJson } from './io.ts';

interface Options {
  json?: boolean;
  unit?: string;
  includeOptional?: boolean;
  only?: string;
  from?: string;
  skip?: string;
}

/** Of problems in a spec, and of everything else that keeps one from running. */
const UNUSABLE = 5;

export function register(program: Command, io: Io): void {
  const spec = program
    .command('spec')
    .description('read Kiro specs: tasks.md with its requirements and design')
    .addHelpText('after', '\nExamples:\n  $ signalbox spec check .kiro/specs/my-feature');
  spec
    .command('check')
    .argument('<dir>', 'the spec directory')
    .description(
      'print a spec’s tasks, units, order and dependencies, and find what is wrong, before anything runs',
    )
    .option('--unit <kind>', 'what one agent gets at a time: parent or leaf', 'parent')
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

async function check(dir: string, options: Options, io: Io): Promise<void> {
  const { resolve } = await import('node:path');
  const { readSpec, unitsOf } = await import('../sources/kiro/index.ts');
  const wanted = await unitOptions(options);
  const spec = await readSpec(resolve(io.cwd, dir));
  const { units, problems: more } = unitsOf(spec, wanted);
  const problems = [...spec.problems, ...more];
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
      units: units.map(({ root: _root, work, open, ...unit }) => ({
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
    import('../report/spec.ts'),
    import('../report/style.ts'),
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
  const say = (number: number, word: string) =>
    number === 0 ? [] : [`${number} ${word}${number === 1 ? '' : 's'}`];
  return [...say(errors, 'error'), ...say(warnings, 'warning')].join(', ');
}

/** The selection that flags ask for. */
async function unitOptions({ unit = 'parent', includeOptional = false, only, from, skip }: Options) {
  const { InputError } = await import('../model/errors.ts');
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
