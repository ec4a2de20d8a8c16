import type { AgentConfig } from '../model/agent-and-adapter-types.ts';
import { DEFAULT_STATE } from './find-config-and-state.ts';
import { RUN_ROWS } from './run-settings-table.ts';
import type { Row, ValueOf } from './value-kinds.ts';
import {
  boolean,
  choice,
  command,
  field,
  inside,
  list,
  maybe,
  number,
  object,
  path,
  record,
  row,
  text,
  whole,
} from './value-kinds.ts';

/** Adapters an `agents` entry may name; `custom` calls any command. */
export const ADAPTERS = ['claude', 'codex', 'opencode', 'pi', 'gemini', 'rehearsal', 'custom'] as const;

const texts = list(text);
const budget = object({
  usd: field(number({ min: 0 }), 'Dollars.'),
  tokens: field(whole({ min: 0 }), 'Tokens in and out.'),
  seconds: field(number({ min: 0 }), 'Time that agents are at work.'),
  launches: field(whole({ min: 0 }), 'How often an agent is started.'),
});
const variables = record('variable', text);
/** Timers cannot count further than 24 days. */
const seconds = number({ above: 0, max: 2_000_000 });

/** Every setting, once. Validation, types, variables, flags, JSON Schema and docs are made from these rows. */
export const TABLE = {
  defaultAgent: row(text, 'claude', 'Agent of tickets and phases that name none.', { flag: '--agent' }),
  defaultWorkflow: row(text, 'local', 'Workflow of tickets and plans that name none.', {
    flag: '--workflow',
  }),
  agents: row(
    record(
      'name',
      object({
        adapter: field(choice(ADAPTERS), 'How to talk to the command; guessed from its name, else custom.'),
        command: field(command, 'The executable.'),
        defaultArgs: field(texts, 'Arguments of every call.'),
        env: field(variables, 'Variables of every call.'),
        model: field(text, 'Model of phases that name none.'),
        envAllow: field(
          texts,
          'Variables of Signalbox’s own environment that it gets, by name or pattern (`AWS_*`).',
        ),
        account: field(
          text,
          'Agents with the same account wait for the same usage limit; default: the agent’s name.',
        ),
        fallback: field(
          text,
          'Agent that takes over phases that allow it, while this one waits for a usage limit.',
        ),
        sandbox: field(
          choice(['none', 'bwrap']),
          'Sandbox (Linux): the agent may write only its worktree, and sees few of your files.',
        ),
        sandboxNetwork: field(boolean, 'Whether it has a network in its sandbox; default true.'),
        sandboxReadable: field(
          list(path),
          'Additional files and directories that it may read in its sandbox.',
        ),
        sandboxWritable: field(
          list(path),
          'Additional files and directories that it may write in its sandbox.',
        ),
        sandboxProcesses: field(
          whole({ min: 8 }),
          'Maximum number of processes in its sandbox, if the system can limit them; default 512.',
        ),
      }),
    ),
    {},
    'Agents by name. claude, codex, opencode, pi, gemini and rehearsal need no entry; an entry changes only the fields that it has.',
    { runs: true },
  ),
  pollInterval: row(seconds, 10, 'Default polling interval in seconds.'),
  maxConcurrency: row(whole({ min: 1 }), 3, 'Maximum number of tickets that run at once on this machine.', {
    flag: '--concurrency',
  }),
  maxPerRepository: row(
    maybe(whole({ min: 1 })),
    null,
    'Maximum number of tickets of one repository that run at once, on all machines together; null: no limit.',
  ),
  'fleet.maxConcurrency': row(
    maybe(whole({ min: 1 })),
    null,
    'Maximum number of tickets that run at once on all machines of a fleet; null: no limit.',
  ),
  'fleet.leaseSeconds': row(
    whole({ min: 10 }),
    60,
    'How long a silent process of a fleet counts as alive. Use the same value on all machines.',
  ),
  'fleet.merge': row(
    boolean,
    false,
    'The daemon of a fleet merges finished work like `signalbox merge --all`, in the clones of its machine.',
    { runs: true },
  ),
  ghCommand: row(command, 'gh', 'The GitHub CLI.', { runs: true }),
  repos: row(
    record('repository', path),
    {},
    'Local checkouts of repositories: for running issues of others, and on a fleet for plans that name a repository by name or address.',
    { runs: true },
  ),
  mcpServers: row(
    record(
      'name',
      object({
        command: field(command, 'The executable.'),
        args: field(texts, 'Its arguments.'),
        env: field(variables, 'Its variables.'),
      }),
    ),
    {},
    'MCP servers for planning sessions, by name.',
    { runs: true },
  ),
  stateDir: row(path, DEFAULT_STATE, 'Plans, tickets and jobs.'),
  logDir: row(path, 'logs', 'Logs.', { written: true }),
  workflowDir: row(path, 'workflows', 'Your workflows; they override bundled ones of the same name.', {
    runs: true,
  }),
  promptDir: row(path, 'prompts', 'Your prompts; they override bundled ones of the same name.', {
    runs: true,
  }),
  scriptDir: row(path, 'scripts', 'Your scripts; they override bundled ones of the same name.', {
    runs: true,
  }),
  skillsDir: row(path, 'skills', 'Your skills; they override bundled ones of the same name.', { runs: true }),
  worktreeRoot: row(
    maybe(path),
    null,
    'Where worktrees go if the plan names no directory; null is ../worktrees beside the repository.',
    { written: true },
  ),
  'hooks.afterCreate': row(texts, [], 'Shell commands that run in every new worktree, in order.', {
    runs: true,
  }),
  copy: row(list(inside), [], 'Untracked files to copy from the repository into a new worktree, by pattern.'),
  caches: row(
    list(inside),
    ['node_modules', '.venv', 'target', 'vendor/bundle', '.gradle'],
    'Ignored directories that a reused worktree keeps.',
  ),
  slots: row(whole({ min: 0 }), 4, 'Maximum number of warm worktrees per repository; 0 turns them off.'),
  checks: row(
    maybe(texts),
    null,
    'Shell commands that must pass; null is the project’s own lint, typecheck, test and build scripts, and all tests of pytest, go and cargo.',
    { runs: true },
  ),
  baseCheck: row(
    choice(['warn', 'require', 'off']),
    'warn',
    'Whether the checks run once on every commit that work starts from: failures are a warning, or refuse the start.',
  ),
  'merge.pr': row(boolean, false, 'Let `merge` merge pull requests on GitHub instead of branches here.', {
    runs: true,
    flag: '--pr',
  }),
  'merge.method': row(choice(['merge', 'squash', 'rebase']), 'merge', 'How GitHub merges pull requests.', {
    flag: '--method',
  }),
  'merge.waitSeconds': row(
    whole({ min: 0, max: 86_400, flag: '--wait', unit: 'seconds' }),
    1800,
    'How long `merge --pr` waits for checks of pull requests that still run; 0: not at all.',
    { flag: '--wait' },
  ),
  'forge.cacheSeconds': row(
    number({ min: 0, max: 3600 }),
    50,
    'How long, in seconds, an answer of GitHub about pull requests is reused for all tickets that wait.',
  ),
  'forge.reserve': row(
    whole({ min: 0 }),
    500,
    'Points of GitHub’s hourly budget that waiting tickets leave to others.',
  ),
  'forge.reviewers': row(
    texts,
    [],
    'Logins whose comments count as feedback although they are not collaborators, such as bots.',
    { runs: true, decides: 'whose words are obeyed' },
  ),
  'specs.owners': row(
    record('name', text),
    {},
    'Which agent does the work of which owner, for units of specs.',
  ),
  'specs.testFirst': row(boolean, true, 'Ask for tests before code in units of specs.'),
  'specs.skills': row(texts, [], 'Skills that an agent must read before it begins a unit of a spec.'),
  'notify.bell': row(boolean, true, 'Ring the terminal that shows a run when a person is needed.'),
  'notify.desktop': row(boolean, false, 'Show notifications on the desktop, with notify-send or osascript.'),
  'notify.command': row(
    maybe(text),
    null,
    'Shell command that gets each notification, as JSON on standard input.',
    { runs: true },
  ),
  'notify.webhook': row(
    maybe({ is: 'url' }),
    null,
    'Address that notifications are posted to, in the format of Slack.',
    { runs: true },
  ),
  'notify.on': row(
    list(choice(['needs_attention', 'failed', 'complete'])),
    ['needs_attention', 'failed', 'complete'],
    'What to notify about: tickets that need attention, tickets that failed, plans that are complete.',
  ),
  'web.publicUrl': row(
    maybe({ is: 'origin' }),
    null,
    'Address of the page of `signalbox web` behind a reverse proxy or VPN. Notifications link to it.',
    { runs: true },
  ),
  'web.linkInPullRequests': row(
    boolean,
    false,
    'Whether texts of pull requests link to the page at `web.publicUrl`.',
    { runs: true },
  ),
  'budgets.phase': row(
    budget,
    {},
    'What all attempts at one agent phase of a ticket may use, for phases that name no budget.',
  ),
  'budgets.ticket': row(budget, {}, 'What the agents of a ticket may use, for tickets that name no budget.'),
  'budgets.plan': row(budget, {}, 'What the agents of a plan may use, for plans that name no budget.'),
  'budgets.day': row(budget, {}, 'What all agents may use in a day (UTC); work continues the next day.'),
  'budgets.unknown': row(
    choice(['allow', 'block']),
    'allow',
    'Whether work continues if an agent did not report its usage of something that is limited.',
  ),
  'limits.sameToolCalls': row(
    whole({ min: 0 }),
    30,
    'An agent that calls a tool this often in a row with the same input and result, while the worktree stays as it is, is stopped; 0 turns the check off.',
  ),
  'memory.agentMegabytes': row(
    whole({ min: 0 }),
    500,
    'Memory that must be free for one more agent, until its own size is known; 0 turns the check off.',
  ),
  'storage.waitSeconds': row(
    number({ min: 0, max: 86_400 }),
    600,
    'How long an engine waits for a state directory that cannot be written, before it ends with exit code 4.',
  ),
  'retention.days': row(number({ min: 0 }), 30, 'Attempt output older than this is deleted.'),
  'retention.gigabytes': row(number({ min: 0 }), 2, 'Attempt output above this is deleted, oldest first.'),
  'timeouts.agentSeconds': row(seconds, 3600, 'Wall-clock limit of one agent attempt.'),
  'timeouts.agentIdleSeconds': row(seconds, 900, 'An agent that prints nothing for this long is stopped.'),
  'timeouts.scriptSeconds': row(seconds, 1800, 'Wall-clock limit of one script attempt.'),
  'timeouts.pollSeconds': row(
    number({ above: 0, max: 31_536_000 }),
    86_400,
    'Longest total wait of a poll phase.',
  ),
  'timeouts.pollCheckSeconds': row(seconds, 120, 'Wall-clock limit of one check of a poll phase.'),
  ...RUN_ROWS,
} satisfies Record<string, Row>;

export type Key = keyof typeof TABLE;
export const ROWS: readonly (Row & { key: Key })[] = Object.entries<Row>(TABLE).map(([key, row]) => ({
  key: key as Key,
  ...row,
}));

/** `timeouts.agentSeconds` → `SIGNALBOX_TIMEOUTS_AGENT_SECONDS`; `run.` is left out: `SIGNALBOX_CONCURRENCY`. */
export function variableOf(key: string): string {
  return `SIGNALBOX_${words(key).join('_').toUpperCase()}`;
}

export function flagOf(row: Row & { key: Key }): string {
  return row.flag ?? `--${words(row.key).join('-').toLowerCase()}`;
}

function words(key: string): string[] {
  const parts = key.replace(/^run\./, '').split('.');
  return parts.flatMap((part) => part.split(/(?<=[a-z])(?=[A-Z])/));
}

type Value<K extends Key> = ValueOf<(typeof TABLE)[K]['kind']>;
/** The names right below a prefix: of `run.`, `concurrency` and `rotation` among others. */
type Child<P extends string, K = Key> = K extends `${P}${infer Rest}`
  ? Rest extends `${infer Head}.${string}`
    ? Head
    : Rest
  : never;
/** Dotted keys as nested values. */
type Tree<P extends string> = {
  [N in Child<P>]: `${P}${N}` extends Key ? Value<`${P}${N}`> : Tree<`${P}${N}.`>;
};

export interface McpServer {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** What a flag may set: any row, by key; text is read as the row wants it. */
export type Flags = { [K in Key]?: unknown };

export type RunSettings = Tree<'run.'>;

export interface Settings extends Omit<Tree<''>, 'agents' | 'mcpServers'> {
  agents: Record<string, AgentConfig>;
  mcpServers: Record<string, McpServer>;
  /** By key (and `agents.<name>`): `default`, `<file>:<line>`, a variable, or a flag. */
  origin: Record<string, string>;
  configFile: string | null;
  /** A repository's own config file that is not trusted yet: its state can be shown, but not run. */
  untrusted: string | null;
  home: string;
  /** The directory that `~` means. */
  userHome: string;
  /** The directory of the package with its bundled content. */
  packageDir: string;
  /** Directories in search order: the user's own, then the bundled ones. */
  searchPath: { workflows: string[]; prompts: string[]; scripts: string[]; skills: string[] };
}
