import type { Command } from 'commander';
import { type Io, outJson } from '../io.ts';
import { openSettings } from '../open.ts';

interface Options {
  config?: string;
  json?: boolean;
}

export function registerConfig(program: Command, io: Io): void {
  const config = program
    .command('config')
    .description('print every setting and where it came from')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ signalbox config
  $ SIGNALBOX_MAX_CONCURRENCY=8 signalbox config --json
  $ signalbox config path
  $ signalbox config trust ~/src/my-project`,
    )
    .action(async (_options: unknown, command: Command) =>
      showSettings(command.optsWithGlobals<Options>(), io),
    );

  config
    .command('path')
    .description('print the path of the config file in force')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ $EDITOR "$(signalbox config path)"')
    .action(async (_options: unknown, command: Command) => showPath(command.optsWithGlobals<Options>(), io));

  config
    .command('trust')
    .argument('[dir]', 'the directory; default the current one')
    .description('let a directory’s signalbox.yaml and .signalbox/settings.json name commands')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nThe list is kept in trusted.json in the home.\n\nExamples:\n  $ signalbox config trust',
    )
    .action(async (dir: string | undefined, _options: unknown, command: Command) =>
      trustDirectory(dir, command.optsWithGlobals<Options>(), io),
    );
}

async function showSettings(options: Options, io: Io): Promise<void> {
  const { listSettings } = await import('../../config/describe.ts');
  const settings = await openSettings(io, options);
  const rows = listSettings(settings);
  const { configFile, home, searchPath } = settings;
  if (options.json) {
    const values = rows.map(({ key, value, origin }) => [key, { value, origin }]);
    outJson(io, { configFile, home, settings: Object.fromEntries(values), searchPath });
    return;
  }
  const shown = rows.map(({ key, value, origin }) => [key, oneLine(value), origin]);
  const widths = [0, 1].map((column) =>
    Math.min(60, Math.max(...shown.map((row) => row[column]?.length ?? 0))),
  );
  for (const [key = '', value = '', origin = ''] of shown)
    io.out(`${key.padEnd(widths[0] ?? 0)}  ${value.padEnd(widths[1] ?? 0)}  ${origin}`);
}

/** Short enough for a column: empty parts of an entry are left out. */
function oneLine(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || Array.isArray(value) || typeof value !== 'object') return JSON.stringify(value);
  const parts = Object.entries(value).filter(
    ([, part]) => part !== null && !['[]', '{}'].includes(JSON.stringify(part)),
  );
  return JSON.stringify(Object.fromEntries(parts));
}

async function showPath(options: Options, io: Io): Promise<void> {
  const { configChain, findConfig } = await import('../../config/paths.ts');
  const where = { cwd: io.cwd, env: io.env, configPath: options.config };
  const configFile = findConfig(where)?.file ?? null;
  const searched = configChain(where).map(({ file }) => file);
  if (options.json) outJson(io, { configFile, searched });
  else if (configFile !== null) io.out(configFile);
  if (configFile !== null) return;
  if (!options.json) io.err(`No config file; defaults are in force. Looked for ${searched.join(' and ')}.`);
  io.exit(1);
}

async function trustDirectory(dir: string | undefined, options: Options, io: Io): Promise<void> {
  const { homeDir } = await import('../../config/paths.ts');
  const { expandPath, userHome } = await import('../../machine/environment.ts');
  const { trust } = await import('../../config/trust.ts');
  const { asStorageError, makeDirectory } = await import('../../machine/files/directory.ts');
  const home = homeDir(io.env, io.cwd);
  let result: ReturnType<typeof trust>;
  try {
    makeDirectory(home);
    result = trust(expandPath(dir ?? '.', io.cwd, userHome(io.env)), home);
  } catch (error) {
    throw asStorageError(error, home, { name: 'the home directory', setting: 'SIGNALBOX_HOME' });
  }
  if (options.json) outJson(io, result);
  else
    io.out(
      result.added
        ? `Trusted ${result.dir}: its settings may name commands.`
        : `${result.dir} was trusted already.`,
    );
}
