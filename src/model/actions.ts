import { z } from 'zod';

/** What a phase can wait for on a pull request: that it is opened, reviewed or merged, or that it is over. */
export const PULL_WAITS = ['open', 'review', 'merge', 'end'] as const;
export type PullWait = (typeof PULL_WAITS)[number];

const OVER = ['merged', 'unmerged', 'closed', 'deleted'] as const;
const ASKED = ['changes', 'red', 'conflict', 'moved'] as const;
/** What a wait can end with. */
const PULL_OUTCOMES = {
  open: ['open', ...OVER],
  review: ['approved', ...ASKED, ...OVER],
  merge: [...ASKED, ...OVER],
  end: OVER,
} as const satisfies Record<PullWait, readonly string[]>;
export type PullOutcome = (typeof PULL_OUTCOMES)[PullWait][number];

/** Exit codes of actions and scripts, after sysexits.h. */
export const EXIT = { done: 0, failed: 1, waiting: 1, unusable: 2, refused: 65, notNow: 75 } as const;

/** Inputs of all actions; `workflow check` refuses one that the named action does not have. */
export const ActionInputs = z.strictObject({
  for: z
    .enum(PULL_WAITS)
    .optional()
    .describe('`pull-request-poll`: what is waited for; `end` is a merge or a close. Default review'),
  theirs: z
    .boolean()
    .optional()
    .describe('`sync-branch`: take a rewritten branch as it is on origin; ours is kept on a ref'),
});
export type ActionInputs = z.infer<typeof ActionInputs>;

interface ActionFacts {
  does: string;
  /** Types of phases that may name it; default: `action`. */
  in?: readonly ('action' | 'poll' | 'gate')[];
  /** A command of its own does the work, as a job that outlives the engine. */
  isJob?: true;
  /** It works on refs and on the forge alone, so that the worktree need not be checked before it. */
  isTreeless?: true;
  /** It needs `origin` and a GitHub CLI that is logged in. */
  isOnGithub?: true;
  inputs?: readonly (keyof ActionInputs)[];
  /** What it can end with, besides `timeout`. */
  outcomes(inputs: ActionInputs): readonly string[];
  /** Arguments of the script that replaces it, as templates. */
  args?(inputs: ActionInputs): string[];
}

const plain = () => ['success', 'failure'];
const refusing = () => ['success', 'failure', 'refused'];
const onGithub = { isOnGithub: true, isTreeless: true, outcomes: refusing } as const;
const place = () => ['{{ repo }}', '{{ branch }}', '{{ worktree }}'];

const TABLE = {
  'setup-worktree': {
    does: 'Names the worktree and branch, which the engine has made and checked before the phase',
    isTreeless: true,
    outcomes: plain,
    args: place,
  },
  'cleanup-worktree': {
    does: 'Marks the end of the work; the engine releases the worktree when the ticket ends, unless something exists only there',
    isTreeless: true,
    outcomes: plain,
    args: place,
  },
  checks: { does: 'Runs the project’s own checks as one job', isJob: true, outcomes: plain },
  'related-tests': {
    does: 'Runs the tests that the changed files touch, as one job',
    isJob: true,
    outcomes: plain,
  },
  integrate: {
    does: 'Merges the branch into its base; `refused` when a person has to fix the base first',
    isTreeless: true,
    outcomes: refusing,
  },
  'spec-tick': {
    does: 'Ticks the boxes of the ticket’s unit in tasks.md and commits that',
    outcomes: refusing,
  },
  'push-branch': { does: 'Pushes the branch and nothing else', ...onGithub },
  'pull-request': {
    does: 'Pushes the branch and opens its pull request, or updates the open one; prints its address',
    ...onGithub,
  },
  'sync-branch': {
    does: 'Takes over what people pushed to the branch, and fetches its base; `refused` on a conflict or a rewritten branch',
    isOnGithub: true,
    inputs: ['theirs'],
    outcomes: refusing,
    args: ({ theirs }) => (theirs ? ['--theirs'] : []),
  },
  'answer-review': {
    does: 'Pushes what was done about feedback and comments on the pull request',
    ...onGithub,
  },
  'merge-pull-request': {
    does: 'Merges the pull request on GitHub, as the setting `merge.method` says',
    ...onGithub,
  },
  'pull-request-poll': {
    does: 'Checks the state of the pull request',
    isOnGithub: true,
    in: ['poll', 'gate'],
    inputs: ['for'],
    isTreeless: true,
    outcomes: ({ for: awaited = 'review' }) => PULL_OUTCOMES[awaited],
    args: ({ for: awaited = 'review' }) => [awaited],
  },
  'pull-request-review': {
    does: 'Checks whether the pull request was approved',
    isOnGithub: true,
    in: ['gate'],
    isTreeless: true,
    outcomes: () => ['approve', 'reject'],
  },
} as const satisfies Record<string, ActionFacts>;

export type ActionName = keyof typeof TABLE;
export const ACTION_NAMES = Object.keys(TABLE) as [ActionName, ...ActionName[]];
export const ACTIONS: Readonly<Record<ActionName, ActionFacts>> = TABLE;

/** The script that runs instead of an action where a user's script directory has it. */
export function scriptInstead(action: ActionName): string {
  return `${action}.sh`;
}
