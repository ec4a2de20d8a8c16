import type { Commands } from './command-definition.ts';

const FOR_BOTH = {
  '--repo <path>': 'git repository',
  '-w, --workflow <name>': 'workflow',
  '-a, --agent <name>': 'agent of phases that name none',
  '--worker-labels <names>': 'on a fleet: labels that a worker must have, separated by commas',
} as const;
const FOR_TICKETS = {
  '-t, --title <text>': 'one line',
  '-d, --description <text>': 'what is to be done',
  '--description-file <file>': 'read the description from a file; - is standard input',
  '--criteria <text>': { about: 'how to tell that it is done; may be given several times', repeat: true },
  '--blocked-by <ids>': {
    about: 'tickets that must be complete first, separated by commas or given several times',
    repeat: true,
  },
  '--path <path>': {
    about: 'a file, directory or pattern that it will change; may be given several times',
    repeat: true,
  },
  '--branch <name>': 'its branch',
  '--worktree <dir>': 'its worktree',
  '--url <url>': 'link to the tracker',
  '--order <n>': 'lower starts first',
} as const;

/** Commands that make plans, and what plans are made of. */
export const PLAN_COMMANDS = {
  plan: {
    about: 'make, show, check and approve plans',
    examples: ['plan check sprint-12', 'plan approve sprint-12'],
  },
  'plan list': { about: 'list all plans' },
  'plan show <plan>': { about: 'show a plan with its tickets' },
  'plan check <plan>': {
    about: 'find everything that is wrong with a plan',
  },
  'plan approve <plan>': { about: 'make a draft active' },
  'plan archive <plan>': {
    about: 'put a plan away; nothing is deleted',
  },
  'plan delete <plan>': {
    about: 'delete a plan that has nothing unmerged',
    options: { '--force': 'also when branches are not merged; branches and uncommitted work are kept' },
  },
  'plan new <plan>': {
    about: 'make a draft plan from issues, Markdown files or a spec directory',
    args: { plan: 'id of the new plan' },
    options: {
      ...FOR_BOTH,
      '--from <what...>': 'issues, files and spec directories; without it the plan is empty',
      '--unit <kind>': 'of a spec: parent or leaf',
      '--name <text>': 'for people',
      '--base <branch>': 'branch that work starts from',
      '--worktree-root <dir>': 'where worktrees go',
      '-c, --concurrency <n>': 'maximum number of tickets at once',
    },
    json: 'print the plan and its tickets as JSON',
    examples: [
      'plan new sprint-12 --from 100 101 docs/issues/cache.md',
      'plan new limits --from .kiro/specs/rate-limits --workflow local',
    ],
  },
  'plan add <plan> <ticket>': {
    about: 'add a ticket to a plan',
    args: { ticket: 'id of the new ticket' },
    options: { ...FOR_BOTH, ...FOR_TICKETS },
    examples: [
      'plan add sprint-12 cache --title "Cache answers" --blocked-by 100',
      'plan add sprint-12 docs -t "Describe it" --criteria "in README"',
    ],
  },
  'plan edit <plan> [ticket]': {
    about: 'change a ticket that is not running, or a plan',
    args: { ticket: 'default: the plan itself' },
    options: {
      ...FOR_BOTH,
      ...FOR_TICKETS,
      '--name <text>': 'of the plan, for people',
      '--base <branch>': 'of the plan: branch that work starts from',
      '--worktree-root <dir>': 'of the plan: where worktrees go',
      '-c, --concurrency <n>': 'of the plan: maximum number of tickets at once',
    },
    notes: 'A list replaces the one before; an empty text removes a value.',
    examples: [
      'plan edit sprint-12 cache --title "Cache answers for a minute"',
      'plan edit sprint-12 cache --blocked-by ""',
      'plan edit sprint-12 --workflow local',
    ],
  },
  'plan remove <plan> <ticket>': {
    about: 'remove a ticket that has not begun from its plan',
    examples: ['plan remove sprint-12 cache'],
  },
  interactive: {
    about: 'plan with an agent in its own terminal interface',
    options: {
      '-r, --repo <path>': 'the repository to plan for (default: the one you are in)',
      '-w, --workflow <name>': 'the workflow to plan for',
      '-a, --agent <name>': 'the agent to plan with (default: the first that is installed)',
      '--dry-run': 'print what would be started, without secrets, and start nothing',
    },
    json: 'the same as JSON',
    notes: 'Agents that can plan: pi, claude, codex, opencode and gemini.',
    examples: ['interactive', 'interactive --repo ~/src/teatime --agent claude'],
  },
  'import <source...>': {
    about: 'print work items as JSON, for scripts',
    args: {
      source:
        'issues (12, owner/repo#12, ENG-12), Markdown files, a spec directory; or the word github or linear for a list',
    },
    options: {
      '--repo <owner/repo>': 'github: of this repository (default: the one you are in)',
      '--team <key>': 'linear: of this team',
      '--milestone <name>': 'only of this milestone',
      '--label <name>': { about: 'only with this label; may be given several times', repeat: true },
      '--state <state>': { about: 'only in this state (default: open)', choices: ['open', 'closed', 'all'] },
      '--limit <n>': 'maximum number of items (default: 100)',
      '--unit <kind>': { about: 'spec: what one item is', choices: ['parent', 'leaf'] },
    },
    json: 'print errors as JSON, too',
    notes:
      'Exit code 0 when everything was found, 1 when something is missing; what was found is printed in both cases.',
    examples: [
      'import 12 owner/repo#7 ENG-12 docs/issues/cache.md',
      'import github --milestone v2 --label bug',
      'import linear --team ENG --limit 20',
      'import .kiro/specs/my-feature --unit leaf',
    ],
  },
  workflow: {
    about: 'list, show, check and draw workflows',
    examples: ['workflow list', 'workflow check my-workflow.yaml'],
  },
  'workflow list': {
    about: 'list the workflows a ticket can name, and where each comes from',
    examples: ['workflow list', 'workflow list --json'],
  },
  'workflow show <name>': {
    about: 'print a workflow’s phases, prompts and scripts',
    args: { name: 'the workflow' },
    examples: ['workflow show local', 'workflow show local --json'],
  },
  'workflow check [file]': {
    about: 'find everything wrong with workflows and their prompts, before anything runs',
    args: { file: 'a workflow file or name (default: all of them)' },
    notes: 'Exits with 1 when there is a problem.',
    examples: ['workflow check', 'workflow check my-workflow.yaml'],
  },
  'workflow graph <name>': {
    about: 'draw a workflow’s phases and edges',
    args: { name: 'the workflow' },
    options: { '--mermaid': 'as a Mermaid flowchart' },
    examples: ['workflow graph local', 'workflow graph local --mermaid > local.mmd'],
  },
  skills: { about: 'skills for agents that drive Signalbox', examples: ['skills install'] },
  'skills list': { about: 'list the available skills' },
  'skills install [names...]': {
    about: 'copy skills to where agents look for them: .claude/skills and .agents/skills',
    args: { names: 'default: all of them' },
    options: {
      '--dir <path>': 'the project (default: the current directory)',
      '--user': 'for all projects: into your home directory',
      '--force': 'replace what was changed there',
    },
    examples: ['skills install', 'skills install --user'],
  },
} as const satisfies Commands;
