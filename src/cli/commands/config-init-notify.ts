import { join } from 'node:path';
import { listSettings } from '../../config/describe-settings.ts';
import { configChain, findConfig, homeDir, repositoryOf } from '../../config/find-config-and-state.ts';
import { type Made, makeHome, makeProject } from '../../config/make-home-and-project-files.ts';
import { trust } from '../../config/trust.ts';
import {
  asStorageError,
  makeDirectory,
} from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { expandPath, userHome } from '../../machine/home-path.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { answer, type Io, outJson } from '../io.ts';
import { type GlobalOptions, openEngine, openSettings } from '../open-state-and-find-named-tickets.ts';

export async function configShow(io: Io, options: GlobalOptions): Promise<void> {
  const settings = await openSettings(io, options);
  const rows = listSettings(settings);
  const { configFile, home, searchPath } = settings;
  if (options.json) {
    const values = rows.map(({ key, value, origin }) => [key, { value, origin }]);
    return outJson(io, { configFile, home, settings: Object.fromEntries(values), searchPath });
  }
  const shown = rows.map(({ key, value, origin }) => [key, shortValue(value), origin]);
  const widths = [0, 1].map((column) =>
    Math.min(60, Math.max(...shown.map((row) => row[column]?.length ?? 0))),
  );
  for (const [key = '', value = '', origin = ''] of shown)
    io.out(`${key.padEnd(widths[0] ?? 0)}  ${value.padEnd(widths[1] ?? 0)}  ${origin}`);
}

/** Short enough for a column: empty parts of an entry are left out. */
function shortValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || Array.isArray(value) || typeof value !== 'object') return JSON.stringify(value);
  const parts = Object.entries(value).filter(
    ([, part]) => part !== null && !['[]', '{}'].includes(JSON.stringify(part)),
  );
  return JSON.stringify(Object.fromEntries(parts));
}

export async function configPath(io: Io, options: GlobalOptions): Promise<void> {
  const where = { cwd: io.cwd, env: io.env, configPath: options.config };
  const configFile = findConfig(where)?.file ?? null;
  const searched = configChain(where).map(({ file }) => file);
  if (options.json) outJson(io, { configFile, searched });
  else if (configFile !== null) io.out(configFile);
  if (configFile !== null) return;
  if (!options.json) io.err(`No config file; defaults are in force. Looked for ${searched.join(' and ')}.`);
  io.exit(1);
}

export async function configTrust(io: Io, options: GlobalOptions, dir: string | undefined): Promise<void> {
  const home = homeDir(io.env, io.cwd);
  let result: ReturnType<typeof trust>;
  try {
    makeDirectory(home);
    result = trust(expandPath(dir ?? '.', io.cwd, userHome(io.env)), home);
  } catch (error) {
    throw asStorageError(error, home, { name: 'the home directory', setting: 'SIGNALBOX_HOME' });
  }
  const text = result.added
    ? `Trusted ${result.dir}: its settings may name commands.`
    : `${result.dir} was trusted already.`;
  answer(io, options, result, text);
}

export async function init(io: Io, options: { dir?: string; json?: boolean }): Promise<void> {
  const usual = homeDir(io.env, io.cwd);
  const home = options.dir === undefined ? usual : expandPath(options.dir, io.cwd, userHome(io.env));
  const repository = repositoryOf(io.cwd);
  const project = repository === null || join(repository, '.signalbox') === home ? null : repository;
  const made = [...makeHome(home), ...(project === null ? [] : makeProject(project))];
  if (options.json) return outJson(io, { home, repository: project, made });
  for (const { path, did } of made) io.out(`${WORDS[did]} ${path}`);
  const config = join(home, 'config.yaml');
  io.out([
    '',
    home === usual
      ? `Settings are in ${config}.`
      : `To use it: signalbox -C ${shellWord(config)} …, or set SIGNALBOX_HOME=${shellWord(home)}.`,
    'Next: signalbox doctor',
  ]);
}

const WORDS: Record<Made['did'], string> = {
  made: 'created         ',
  kept: 'already exists  ',
  extended: 'added rules to  ',
};

export async function notifyTest(io: Io, options: GlobalOptions): Promise<void> {
  const { tryPlaces } = await import('../../features/notifications/notify.ts');
  const places = await tryPlaces(await openEngine(io, options, 'notify'));
  const ok = places.length > 0 && places.every((each) => each.ok);
  if (!ok) io.exit(1);
  if (options.json) return outJson(io, { ok, places });
  for (const each of places) io.out(each.ok ? `✓ ${each.label}` : `✗ ${each.error}`);
  if (places.length === 0)
    io.err('No place is configured. Set notify.desktop, notify.command or notify.webhook.');
}
