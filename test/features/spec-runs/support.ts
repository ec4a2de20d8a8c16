import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SpecResult } from '../../../src/features/spec-runs/spec-result.ts';
import type { SpecState } from '../../../src/kiro/state-file-formats.ts';
import { readJob } from '../../../src/machine/jobs/start-and-read-job.ts';
import { git, isRunning, type World, waitFor } from '../../support/index.ts';

export { git, isRunning, it, story, type World, waitFor } from '../../support/index.ts';

const ROOT = new URL('../../../', import.meta.url);

/**
 * A spec in the scratch repository, committed unless `commit` is false. Its numbered units have an owner already, so that no agent
 * has to assign them first; with `assigned: false` an agent does.
 */
export function writeSpec(
  world: World,
  tasks: string,
  { name = 'limits', commit = true, assigned = true, files = {} as Record<string, string> } = {},
): string {
  const dir = join(world.repo, '.kiro', 'specs', name);
  mkdirSync(dir, { recursive: true });
  for (const [file, text] of Object.entries({ 'tasks.md': tasks, ...files }))
    writeFileSync(join(dir, file), text);
  if (commit) {
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=Add a spec');
  }
  if (assigned) assignUnits(world, name, tasks);
  return dir;
}

/** Writes owners of all numbered tasks into the state file, as a person may do. */
function assignUnits(world: World, name: string, tasks: string): void {
  const ids = [...tasks.matchAll(/^\s*[-*] \[.\]\*? (\d[\d.]*\d|\d)/gm)].map(([, id = '']) => id);
  const assignments = Object.fromEntries(ids.map((id) => [id, { type: 'code', owner_agent: 'default' }]));
  const file = join(world.repo, '.kiro/specs/SEQUENTIAL_STATE.json');
  const { specs = {} } = existsSync(file) ? stateFile(world) : {};
  writeFileSync(file, JSON.stringify({ version: 1, specs: { ...specs, [name]: { assignments } } }));
  mkdirSync(join(world.repo, '.git/info'), { recursive: true });
  appendFileSync(join(world.repo, '.git/info/exclude'), '/.kiro/specs/SEQUENTIAL_*\n');
}

/** The bundled workflow without its waits, and with another time for its agents where one is given. */
export function withoutWaits(world: World, seconds = 7200): void {
  const text = readFileSync(new URL('workflows/spec-task.yaml', ROOT), 'utf8');
  writeFileSync(
    join(world.home, 'workflows', 'spec-task.yaml'),
    text
      .replace(/delaySeconds: \d+/g, 'delaySeconds: 0')
      .replaceAll('session: keep', `session: keep\n    timeoutSeconds: ${seconds}`),
  );
}

/** Lines of a task list, numbered from 1. */
export function tasks(...titles: string[]): string {
  return `# Tasks\n\n${titles.map((title, index) => `- [ ] ${index + 1}. ${title}\n`).join('')}`;
}

type Result = SpecResult & { type: 'result'; ok: boolean; planId: string };

/** Runs a spec without waiting between units; the last line of `--json`. */
export async function runSpec(world: World, dir: string, ...flags: string[]) {
  const delay = flags.includes('--delay') ? [] : ['--delay', '0'];
  const { code, out, err } = await world.cli('spec', dir, '--json', '--no-tmux', ...delay, ...flags);
  const last = out.trimEnd().split('\n').at(-1) ?? '';
  const result = (last.startsWith('{') ? JSON.parse(last) : {}) as Result;
  return { code, out, err, result };
}

export function stateFile(world: World): { version: number; specs: Record<string, SpecState> } {
  return JSON.parse(readFileSync(join(world.repo, '.kiro/specs/SEQUENTIAL_STATE.json'), 'utf8'));
}

export function progressFile(world: World): string {
  return readFileSync(join(world.repo, '.kiro/specs/SEQUENTIAL_PROGRESS.md'), 'utf8');
}

/** Subjects of the spec's branch, oldest first, without the start. */
export function work(world: World, branch = 'spec/limits'): string[] {
  const text = git(world.repo, 'log', '--reverse', '--format=%s', `main..${branch}`);
  return text === '' ? [] : text.split('\n');
}

export function tasksOn(world: World, branch = 'spec/limits', name = 'limits'): string {
  return git(world.repo, 'show', `${branch}:.kiro/specs/${name}/tasks.md`);
}

export const tree = (world: World, branch = 'spec/limits') => join(world.worktrees, branch);

/** What an agent does to end a unit well. */
export const done = (text = 'Done.') => ({ result: `${text}\n\n<promise>TASK_DONE</promise>` });

/** An agent's steps that add a line to a file and commit it. */
export const add = (path: string) => [{ write: { path, append: 'x\n' } }, { commit: `Add ${path}` }];

export function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** The first attempt of an agent at the first unit. */
export const jobOf = (world: World) => join(world.stateDir, 'jobs/spec-limits/1/implement.1.1');

/** The power fails: neither the agent nor whoever watches it says a word. */
export async function powerFails(world: World): Promise<void> {
  const job = readJob(jobOf(world));
  if (job.state !== 'running') throw new Error(`the agent is ${job.state}`);
  process.kill(-job.identity.pid, 'SIGKILL');
  await waitFor('the agent to be gone', () => !isRunning(job.identity.pid));
}
