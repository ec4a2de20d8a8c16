import { ADAPTERS } from './builtin-agents.ts';
import type { Kind } from './kinds.ts';
import { DEFAULT_STATE } from './paths.ts';
import { RUN_ROWS } from './run-table.ts';

export interface Row {
  kind: Kind;
  /** A relative path is relative to the directory the config file's data goes to. */
  default: unknown;
  about: string;
  /** Names what will be executed or obeyed: a file of a repository may set it only when that is trusted. */
  runs?: true;
  /** Where the flag is not simply the key in kebab-case; null where no command has one. */
  flag?: string | null;
  /** The flag's short form. */
  letter?: string;
  /** What the help says of the flag, where `about` does not fit: of a switch that is on, what happens without it. */
  help?: string;
  /** Of settings of runs: the option's name, where it is not the key's. */
  option?: string;
  /** YAML, for docs and the file that `init` writes. */
  example?: string;
}

const text = { is: 'text' } as const;
const path = { is: 'path' } as const;
const texts = { is: 'list', of: text } as const;
const inside = { is: 'list', of: { is: 'inside' } } as const;
const variables = { is: 'record', keys: 'variable', of: text } as const;
/** Timers cannot count further than 24 days. */
const seconds = { is: 'number', above: 0, max: 2_000_000 } as const;

/** Every setting, once. Validation, types, variables, flags, JSON Schema and docs are made from these rows. */
export const TABLE = {
  defaultAgent: {
    kind: text,
    default: 'claude',
    flag: '--agent',
    about: 'Agent of tickets and phases that name none.',
  },
  defaultWorkflow: {
    kind: text,
    default: 'local',
    flag: '--workflow',
    about: 'Workflow of tickets and plans that name none.',
  },
  agents: {
    kind: {
      is: 'record',
      keys: 'name',
      of: {
        is: 'object',
        fields: {
          adapter: {
            kind: { is: 'choice', of: ADAPTERS },
            about: 'How to talk to the command; guessed from its name, else custom.',
          },
          command: { kind: { is: 'command' }, about: 'The executable.' },
          defaultArgs: { kind: texts, about: 'Arguments of every call.' },
          env: { kind: variables, about: 'Variables of every call.' },
          model: { kind: text, about: 'Model of phases that name none.' },
        },
      },
    },
    default: {},
    runs: true,
    about: 'Agents by name. claude, codex and rehearsal need no entry; one changes only what it says.',
    example:
      'agents:\n  claude:\n    model: opus\n  mine:\n    command: ~/bin/my-agent\n    defaultArgs: [--quiet]',
  },
  pollInterval: {
    kind: seconds,
    default: 10,
    about: 'Seconds between two looks of a poll phase that names none.',
  },
  maxConcurrency: {
    kind: { is: 'whole', min: 1 },
    default: 3,
    flag: '--concurrency',
    about: 'Most tickets that run at once on this machine.',
  },
  ghCommand: { kind: { is: 'command' }, default: 'gh', runs: true, about: 'The GitHub CLI.' },
  repos: {
    kind: { is: 'record', keys: 'repository', of: path },
    default: {},
    runs: true,
    about: 'Where repositories lie here, by name: issues of other repositories are run there.',
    example: 'repos:\n  acme/api: ~/code/api',
  },
  mcpServers: {
    kind: {
      is: 'record',
      keys: 'name',
      of: {
        is: 'object',
        fields: {
          command: { kind: { is: 'command' }, about: 'The executable.' },
          args: { kind: texts, about: 'Its arguments.' },
          env: { kind: variables, about: 'Its variables.' },
        },
      },
    },
    default: {},
    runs: true,
    about: 'MCP servers for planning sessions, by name.',
    example: 'mcpServers:\n  tracker:\n    command: npx\n    args: [-y, tracker-mcp]',
  },
  stateDir: { kind: path, default: DEFAULT_STATE, about: 'Plans, tickets and jobs.' },
  logDir: { kind: path, default: 'logs', about: 'Logs.' },
  workflowDir: {
    kind: path,
    default: 'workflows',
    runs: true,
    about: 'Your workflows; they go before the bundled ones.',
  },
  promptDir: {
    kind: path,
    default: 'prompts',
    runs: true,
    about: 'Your prompts; they go before the bundled ones.',
  },
  scriptDir: {
    kind: path,
    default: 'scripts',
    runs: true,
    about: 'Your scripts; they go before the bundled ones.',
  },
  skillsDir: {
    kind: path,
    default: 'skills',
    runs: true,
    about: 'Your skills; they go before the bundled ones.',
  },
  worktreeRoot: {
    kind: { is: 'maybe', of: path },
    default: null,
    about: 'Where worktrees go when the plan does not say; null is ../worktrees beside the repository.',
  },
  'hooks.afterCreate': {
    kind: texts,
    default: [],
    runs: true,
    about: 'Shell commands that run in every new worktree, in order.',
    example: 'hooks:\n  afterCreate: [npm ci]',
  },
  copy: {
    kind: inside,
    default: [],
    about: 'Untracked files to copy from the repository into a new worktree, by pattern.',
    example: 'copy: [.env, ".env.*"]',
  },
  caches: {
    kind: inside,
    default: ['node_modules', '.venv', 'target', 'vendor/bundle', '.gradle'],
    about: 'Directories that stay warm when a worktree is used again.',
  },
  slots: {
    kind: { is: 'whole', min: 0 },
    default: 4,
    about: 'Most warm worktrees kept per repository; 0 turns them off.',
  },
  checks: {
    kind: { is: 'maybe', of: texts },
    default: null,
    runs: true,
    about:
      'Shell commands that must pass; null is the project’s own lint, typecheck, test and build scripts.',
    example: 'checks: [npm run lint, npm test]',
  },
  'retention.days': {
    kind: { is: 'number', min: 0 },
    default: 30,
    about: 'Attempt output older than this is deleted.',
  },
  'retention.gigabytes': {
    kind: { is: 'number', min: 0 },
    default: 2,
    about: 'Attempt output above this is deleted, oldest first.',
  },
  'timeouts.agentSeconds': { kind: seconds, default: 3600, about: 'Wall-clock limit of one agent attempt.' },
  'timeouts.agentIdleSeconds': {
    kind: seconds,
    default: 900,
    about: 'An agent that prints nothing for this long is stopped.',
  },
  'timeouts.scriptSeconds': {
    kind: seconds,
    default: 1800,
    about: 'Wall-clock limit of one script attempt.',
  },
  'timeouts.pollSeconds': {
    kind: { is: 'number', above: 0, max: 31_536_000 },
    default: 86_400,
    about: 'Longest wait of a poll phase in all.',
  },
  'timeouts.pollCheckSeconds': {
    kind: seconds,
    default: 120,
    about: 'Wall-clock limit of one look of a poll phase.',
  },
  ...RUN_ROWS,
} as const satisfies Record<string, Row>;

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
