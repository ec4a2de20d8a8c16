// The demo's plan, as a planner would write it: everything the runner owns is left out.

export const PLAN_ID = 'teatime';

const TICKETS = [
  {
    ticketId: 'parser',
    title: 'Read steeping times as people write them',
    description:
      'People say 3:30, 3m30s, 90s or 4 min. Add src/parse.js, which turns each of them into seconds, and back.',
    acceptanceCriteria: [
      'parseTime reads "3:30", "3m30s", "90s" and "4 min"',
      'Anything else is refused with an error that shows how to write a time',
      'formatTime writes 210 as "3:30"',
    ],
  },
  {
    ticketId: 'cli',
    title: 'Add the teatime command',
    description: 'bin/teatime.js answers in one line how to brew a tea, or how long a given time is.',
    acceptanceCriteria: [
      '`teatime green` prints temperature and time',
      '`teatime 4 min` prints the time, read by src/parse.js',
      'What is neither ends with exit code 1 and the reason on standard error',
    ],
    blockedBy: ['parser'],
    note: 'waits for parser',
  },
  {
    ticketId: 'docs',
    title: 'Write a brewing guide',
    description: 'docs/brewing.md tells a beginner how hot and how long, for each tea the program knows.',
    acceptanceCriteria: [
      'Every tea of src/teas.js is in the guide',
      'Temperatures and times are those of the code',
    ],
    note: 'fails its first review',
  },
  {
    ticketId: 'cache',
    title: 'Remember recent brews',
    description: 'src/cache.js keeps the most recently used entries, and no more than it is told to.',
    acceptanceCriteria: [
      'A full cache forgets the entry that was not used for the longest time',
      'Reading an entry counts as using it',
    ],
    note: 'hits a usage limit',
  },
];

/** Each ticket in a line: id, title, and what will happen to it. */
export const OUTLOOK = TICKETS.map(({ ticketId, title, note = '' }) => ({ ticketId, title, note }));

/** The files of the plan by their path below the state directory. */
export function planFiles(repo) {
  const plan = {
    id: PLAN_ID,
    name: 'Teatime 0.2',
    createdAt: new Date().toISOString(),
    createdBy: 'npm run demo',
    repo,
    workflow: 'local',
    agent: 'rehearsal',
    status: 'active',
    tickets: TICKETS.map(({ ticketId, blockedBy = [] }, index) => ({
      ticketId,
      order: index + 1,
      blockedBy,
    })),
  };
  const files = { 'plan.json': plan };
  for (const { blockedBy: _, note: __, ...ticket } of TICKETS)
    files[`tickets/${ticket.ticketId}.json`] = { planId: PLAN_ID, ...ticket };
  return Object.fromEntries(
    Object.entries(files).map(([name, content]) => [
      `plans/${PLAN_ID}/${name}`,
      `${JSON.stringify(content, null, 2)}\n`,
    ]),
  );
}
