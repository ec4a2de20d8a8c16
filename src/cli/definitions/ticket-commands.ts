import type { Commands } from './command-definition.ts';

/** The words that name a ticket. */
const TICKET = { plan: '@last is the latest; left out where only one open plan has the ticket' };

/** A plan, named by its id or `@last`. */
const LATEST = { plan: '@last is the latest' };

/** Commands that show plans and tickets, and what a person does to them. */
export const TICKET_COMMANDS = {
  'status [plan] [ticket]': {
    about: 'show plans and tickets, and why they wait',
    args: { plan: 'one plan in detail', ticket: 'one ticket with all its attempts' },
    options: {
      '-p, --plan <id>': 'the same as the argument',
      '--all': 'all plans: those of other repositories, and finished ones',
      '--failed': 'only tickets that failed or need you',
      '--waiting': 'only tickets that wait',
      '--watch': 'show it again every two seconds, until Ctrl-C',
    },
    json: 'print JSON: an array of {plan, tickets, problems} of all plans, or one of them if a plan is named',
    notes: 'Inside a repository its open plans, elsewhere all open plans, the newest first.',
    examples: ['status', 'status sprint-12', 'status PROJ-101', 'status --failed', 'status --json'],
  },
  'top [plan]': {
    about: 'show a live board of all tickets, what needs you first',
    args: { plan: 'only this plan; @last is the latest' },
    options: { '--all': 'plans of all repositories' },
    json: 'print the board as JSON: {at, engines, running, maximum, today, limits, counts, plans, rows, problems}',
    notes:
      'Inside a repository its open plans, elsewhere all open plans. The key ? shows the keys. In a pipe it prints one frame.',
    examples: ['top', 'top sprint-12', 'top --all', 'top --json'],
  },
  'logs [plan] [ticket]': {
    about: 'show what happened in a plan or a ticket',
    options: {
      '--phase <phase>': 'only of this phase',
      '--failed': 'only the last failed attempt; of a plan, of each ticket that needs you',
      '--full': 'all that tools printed, not only the last line',
      '-f, --follow': 'continue as more comes, until Ctrl-C',
      '--until-rest': 'with --follow: stop when the ticket is done or needs you',
    },
    json: 'print JSON lines',
    notes: 'Of a plan its events, of a ticket everything that its attempts printed.',
    args: { plan: 'default: the latest' },
    examples: [
      'logs',
      'logs sprint-12',
      'logs sprint-12 PROJ-101 --phase implement',
      'logs sprint-12 --failed',
      'logs sprint-12 PROJ-101 -f',
    ],
  },
  'attach [plan]': {
    about: 'go to the tmux windows of a plan’s latest run',
    args: {
      plan: 'or one of its tickets; default: the one whose run was shown last, of this repository if it has one',
    },
    json: 'print the session and its windows instead',
    examples: ['attach', 'attach sprint-12'],
  },
  'diff [plan] [ticket]': {
    about: 'show a ticket’s work, uncommitted changes included',
    options: { '--stat': 'only the files and how much changed' },
    args: { plan: 'default: the latest', ticket: 'may be left out where there is only one' },
    examples: ['diff', 'diff PROJ-101', 'diff sprint-12 PROJ-101 --stat'],
  },
  web: {
    about: 'serve a page with everything, live, on this machine',
    options: {
      '--port <number>': 'default: 4747, or the next one that is free; 0 takes any',
      '--host <address>': 'default: 127.0.0.1, which only this machine reaches',
      '--open': 'open it in your browser',
      '--qr': 'show the link as a QR code, for a phone',
      '--read-only': 'nothing can be changed on the page',
      '--new-token': 'replace the token first; all sessions end',
    },
    json: 'print one JSON line when it is served: {url, pid, tokenFile, running}',
    examples: ['web', 'web --open', 'web --read-only', 'web --host 192.168.1.20 --qr'],
  },
  report: {
    about: 'what happened since you last looked, and what needs you',
    options: {
      '--since <time>': 'from 18:00, 12h or 2026-03-01 on; default: your last report, else 12 hours',
      '-p, --plan <id>': 'only this plan, from its beginning',
      '--repo <path>': 'only plans of this repository; default: the one you are in',
      '--all': 'plans of all repositories',
      '--md': 'as Markdown',
      '--html': 'as one HTML file',
    },
    json: 'print JSON: {since, until, period, sentence, sections}',
    examples: ['report', 'report --since 18:00', 'report --all --html > report.html'],
  },
  'pause [plan] [ticket]': {
    about: 'pause a ticket: its agent stops now, everything is kept',
    args: TICKET,
  },
  'retry [plan] [ticket]': {
    about: 'run the failed phase again, counters at zero',
    args: TICKET,
    options: {
      '--latest': 'with the workflow as it is now, not as it was when the ticket started',
      '--failed': 'all failed tickets of the plan; asks first if there are more than five',
      '-y, --yes': 'with --failed: do not ask',
    },
    examples: ['retry sprint-12 PROJ-101', 'retry PROJ-101', 'retry --failed @last'],
  },
  'skip [plan] [ticket] [phase]': {
    about: 'continue at another phase',
    args: TICKET,
    examples: ['skip sprint-12 PROJ-101 self_review', 'skip PROJ-101 self_review'],
  },
  'respond [plan] [ticket] [decision] [message...]': {
    about: 'answer a gate',
    args: TICKET,
    examples: ['respond sprint-12 PROJ-101 approve "looks good"', 'respond PROJ-101 approve'],
  },
  'resume [plan] [ticket]': {
    about: 'continue what was paused, stopped or halted',
    args: { plan: 'default: the most recent' },
    notes: 'A run of issues or a spec runs in the foreground.',
    options: {
      '--answer <text>': 'of a spec that has halted: what the agent asked for',
      '--no-tmux': 'of a spec: open no windows',
      '--plain': 'of a run: one line per event, also on a terminal',
    },
    examples: ['resume sprint-12'],
  },
  'stop [plan] [ticket]': {
    about: 'stop a ticket, or a plan with all that runs in it',
    notes: 'resume continues it. To give it up instead: cancel.',
    examples: ['stop sprint-12'],
  },
  'cancel [plan] [ticket]': {
    about: 'give up a ticket, or a plan with all that is not done',
    notes:
      'What runs is stopped, uncommitted work is committed to a ref, then worktrees are removed. Branches and pull requests stay. The tickets are failed, and retry brings them back.',
    args: { plan: '@last is the latest', ticket: 'default: all of the plan' },
    options: { '-y, --yes': 'do not ask; needed without a terminal' },
    json: 'print JSON: {plan, tickets}, each ticket with what is left of it',
    examples: ['cancel sprint-12', 'cancel sprint-12 PROJ-101 --yes'],
  },
  'pause-plan <plan>': {
    about: 'stop what runs for a plan and start nothing more',
    args: LATEST,
  },
  'resume-plan <plan>': {
    about: 'continue a paused plan',
    args: LATEST,
  },
  'sessions [plan] [ticket]': {
    about: 'list the agent sessions of a ticket',
    args: TICKET,
    options: { '--phase <phase>': 'only of this phase' },
    examples: ['sessions sprint-12 PROJ-101 --phase implement'],
  },
  'resume-session [plan] [ticket] [session]': {
    about: 'continue an agent session yourself',
    notes: 'The ticket waits meanwhile.',
    args: { ...TICKET, session: 'default: the latest' },
    options: { '--phase <phase>': 'the latest session of this phase' },
    json: 'print what would be started, and start nothing',
    examples: ['resume-session PROJ-101', 'resume-session sprint-12 PROJ-101 --phase qa'],
  },
} as const satisfies Commands;
