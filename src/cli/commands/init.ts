import { join } from 'node:path';
import { type Made, makeHome, makeProject } from '../../config/init.ts';
import { homeDir, repositoryOf } from '../../config/paths.ts';
import { expandPath, userHome } from '../../machine/environment.ts';
import { shellWord } from '../../model/text/shell-quote.ts';
import { type Io, outJson } from '../io.ts';

export async function init(io: Io, options: { dir?: string; json?: boolean }): Promise<void> {
  const usual = homeDir(io.env, io.cwd);
  const home = options.dir === undefined ? usual : expandPath(options.dir, io.cwd, userHome(io.env));
  const repository = repositoryOf(io.cwd);
  const project = repository === null || join(repository, '.signalbox') === home ? null : repository;
  const made = [...makeHome(home), ...(project === null ? [] : makeProject(project))];
  if (options.json) return outJson(io, { home, repository: project, made });
  for (const { path, did } of made) io.out(`${WORDS[did]} ${path}`);
  const config = join(home, 'config.yaml');
  io.out(
    home === usual
      ? `\nSettings are in ${config}.`
      : `\nTo use it: signalbox -C ${shellWord(config)} …, or set SIGNALBOX_HOME=${shellWord(home)}.`,
  );
  io.out('Next: signalbox doctor');
}

const WORDS: Record<Made['did'], string> = {
  made: 'created         ',
  kept: 'already exists  ',
  extended: 'added rules to  ',
};
