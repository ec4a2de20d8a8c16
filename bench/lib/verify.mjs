import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readTicket, ticketIds } from './plans.mjs';

/** What a run of ours should have left and did not: tickets, commits, worktrees. */
export function verifyRun(sandbox, home, { count, phases = 1 }) {
  const commits = commitsPerBranch(sandbox, home.repo);
  const lost = [];
  for (const id of ticketIds(count)) {
    const ticket = readTicket(home, id);
    const made = commits.get(`ticket/bench/${id}`) ?? 0;
    if (ticket.status !== 'complete') lost.push(`${id} is ${ticket.status}: ${ticket.error ?? ''}`);
    else if (made !== phases) lost.push(`${id} has ${made} commits instead of ${phases}`);
  }
  return [...lost, ...strayWorktrees(sandbox, home)];
}

/** What a run of the floor lost; git's own races make that possible. */
export function verifyFloor(sandbox, place, { count, phases = 1 }) {
  const commits = commitsPerBranch(sandbox, place.repo);
  return ticketIds(count).filter((id) => commits.get(`ticket/${id}`) !== phases);
}

function commitsPerBranch(sandbox, repo) {
  const text = sandbox.git(['log', '--branches', '--source', '--not', 'origin/main', '--format=%S'], repo);
  const commits = new Map();
  for (const ref of text.split('\n').filter(Boolean)) {
    const name = ref.replace(/^refs\/heads\//, '');
    commits.set(name, (commits.get(name) ?? 0) + 1);
  }
  return commits;
}

/** Worktrees that git knows but that are gone, and directories that nobody gave back. */
function strayWorktrees(sandbox, home) {
  const known = sandbox
    .git(['worktree', 'list', '--porcelain'], home.repo)
    .split('\n')
    .flatMap((line) => (line.startsWith('worktree ') ? [line.slice(9)] : []));
  const gone = known.filter((path) => !existsSync(path)).map((path) => `worktree ${path} is gone`);
  const root = join(home.dir, 'worktrees');
  const left = existsSync(root) ? readdirSync(root).filter((name) => name !== '.slots') : [];
  return [...gone, ...left.map((name) => `${join(root, name)} was not given back`)];
}
