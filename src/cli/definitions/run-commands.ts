import { runFlags } from '../../config/run-flags.ts';
import { type Commands, TICKET_OF_PHASE } from './command-definition.ts';

const PLAIN = { '--plain': 'one line per event, also on a terminal' };
const BASE_CHECK = { '--no-base-check': 'do not run the checks on the base before work starts' };
const VERBOSE = { '-v, --verbose': 'show what agents say and do' };
const EVENTS = 'print events, then the result, as JSON lines';
const SELECTED_TASKS = {
  '--include-optional': 'include optional tasks',
  '--only <ids>': 'only these tasks, separated by commas',
  '--from <id>': 'this task and all after it',
  '--skip <ids>': 'all tasks but these, separated by commas',
};

/** Commands that run work. */
export const RUN_COMMANDS = {
  'run [what...]': {
    about: 'run issues, tasks or a plan until done',
    args: { what: 'a plan and some of its tickets, or issues: numbers, #12, URLs, ENG-12, Markdown files' },
    options: {
      '--plan <id>': 'run this plan; the arguments are its tickets',
      ...BASE_CHECK,
      ...PLAIN,
      ...Object.fromEntries(runFlags().map(({ flags, ...flag }) => [flags, flag])),
    },
    json: EVENTS,
    notes: `Blocks until nothing moves by itself any more: polls and usage limits are waited for.
Exit code 0 when everything is complete, 1 when not, 130 after Ctrl-C.`,
    examples: [
      'run --task "Fix the typo in README"',
      'run 100 101 102',
      'run 100 101 102 --chain --qa-gate',
      'run docs/issues/cache.md --agent rehearsal   # no key, no network',
      'run sprint-12 PROJ-101 --verbose             # one of its tickets',
    ],
  },
  'spec [dir]': {
    about: 'run a Kiro spec’s tasks one unit at a time, until done',
    args: { dir: 'the spec directory' },
    options: {
      '--spec <dir>': 'the same as the argument',
      '--backend <agent>': 'agent that does the work, unless an owner has another',
      '--assign-backend <agent>': 'agent that decides who owns a unit (default: the backend)',
      '--assign <how>': 'decide for each unit when its turn comes, or for all at once (default: each)',
      '--delay <seconds>': 'pause between units, approximately (default: 15)',
      '--max-iterations <n>': 'maximum number of units that this run starts (default: 50)',
      '--max-attempts <n>': 'maximum number of attempts at one unit (default: 3)',
      '--timeout <seconds>': 'longest time of one attempt (default: timeouts.agentSeconds if set, else 7200)',
      '--on-failure <what>': 'after a unit has failed for good: stop, or continue with independent units',
      '--unit <kind>': 'what one agent gets at a time: parent or leaf',
      ...SELECTED_TASKS,
      '--workdir <path>': 'the repository (default: the one that the spec is in)',
      '--base <branch>': 'branch that the work starts from',
      '--in-place': 'work in the checkout on its current branch; refused if there are uncommitted changes',
      '--fresh': 'start over, on a new branch',
      '--tmux-session <name>': 'name of the tmux session (default: sequential-<spec>)',
      '--no-tmux': 'open no windows',
      '--detach': 'return at once; a daemon continues the run',
      '--dry-run': 'show what would be done and do nothing',
      ...BASE_CHECK,
      ...VERBOSE,
      ...PLAIN,
    },
    json: EVENTS,
    notes: `Blocks until all units are complete and asks nothing in between. Calling it again continues the run.
Exit code 0 when all is complete, 1 when --max-iterations was reached, 2 when a person is needed, 3 or more when the
spec could not be run, 130 after Ctrl-C.`,
    examples: [
      'spec .kiro/specs/my-feature',
      'spec .kiro/specs/my-feature --delay 60 --backend codex --detach',
      'spec .kiro/specs/my-feature --only 2,3.1 --dry-run',
      'spec check .kiro/specs/my-feature',
    ],
  },
  'spec tick [plan] [ticket]': {
    about: 'tick the boxes of a unit that is done, and commit that',
    args: TICKET_OF_PHASE,
    examples: ['spec tick spec-my-feature 2.1'],
  },
  'spec check <dir>': {
    about: 'print a spec’s tasks, units, order and dependencies, and find problems before anything runs',
    args: { dir: 'the spec directory' },
    options: {
      '--unit <kind>': 'what one agent gets at a time: parent or leaf (default: parent)',
      ...SELECTED_TASKS,
    },
    notes: 'Exits with 5 when there is an error; warnings alone are 0.',
    examples: [
      'spec check .kiro/specs/my-feature',
      'spec check .kiro/specs/my-feature --unit leaf --from 2.1',
    ],
  },
  daemon: {
    about: 'run all active plans until stopped',
    options: {
      '-c, --concurrency <n>': 'maximum number of tickets at once',
      '-a, --agent <name>': 'agent of tickets and plans that name none',
      ...VERBOSE,
      '--detach': 'run in the background',
      '--web': 'serve the page of `signalbox web`, too, in a process of its own',
      ...PLAIN,
    },
    json: 'print events as JSON lines',
    notes: `One daemon per state directory. It starts work as soon as a file changes.
Ctrl-C stops the agents; their tickets continue, in the same sessions, at the next start.`,
    examples: ['daemon --concurrency 4', 'daemon --detach', 'daemon --web', 'daemon status', 'daemon stop'],
  },
  'daemon status': {
    about: 'show whether a daemon is running',
    notes: 'Exits with 1 when none is running.',
  },
  'daemon stop': { about: 'stop the daemon and its agents' },
  tick: {
    about: 'start what can start now, wait for it, and exit',
    options: { ...VERBOSE, ...PLAIN },
    json: 'print events as JSON lines',
  },
  'merge [plan] [ticket]': {
    about: 'merge complete tickets that pass the checks together',
    args: { plan: '@last is the latest; with --dry-run the default is all of this repository' },
    options: {
      '--all': 'all plans of this repository',
      '--dry-run': 'show order and predicted conflicts and change nothing',
      '--pr': 'merge their pull requests on GitHub instead, also of tickets that only wait for it',
      '--method <name>': 'how GitHub merges them: merge, squash or rebase',
      '--wait <seconds>': 'how long --pr waits for checks that still run on GitHub (default: 1800)',
    },
    notes: `Branches are merged one on top of the other and the project’s checks run on the result, in a separate worktree; no
checkout is touched. Without a name it lists what can be merged. When the checks fail, the first branch that breaks them goes back to its ticket with the log.
Exits with 1 when a ticket was sent back or left out, and with --dry-run when a conflict is expected.`,
    examples: [
      'merge @last',
      'merge sprint-12 --dry-run',
      'merge sprint-12 --pr --method squash',
      'merge --all',
    ],
  },
} as const satisfies Commands;
