import { PULL_WAITS } from '../../model/actions.ts';
import { type CommandDefinition, type Commands, TICKET_OF_PHASE } from './command-definition.ts';

/** A step of workflows on GitHub. */
const github = <const D extends CommandDefinition>(more: D) => ({ args: TICKET_OF_PHASE, ...more });

/** Commands for the computer and the project, and the steps of workflows. */
export const PROJECT_COMMANDS = {
  init: {
    about: 'create the home and, in a repository, .signalbox',
    notes:
      'Asks on a terminal: for your default agent and its sandbox, and in a repository for its checks and what happens with finished work. Never overwrites a file.',
    options: {
      '-d, --dir <path>': 'the home to create (default: $SIGNALBOX_HOME, else ~/.signalbox)',
      '-y, --yes': 'ask nothing and take the defaults',
    },
    examples: ['init', 'init --yes', 'init --dir ~/work/signalbox'],
  },
  config: {
    about: 'print every setting and where it came from',
    examples: [
      'config',
      'SIGNALBOX_MAX_CONCURRENCY=8 signalbox config --json',
      'config path',
      'config trust ~/src/my-project',
    ],
  },
  'config path': {
    about: 'print the path of the config file in force',
    examples: ['$EDITOR "$(signalbox config path)"'],
  },
  'config trust [dir]': {
    about: 'let a directory’s signalbox.yaml and .signalbox/settings.json name commands',
    args: { dir: 'the directory (default: the current one)' },
    notes: 'The list is kept in trusted.json in the home.',
    examples: ['config trust'],
  },
  doctor: {
    about: 'check node, git, agents, settings and workflows',
    options: { '--agents': 'check only the agents: version, login, and what each one supports' },
    notes:
      'Says how to fix what is missing. Exits with 1 when something required is missing; "!" marks what is only worth knowing.',
    examples: ['doctor', 'doctor --agents', 'doctor --json'],
  },
  stats: {
    about: 'success, durations, cost and failures of past runs',
    options: { '--csv': 'one line per issue, as CSV' },
    examples: ['stats', 'stats --csv > runs.csv'],
  },
  clean: {
    about: 'list and remove what is no longer needed',
    options: {
      '-y, --yes': 'remove what loses nothing; everything else is kept',
      '-a, --all': 'check the repositories of all plans, not only the one you are in',
    },
    notes:
      'Finds worktrees, branches and logs. Checks the repository you are in; outside of one, or with --all, those of all plans. Work that exists only there is never removed. To give up a plan that is not done: cancel.',
    examples: ['clean', 'clean --yes', 'clean --all'],
  },
  workspace: {
    about: 'create or remove a ticket’s worktree',
    examples: ['workspace ensure sprint-12 PROJ-101'],
  },
  'workspace ensure [plan] [ticket]': {
    about: 'create the worktree and branch of a ticket, or find them as they are',
    args: TICKET_OF_PHASE,
  },
  'workspace release [plan] [ticket]': {
    about: 'remove the worktree if nothing in it would be lost; the branch stays',
    args: TICKET_OF_PHASE,
  },
  checks: {
    about: 'run the project’s checks',
    options: { '--related': 'only the tests that the files changed since the base touch' },
    json: 'print the results as JSON at the end',
    notes:
      'Runs `checks` of the settings, else the lint, typecheck, test and build scripts, and all tests of pytest, go and cargo. In a phase it works on the ticket’s worktree, elsewhere on the current directory.',
    examples: ['checks', 'checks --related'],
  },
  'integrate [plan] [ticket]': {
    about: 'merge a ticket’s branch into its base; no checkout is touched',
    args: TICKET_OF_PHASE,
  },
  forge: {
    about: 'push a ticket’s branch, open its pull request and follow it',
    examples: ['forge pr sprint-12 PROJ-101'],
  },
  'forge pr [plan] [ticket]': github({
    about: 'push a ticket’s branch and open its pull request, or bring the open one up to date',
    notes:
      'Prints the address of the pull request and nothing else. Needs a remote called origin and the GitHub CLI.',
  }),
  'forge review [plan] [ticket]': github({
    about: 'show whether a ticket’s pull request was approved',
    notes:
      'Prints approve or reject, then what the reviewers said. Exits with 1 while there is no decision, with 2 when GitHub cannot be asked.',
  }),
  'forge poll [plan] [ticket]': github({
    about: 'show the state of a ticket’s pull request',
    options: { '--for <event>': { about: 'what is waited for', choices: PULL_WAITS, default: 'review' } },
    notes:
      'Prints merged, unmerged, closed, deleted, moved, conflict, changes, red, approved or open in the first line and what was said below it. Exits with 1 while there is nothing new, with 2 when GitHub cannot be asked; in a phase with 75 if that problem is temporary.',
    examples: ['forge poll sprint-12 PROJ-101 --for review'],
  }),
  'forge push [plan] [ticket]': github({
    about: 'push a ticket’s branch and nothing else',
    notes:
      'Prints the commit that origin has now. Never removes commits there, nor restores what was removed there.',
  }),
  'forge sync [plan] [ticket]': github({
    about: 'take over what people pushed to a ticket’s branch, and fetch its base',
    options: { '--theirs': 'take a rewritten branch as it is; ours is kept on a ref' },
    notes:
      'Commits on top of ours are taken; what has to be merged is merged and pushed. Exits with 1 when that is not possible: theirs conflict with ours, or the branch was rewritten.',
  }),
  'forge answer [plan] [ticket]': github({
    about: 'push what was done about feedback, comment on it, and remember that it was answered',
    notes: 'The comment is the context value review_answer. Prints the address of the pull request.',
  }),
  'forge comment [plan] [ticket]': github({
    about: 'comment on a ticket’s pull request, once',
    options: {
      '--key <key>': {
        about: 'name of this comment; a second one with the same key is not made',
        required: true,
      },
      '--body-file <file>': { about: 'its text', required: true },
    },
    notes: 'A comment with the same key is made once, however often this is called. Prints its address.',
    examples: ['forge comment sprint-12 PROJ-101 --key live --body-file note.md'],
  }),
  'forge merge [plan] [ticket]': github({
    about: 'merge a ticket’s pull request on GitHub, as the setting merge.method says',
    notes:
      'Refused unless the pull request has exactly the local commits. Prints the address of the pull request.',
  }),
  'forge budget': {
    about: 'show what is left of GitHub’s hourly budget, as of the last request',
    notes: 'Sends no request.',
  },
  notify: { about: 'test notifications', examples: ['notify test'] },
  'notify test': {
    about: 'send one notification to each place that `notify` of the settings names',
    notes: 'Exits with 1 when a place is not reached, or none is configured.',
  },
} as const satisfies Commands;
