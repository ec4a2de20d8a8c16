import { join } from 'node:path';
import type { Command } from 'commander';
import type { Made } from '../../config/init.ts';
import { type Io, outJson } from '../io.ts';

interface Options {
  dir?: string;
  json?: boolean;
}

export function registerInit(program: Command, io: Io): void {
  program
    .command('init')
    .description('make the home, and in a git repository its .signalbox directory; never overwrites')
    .option('-d, --dir <path>', 'the home to make; default $SIGNALBOX_HOME, else ~/.signalbox')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ signalbox init\n  $ signalbox init --dir ~/work/signalbox')
    .action(async (options: Options) => init(options, io));
}

async function init(options: Options, io: Io): Promise<void> {
  const { makeHome, makeProject } = await import('../../config/init.ts');
  const { homeDir, repositoryOf } = await import('../../config/paths.ts');
  const { expandPath, userHome } = await import('../../machine/environment.ts');
  const usual = homeDir(io.env, io.cwd);
  const home = options.dir === undefined ? usual : expandPath(options.dir, io.cwd, userHome(io.env));
  const repository = repositoryOf(io.cwd);
  const project = repository === null || join(repository, '.signalbox') === home ? null : repository;
  const made = [...makeHome(home), ...(project === null ? [] : makeProject(project))];
  if (options.json) {
    outJson(io, { home, repository: project, made });
    return;
  }
  for (const { path, did } of made) io.out(`${WORDS[did]} ${path}`);
  const { shellWord } = await import('../../model/text/shell-quote.ts');
  const config = join(home, 'config.yaml');
  io.out(
    home === usual
      ? `\nSettings are in ${config}.`
      : `\nTo use it: signalbox -C ${shellWord(config)} …, or set SIGNALBOX_HOME=${shellWord(home)}.`,
  );
  io.out('Next: signalbox doctor');
}

const WORDS: Record<Made['did'], string> = {
  made: 'made            ',
  kept: 'was there       ',
  extended: 'added rules to  ',
};
