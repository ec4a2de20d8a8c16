import { ADAPTERS } from './builtin-agents.ts';
import type { Row } from './kinds.ts';
import { DEFAULT_STATE } from './paths.ts';
import { RUN_ROWS } from './run-table.ts';

const text = { is: 'text' } as const;
const path = { is: 'path' } as const;
const texts = { is: 'list', of: text } as const;
const inside = { is: 'list', of: { is: 'inside' } } as const;
const budget = {
  is: 'object',
  fields: {
    usd: { kind: { is: 'number', min: 0 }, about: 'Dollars.' },
    tokens: { kind: { is: 'whole', min: 0 }, about: 'Tokens in and out.' },
    seconds: { kind: { is: 'number', min: 0 }, about: 'Time that agents are at work.' },
    launches: { kind: { is: 'whole', min: 0 }, about: 'How often an agent is started.' },
  },
} as const;
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
          envAllow: {
            kind: texts,
            about: 'Variables of Signalbox’s own environment that it gets, by name or pattern (`AWS_*`).',
          },
          account: {
            kind: text,
            about: 'Agents with the same one wait for the same usage limit; default its own name.',
          },
          fallback: {
            kind: text,
            about: 'Agent that takes over phases that allow it, while this one waits for a usage limit.',
          },
          sandbox: {
            kind: { is: 'choice', of: ['none', 'bwrap'] },
            about: 'Walls around it (Linux): it may write its worktree alone, and sees little of your files.',
          },
          sandboxNetwork: {
            kind: { is: 'boolean' },
            about: 'Whether it has a network in its sandbox; default true.',
          },
          sandboxReadable: {
            kind: { is: 'list', of: path },
            about: 'Further files and directories that it may read in its sandbox.',
          },
          sandboxWritable: {
            kind: { is: 'list', of: path },
            about: 'Further files and directories that it may write in its sandbox.',
          },
          sandboxProcesses: {
            kind: { is: 'whole', min: 8 },
            about: 'Most processes in its sandbox, where the system can limit them; default 512.',
          },
        },
      },
    },
    default: {},
    runs: true,
    about:
      'Agents by name. claude, codex, opencode, pi, gemini and rehearsal need no entry; one changes only what it says.',
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
  logDir: { kind: path, default: 'logs', written: true, about: 'Logs.' },
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
    written: true,
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
      'Shell commands that must pass; null is the project’s own lint, typecheck, test and build scripts, and all tests of pytest, go and cargo.',
    example: 'checks: [npm run lint, npm test]',
  },
  'merge.pr': {
    kind: { is: 'boolean' },
    default: false,
    runs: true,
    flag: '--pr',
    about: 'Let `merge` merge pull requests on GitHub instead of branches here.',
  },
  'merge.method': {
    kind: { is: 'choice', of: ['merge', 'squash', 'rebase'] },
    default: 'merge',
    flag: '--method',
    about: 'How GitHub merges them.',
  },
  'merge.waitSeconds': {
    kind: { is: 'whole', min: 0, max: 86_400, flag: '--wait', unit: 'seconds' },
    default: 1800,
    flag: '--wait',
    about: 'How long `merge --pr` waits for checks of pull requests that still run; 0: not at all.',
  },
  'forge.cacheSeconds': {
    kind: { is: 'number', min: 0, max: 3600 },
    default: 50,
    flag: null,
    about: 'Seconds for which an answer of GitHub about pull requests serves everybody who waits.',
  },
  'forge.reserve': {
    kind: { is: 'whole', min: 0 },
    default: 500,
    flag: null,
    about: 'Points of GitHub’s hourly budget that waiting tickets leave to others.',
  },
  'forge.reviewers': {
    kind: texts,
    default: [],
    runs: true,
    decides: 'whose words are obeyed',
    flag: null,
    about:
      'Logins whose words count as feedback although they do not belong to the repository, such as bots.',
  },
  'specs.owners': {
    kind: { is: 'record', keys: 'name', of: text },
    default: {},
    about: 'Which agent does the work of which owner, for units of specs.',
    example: 'specs:\n  owners:\n    ui: gemini\n    reviewer: codex',
  },
  'specs.testFirst': {
    kind: { is: 'boolean' },
    default: true,
    about: 'Ask for tests before code in units of specs.',
  },
  'specs.skills': {
    kind: texts,
    default: [],
    about: 'Skills that an agent must look at before it begins a unit of a spec.',
  },
  'notify.bell': {
    kind: { is: 'boolean' },
    default: true,
    flag: null,
    about: 'Ring the terminal that shows a run when a person is needed.',
  },
  'notify.desktop': {
    kind: { is: 'boolean' },
    default: false,
    flag: null,
    about: 'Show it on the desktop, with notify-send or osascript.',
  },
  'notify.command': {
    kind: { is: 'maybe', of: text },
    default: null,
    runs: true,
    flag: null,
    about: 'Shell command that gets it, as JSON on standard input.',
    example: 'notify:\n  command: ~/bin/tell-me',
  },
  'notify.webhook': {
    kind: { is: 'maybe', of: { is: 'url' } },
    default: null,
    runs: true,
    flag: null,
    about: 'Address that it is posted to, in the form that Slack takes.',
  },
  'notify.on': {
    kind: { is: 'list', of: { is: 'choice', of: ['needs_attention', 'failed', 'complete'] } },
    default: ['needs_attention', 'failed', 'complete'],
    flag: null,
    about: 'What is told: tickets that need attention, tickets that failed, plans that are complete.',
  },
  'budgets.phase': {
    kind: budget,
    default: {},
    about: 'What all attempts at one agent phase of a ticket may use, for phases that name no budget.',
  },
  'budgets.ticket': {
    kind: budget,
    default: {},
    about: 'What the agents of a ticket may use, for tickets that name no budget.',
    example: 'budgets:\n  ticket: {usd: 5}\n  day: {usd: 50, launches: 200}',
  },
  'budgets.plan': {
    kind: budget,
    default: {},
    about: 'What the agents of a plan may use, for plans that name no budget.',
  },
  'budgets.day': {
    kind: budget,
    default: {},
    about: 'What all agents may use in a day (UTC); work goes on the next day.',
  },
  'budgets.unknown': {
    kind: { is: 'choice', of: ['allow', 'block'] },
    default: 'allow',
    about: 'Whether work goes on when an agent did not tell what it used of something that is limited.',
  },
  'memory.agentMegabytes': {
    kind: { is: 'whole', min: 0 },
    default: 500,
    about: 'Memory that must be free for one more agent, until its own size is known; 0 turns the check off.',
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
