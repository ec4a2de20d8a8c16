import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plan } from '../../src/model/plan.ts';
import { git, type World } from '../support/index.ts';
import { commitFiles } from '../support/repo.ts';

export interface Work {
  files: Record<string, string>;
  /** Ticket whose branch it starts from, and which it waits for. */
  on?: string;
  order?: number;
  more?: Record<string, unknown>;
}

export const WORKFLOW = [
  { id: 'build', type: 'agent', prompt: 'Feedback: {{ feedback }}', maxVisits: 1, onSuccess: 'verify' },
  { id: 'verify', type: 'script', command: 'verify.sh', onSuccess: 'done', onFailure: 'build' },
  { id: 'done', type: 'terminal' },
];

const ENTRY = {
  visit: 1,
  attempt: 1,
  status: 'success',
  startedAt: '2026-01-01T00:00:00.000Z',
  completedAt: '2026-01-01T00:00:01.000Z',
  outcome: 'success',
};

/** What a ticket looks like that has walked to the end, with its branch in the repository and its worktree released. */
export function complete(
  world: World,
  work: Record<string, Work>,
  plan: Partial<Omit<Plan, 'tickets'>> & { id?: string } = {},
): void {
  const { id = 'p', ...rest } = plan;
  const base = typeof rest.base === 'string' ? rest.base : 'main';
  world.workflow('work', WORKFLOW);
  world.script('verify.sh', 'true');
  const commits = new Map<string | undefined, string>([[undefined, git(world.repo, 'rev-parse', base)]]);
  const tickets = Object.entries(work).map(([ticketId, { files, on, order = 0, more = {} }]) => {
    const branch = `ticket/${id}/${ticketId}`;
    const start = commits.get(on) ?? git(world.repo, 'rev-parse', `ticket/${id}/${on}`);
    commits.set(ticketId, commitOn(world, branch, start, files));
    const history = ['build', 'verify'].map((phase) => ({ ...ENTRY, phase }));
    const state = { status: 'complete', currentPhase: 'done', phaseHistory: history };
    const ticket = { ...state, branch, base: { ref: base, commit: start }, visits: { build: 1, verify: 1 } };
    return [ticketId, { ...ticket, ...more, blockedBy: on ? [on] : [], order }];
  });
  world.plan(id, { status: 'complete', ...rest, tickets: Object.fromEntries(tickets) });
}

/** Makes a branch with one commit. */
export function commitOn(world: World, branch: string, start: string, files: Record<string, string>): string {
  return commitFiles(world.repo, branch, start, files, `Work on ${branch}`);
}

/** Shell lines as the project's only check. Each run leaves a line in `checks.log`. */
export function check(world: World, body: string): void {
  const path = join(world.dir, 'bin', 'check');
  const log = join(world.dir, 'checks.log');
  writeFileSync(path, `#!/bin/sh\nls | tr '\\n' ' ' >> '${log}'; echo >> '${log}'\n${body}\n`);
  chmodSync(path, 0o755);
  world.config({ checks: [path] });
}

/** Everything of the user's checkout that a merge must leave alone. */
export function checkoutOf(world: World): string[] {
  return [
    git(world.repo, 'rev-parse', 'HEAD'),
    git(world.repo, 'symbolic-ref', 'HEAD'),
    git(world.repo, 'status', '--porcelain'),
    git(world.repo, 'stash', 'list'),
  ];
}

export function filesIn(world: World, ref: string): string[] {
  return git(world.repo, 'ls-tree', '--name-only', ref).split('\n');
}

/** Nothing of a merge is left behind. */
export function leftovers(world: World): string[] {
  const worktrees =
    git(world.repo, 'worktree', 'list', '--porcelain').match(/^worktree .*\.train.*$/gm) ?? [];
  const merges = join(world.stateDir, 'merges');
  const jobs = existsSync(merges) ? readdirSync(merges) : [];
  return [...worktrees, ...jobs, ...(world.exists('worktrees/.train') ? ['.train'] : [])];
}
