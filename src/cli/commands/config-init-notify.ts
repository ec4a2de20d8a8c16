import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sandboxWorks } from '../../config/doctor/doctor.ts';
import {
  configChain,
  findConfig,
  homeDir,
  packageDir,
  repositoryOf,
} from '../../config/find-config-and-state.ts';
import type { InitChoices, InitFacts, Made } from '../../config/init-questions-and-files.ts';
import {
  configFile,
  defaultChoices,
  initQuestions,
  makeHome,
  makeProject,
  settingsFile,
} from '../../config/init-questions-and-files.ts';
import { builtInAgents } from '../../config/resolve-agents.ts';
import { listSettings } from '../../config/settings-schema-docs-and-list.ts';
import { isTrusted, trust } from '../../config/trusted-directories.ts';
import { refuseInsideJob } from '../../engine/control-tickets-and-plans.ts';
import { checksOf } from '../../features/checks/find-and-run-checks.ts';
import { githubFindings } from '../../features/preflight/find-start-problems-and-forecast.ts';
import { UNASKED } from '../../github/find-own-repository.ts';
import {
  asStorageError,
  makeDirectory,
} from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { findExecutable } from '../../machine/find-and-probe-program.ts';
import { expandPath, userHome } from '../../machine/paths-and-user-home.ts';
import { InputError, SignalboxError } from '../../model/errors.ts';
import { shellWord } from '../../model/text/quote-values-for-shell.ts';
import { createWorkspaces } from '../../workspaces/workspaces.ts';
import { answer, answerOf, confirmed, type Io, outJson, outWrapped } from '../io.ts';
import { type GlobalOptions, openEngine, openSettings } from '../open-settings-store-and-engine.ts';

export async function configShow(io: Io, options: GlobalOptions): Promise<void> {
  const settings = await openSettings(io, options);
  const rows = listSettings(settings);
  const { configFile, home, searchPath } = settings;
  if (options.json) {
    const values = rows.map(({ key, value, origin }) => [key, { value, origin }]);
    return outJson(io, { configFile, home, settings: Object.fromEntries(values), searchPath });
  }
  const shown = rows.map(({ key, value, origin }) => [key, shortValue(value), origin]);
  const widest = (column: number) => Math.min(60, Math.max(...shown.map((row) => row[column]?.length ?? 0)));
  const keys = widest(0);
  // On a terminal, a setting that has its default is one line.
  const values = Math.min(
    widest(1),
    (io.columns?.() ?? Number.POSITIVE_INFINITY) - keys - '    default'.length,
  );
  const lines = shown.map(
    ([key = '', value = '', origin = '']) => `${key.padEnd(keys)}  ${value.padEnd(values)}  ${origin}`,
  );
  outWrapped(io, lines);
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
  if (!options.json) io.err(`No config file; defaults apply. Looked for ${searched.join(' and ')}.`);
  io.exit(1);
}

export async function configTrust(io: Io, options: GlobalOptions, dir: string | undefined): Promise<void> {
  const home = homeDir(io.env, io.cwd);
  // Settings of a directory that is not trusted yet are not read.
  const { stateDir } = await openSettings({ ...io, cwd: home }, options);
  refuseInsideJob({ job: io.env.SIGNALBOX_JOB, machine: { stateDir } });
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

export async function init(io: Io, options: { dir?: string; yes?: boolean; json?: boolean }): Promise<void> {
  const usual = homeDir(io.env, io.cwd);
  const home = options.dir === undefined ? usual : expandPath(options.dir, io.cwd, userHome(io.env));
  const repository = repositoryOf(io.cwd);
  const project = repository === null || join(repository, '.signalbox') === home ? null : repository;
  const facts = await initFacts(io, home, project);
  const asks = !options.yes && !options.json && io.tty && io.stdin.isTTY();
  const choices = asks ? ask(io, facts) : defaultChoices(facts);
  const made = [...makeHome(home, choices), ...(project === null ? [] : makeProject(project, choices))];
  if (options.json) return outJson(io, { home, repository: project, made });
  if (asks) io.out('');
  for (const { path, did } of made) io.out(`${WORDS[did]} ${path}`);
  if (project !== null && facts.project && choices.checks) offerTrust(io, project, usual, choices.checks);
  const config = configFile(home);
  outWrapped(io, [
    '',
    ...(facts.agents.length > 0
      ? []
      : ['No coding agent was found. To try Signalbox without one: --agent rehearsal']),
    home === usual
      ? `Settings are in ${config}.`
      : `To use it: signalbox -C ${shellWord(config)} …, or set SIGNALBOX_HOME=${shellWord(home)}.`,
    'Next: signalbox doctor',
  ]);
}

/** Starts no agent, and reads no config: one that is broken is kept like any other. */
async function initFacts(io: Io, home: string, top: string | null): Promise<InitFacts> {
  const bwrap = process.platform === 'linux' ? findExecutable('bwrap', io.env) : undefined;
  const agents = Object.entries(builtInAgents(packageDir())).flatMap(([name, { command }]) =>
    name !== 'rehearsal' && findExecutable(command, io.env) ? [name] : [],
  );
  return {
    home: !existsSync(configFile(home)),
    agents,
    sandbox: bwrap !== undefined && (await sandboxWorks(bwrap, io.env)).ok,
    ...(top === null || existsSync(settingsFile(top)) ? {} : { project: await projectFacts(io, top) }),
  };
}

/** What cannot be found out, such as in a repository without commits, is taken as missing. */
async function projectFacts({ env }: Io, top: string): Promise<NonNullable<InitFacts['project']>> {
  const or = <T>(otherwise: T) => {
    return (error: unknown): T => {
      if (error instanceof SignalboxError) return otherwise;
      throw error;
    };
  };
  const checks = await checksOf(null, top).catch(or([]));
  const workspaces = createWorkspaces({ env });
  const settings = { ghCommand: 'gh' };
  const forge = await githubFindings({ workspaces, settings, env }, top, UNASKED).catch(or(null));
  return {
    checks: checks.map(({ command }) => command),
    forge: forge?.length === 0,
  };
}

/** Nothing is written before the last answer. */
function ask(io: Io, facts: InitFacts): InitChoices {
  let choices = defaultChoices(facts);
  for (const { lines, prompt, take } of initQuestions(facts)) {
    outWrapped(io, lines);
    for (let taken: InitChoices | string = ''; typeof taken === 'string'; ) {
      const answer = answerOf(io, prompt);
      if (answer === null)
        throw new InputError('usage', 'The input ended before the last answer; nothing was written.', {
          hint: 'To take the defaults: signalbox init --yes',
        });
      taken = take(answer, choices);
      if (typeof taken === 'string') io.out(taken);
      else choices = taken;
    }
  }
  return choices;
}

function offerTrust(io: Io, dir: string, home: string, commands: readonly string[]): void {
  if (isTrusted(dir, home)) return;
  outWrapped(io, [
    '',
    `${settingsFile(dir)} names commands:`,
    ...commands.map((command) => `  ${command}`),
    'Signalbox runs commands of a project only if you trust its directory.',
    'Trust also covers what the file will name later.',
  ]);
  if (confirmed(io, `Trust ${dir}?`)) io.out(`Trusted ${trust(dir, home).dir}.`);
  else
    outWrapped(
      io,
      `Not trusted. Before Signalbox runs anything there, trust it: signalbox config trust ${shellWord(dir)}`,
    );
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
    io.err('No notifications are configured. Set notify.desktop, notify.command or notify.webhook.');
}
