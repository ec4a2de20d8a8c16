// The rooms of src/, from top to bottom: a room may import from itself and from the rooms below it. `npm run lint` checks
// it, and docs/architecture.md prints this table.
export const ROOMS = [
  [
    'cli',
    'The command line: `definitions/` describe every command as data, `commands/` do the work. The only room that touches the process',
  ],
  ['web', 'The server of `signalbox web`: its API, sessions, live changes and the safety of both'],
  ['api', 'The library: issue runs from code, settings, results, logs'],
  ['report', 'Events and state as lines, tables, summaries, a live view and tmux windows'],
  [
    'features',
    'One folder per feature: `plans`, `planning`, `issue-runs`, `spec-runs`, `pull-requests`, `merge-train`, `integrate`, `landed`, `checks`, `cleanup`, `preflight`, `notifications`. A feature uses the engine, and no other feature except the shared ones',
  ],
  [
    'engine',
    'Scheduling, driving tickets, claims, recovery, control: the only room that puts effects in order',
  ],
  ['phases', 'One executor per phase type: performs an attempt and says how it ended'],
  ['sandbox', 'Bubblewrap, homes of sandboxed agents, fingerprints of secrets'],
  ['agents', 'One file per agent CLI: how to call it, how to read it. Starts nothing'],
  ['workflows', 'Workflows, prompts and scripts: find, load, check, pin, render, draw'],
  ['issues', 'Issues of GitHub and Linear and Markdown files as work items, with what they depend on'],
  ['kiro', 'Kiro specs: tasks.md, requirements, design, units, ticks'],
  ['github', 'The GitHub CLI: queries, pull requests, reviews, checks, rate limit'],
  [
    'workspaces',
    'A ticket’s worktree: create, verify, release, evidence, base, merge; `setup/` prepares it, `warm/` keeps finished ones for reuse',
  ],
  ['git', 'Git itself: refs, status, merge, fetch, worktrees'],
  ['store', 'The shared truth: plans, tickets, events, claims'],
  ['config', 'Settings from all layers, out of one table; `doctor/`'],
  ['machine', 'This computer: jobs, process identity, locks, short processes, files, memory, tmux'],
  ['model', 'Pure: schemas and types, `state/` (reduce, next, eligible), `limits/`, `plans/`, `text/`'],
];

/** Rooms beside the others, with what they may import. */
export const BESIDE = {
  rehearsal: {
    uses: ['model', 'rehearsal'],
    holds: 'Beside the others: the rehearsal agent, a program of its own',
  },
};

/** The files of src/store that other rooms may import; only the store itself knows where and how it keeps the shared state. */
export const STORE_DOORS = [
  'store-interface.ts',
  'open-file-store-with-schemas.ts',
  'open-for-reading.ts',
  'inspect-state-file.ts',
  'postgres/open-postgres.ts',
  'postgres/init-fleet.ts',
];

/** Features that others may import. They import no feature themselves, except each other in this order: later ones import earlier ones. */
export const SHARED_FEATURES = ['checks', 'pull-requests', 'landed', 'notifications'];

/** Files that load code by a name that is computed, with the reason: no rule can see what such a file imports. */
export const COMPUTED_IMPORTS = {
  'store/postgres/load-optional-packages.ts': 'pg and pg-boss, wherever they are installed beside Signalbox',
  'store/postgres/query-synchronously.ts': 'the text of a thread that has no access to our modules',
};
