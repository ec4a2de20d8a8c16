import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { unlessCode } from '../machine/files/read-and-remove-files.ts';
import { InputError } from '../model/errors.ts';
import { packageDir, readConfigText } from './find-config-and-state.ts';
import { detectManifest } from './read-or-detect-project-manifest.ts';

/** What `init` found. It decides what is asked. */
export interface InitFacts {
  /** Whether the config file of the home is still to be written. */
  home: boolean;
  /** Names of the installed agents; the first is the default. */
  agents: readonly string[];
  /** Whether bubblewrap works here. */
  sandbox: boolean;
  /** Missing outside of a repository, and in one that has settings already. */
  project?: {
    /** Commands that are found in the project if no setting names them. */
    checks: readonly string[];
    /** Whether pull requests can be opened: origin is on GitHub, and gh is logged in. */
    forge: boolean;
  };
}

export interface InitChoices {
  agent: string;
  sandbox: boolean;
  /** Null: those that are found in the project at each run. */
  checks: readonly string[] | null;
  /** Null: as runs do it without a setting. */
  finish: 'pull request' | 'merge' | 'branch' | null;
}

/** The default of `defaultAgent`. */
const DEFAULT_AGENT = 'claude';

/** What `--yes` chooses, and Enter. */
export function defaultChoices({ agents, project }: InitFacts): InitChoices {
  return {
    agent: agents[0] ?? DEFAULT_AGENT,
    sandbox: false,
    checks: null,
    finish: project?.forge ? 'pull request' : null,
  };
}

export interface Question {
  /** Printed above the prompt. */
  lines: string[];
  prompt: string;
  /** The choices with this answer in them, or why it is none. An empty answer is the default. */
  take(answer: string, choices: InitChoices): InitChoices | string;
}

export function initQuestions(facts: InitFacts): Question[] {
  const { home, agents, sandbox, project } = facts;
  const { agent } = defaultChoices(facts);
  return [
    ...(home && agents.length > 1 ? [agentQuestion(agents, agent)] : []),
    ...(home && sandbox && agents.length > 0 ? [sandboxQuestion()] : []),
    ...(project ? [checksQuestion(project.checks), finishQuestion(project.forge)] : []),
  ];
}

function agentQuestion(agents: readonly string[], preset: string): Question {
  return {
    lines: ['', 'Agents installed here:', ...numbered(agents)],
    prompt: `Which one is your default? [${preset}]`,
    take(answer, choices) {
      const agent = answer === '' ? preset : (agents[Number(answer) - 1] ?? answer.toLowerCase());
      return agents.includes(agent) ? { ...choices, agent } : `Type one of: ${agents.join(', ')}.`;
    },
  };
}

function sandboxQuestion(): Question {
  return {
    lines: [
      '',
      'In the sandbox an agent may write only its worktree, and sees few of your files.',
      'Tools that write elsewhere, such as to a cache in your home, fail there.',
    ],
    prompt: 'Run the agent in the sandbox? [y/N]',
    take(answer, choices) {
      if (!/^(y|yes|n|no|)$/i.test(answer)) return 'Type y or n.';
      return { ...choices, sandbox: /^y/i.test(answer) };
    },
  };
}

function checksQuestion(found: readonly string[]): Question {
  return {
    lines: [
      '',
      'Checks are commands that must pass before work is done.',
      found.length > 0 ? `Found in this project: ${found.join(', ')}` : 'None were found in this project.',
    ],
    prompt: `Enter ${found.length > 0 ? 'uses what is found' : 'runs none'}; or type your own, separated by commas:`,
    take(answer, choices) {
      // A comma between quotes belongs to its command.
      const commands = answer.match(/(?:"[^"]*"|'[^']*'|[^,])+/g) ?? [];
      const checks = commands.flatMap((command) => command.trim() || []);
      return { ...choices, checks: checks.length > 0 ? checks : null };
    },
  };
}

const FINISHES = ['pull request', 'merge', 'branch'] as const;

function finishQuestion(forge: boolean): Question {
  const preset = forge ? 'pull request' : 'branch';
  return {
    lines: [
      '',
      'When work is done:',
      ...numbered([
        `open a pull request${forge ? '' : ' (needs origin on GitHub, and gh with a login)'}`,
        'merge it into the base branch on this machine',
        'leave it on its branch (the workflow of a plan may merge it)',
      ]),
    ],
    prompt: `What should happen? [${FINISHES.indexOf(preset) + 1}]`,
    take(answer, choices) {
      const finish = answer === '' ? preset : FINISHES[Number(answer) - 1];
      return finish ? { ...choices, finish } : 'Type 1, 2 or 3.';
    },
  };
}

function numbered(lines: readonly string[]): string[] {
  return lines.map((line, index) => `  ${index + 1}  ${line}`);
}

/** The config file of a home: what was chosen, and the settings that most people change, commented out. */
export function configText({ agent, sandbox }: InitChoices): string {
  const isDefault = agent === DEFAULT_AGENT;
  return `# yaml-language-server: $schema=schemas/config.schema.json
# Your settings of Signalbox; those of a project are in its .signalbox/settings.json.
# A line that is commented out changes nothing. Paths are relative to this file.
# "signalbox config" prints every setting, its value and where that comes from.
version: 1

# Agent of tickets and phases that name none.
${isDefault ? '#' : ''}defaultAgent: ${agent}

# In the sandbox (Linux, bubblewrap) an agent may write only its worktree.
${['agents:', `  ${agent}:`, '    sandbox: bwrap'].map((line) => `${sandbox ? '' : '#'}${line}`).join('\n')}

# Maximum number of tickets that run at once on this machine.
#maxConcurrency: 3

# What agents may use; for an agent that reports no cost, limit tokens instead.
#budgets:
#  ticket: {usd: 5}
#  day: {usd: 50}

# How you are notified when a person is needed.
#notify:
#  desktop: true

# Untracked files that every new worktree gets.
#copy: [.env]
`;
}

/** The settings of a project, without those that are not chosen. */
export function projectSettings({ checks, finish }: Pick<InitChoices, 'checks' | 'finish'>): object {
  return {
    $schema: `./${PROJECT_SCHEMA}`,
    version: 1,
    ...(checks ? { checks } : {}),
    ...(finish === 'pull request' ? { defaultWorkflow: 'standard', run: { pr: true } } : {}),
    ...(finish === 'branch' ? { run: { pr: false } } : {}),
    ...(finish === 'merge' ? { defaultWorkflow: 'local', run: { pr: false, integrate: true } } : {}),
  };
}

/** What was done, path by path: `kept` existed before and is unchanged. */
export interface Made {
  path: string;
  did: 'made' | 'kept' | 'extended';
}

const HOME_DIRECTORIES = ['state', 'logs', 'workflows', 'prompts', 'scripts'];
/** Exported logs, and the state of a run with ./signalbox.yaml: neither belongs into history. */
const IGNORED = ['logs/', 'state/'];

/** Others of the project may have no Signalbox, or another version of it, so that the schema is a copy. */
const PROJECT_SCHEMA = 'settings.schema.json';

export const configFile = (home: string) => join(home, 'config.yaml');
export const settingsFile = (top: string) => join(top, '.signalbox', 'settings.json');

/** Creates what is missing of a home and changes nothing else. */
export function makeHome(home: string, choices: InitChoices): Made[] {
  return [
    directory(home, 0o700),
    file(configFile(home), configText(choices)),
    ...HOME_DIRECTORIES.map((name) => directory(join(home, name))),
    schemasLink(join(home, 'schemas')),
  ];
}

/** Creates what is missing of a repository's own `.signalbox/`. */
export function makeProject(top: string, choices: Pick<InitChoices, 'checks' | 'finish'>): Made[] {
  const dir = join(top, '.signalbox');
  const schema = readFileSync(join(packageDir(), 'schemas', 'config.schema.json'), 'utf8');
  return [
    directory(dir),
    file(settingsFile(top), json(projectSettings(choices))),
    file(join(dir, PROJECT_SCHEMA), schema),
    file(join(dir, 'manifest.json'), json(detectManifest(top))),
    ignoreRules(join(dir, '.gitignore')),
  ];
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function directory(path: string, mode = 0o755): Made {
  return attempt(path, () => {
    if (isDirectory(path)) return 'kept';
    makeAll(path, mode);
    return 'made';
  });
}

/** One by one: making several at once, Node takes a read-only file system for a missing directory. */
function makeAll(path: string, mode: number): void {
  if (!existsSync(dirname(path))) makeAll(dirname(path), mode);
  mkdirSync(path, { mode });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function file(path: string, text: string): Made {
  const write = () => {
    writeFileSync(path, text, { flag: 'wx' });
    return 'made' as const;
  };
  return attempt(path, () => unlessCode(['EEXIST'], write) ?? 'kept');
}

/** For editors: always the schemas of the installed version. A link that leads nowhere is of a version that was removed. */
function schemasLink(path: string): Made {
  return attempt(path, () => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found && (existsSync(path) || !found.isSymbolicLink())) return 'kept';
    if (found) unlinkSync(path);
    symlinkSync(join(packageDir(), 'schemas'), path);
    return 'made';
  });
}

/** A person's own rules stay; only missing ones are added below them. */
function ignoreRules(path: string): Made {
  const before = readConfigText(path);
  if (before === undefined) return file(path, `${IGNORED.join('\n')}\n`);
  const present = new Set(before.split(/\r?\n/).map((line) => line.trim().replace(/^\//, '')));
  const missing = IGNORED.filter((rule) => !present.has(rule));
  return attempt(path, () => {
    if (missing.length === 0) return 'kept';
    appendFileSync(path, `${before === '' || before.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`);
    return 'extended';
  });
}

function attempt(path: string, make: () => Made['did']): Made {
  try {
    return { path, did: make() };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new InputError('init/failed', `Cannot create ${path} (${code}).`, {
      hint:
        code === 'EEXIST' || code === 'ENOTDIR'
          ? 'A file is where a directory should be; move it away or choose another place with --dir.'
          : code === 'EROFS'
            ? 'It is on a read-only file system; choose another place with --dir or SIGNALBOX_HOME.'
            : 'Choose another place with --dir or SIGNALBOX_HOME.',
      details: { path },
      cause: error,
    });
  }
}
