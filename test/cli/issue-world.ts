import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RunLog } from '../../src/features/issue-runs/logs/read-and-rotate-logs.ts';
import type { Ended, Running } from '../support/cli.ts';
import type { CliCall } from '../support/cli-call.ts';
import { git, type World, waitFor } from '../support/index.ts';

/** Issue files in the repository of a world, and the runs that were made of them. */
export class IssueWorld {
  readonly world: World;
  readonly env: NodeJS.ProcessEnv;

  constructor(world: World, env: NodeJS.ProcessEnv = {}) {
    this.world = world;
    this.env = env;
    this.write('.gitignore', '.signalbox\n');
  }

  /** Commits a file; of an issue, the front matter is given as an object. */
  write(path: string, text: string, front: Record<string, unknown> = {}): this {
    const { repo } = this.world;
    const yaml = Object.entries(front).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`);
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    writeFileSync(join(repo, path), yaml.length > 0 ? `---\n${yaml.join('')}---\n${text}` : text);
    git(repo, 'add', '--all');
    git(repo, 'commit', '--quiet', `--message=${path}`);
    return this;
  }

  start(...args: string[]): Running {
    return this.world.start(args, this.env, this.world.repo);
  }

  invoke(...args: string[]): Running | CliCall {
    return this.world.invoke(args, this.env, this.world.repo);
  }

  cli(...args: string[]): Promise<Ended> {
    return this.invoke(...args).ended;
  }

  /** Ids of all runs, oldest first. Those of one second have no order in their names. A run that is being made is not one yet. */
  runs(): string[] {
    if (!this.world.exists('home/state/plans')) return [];
    const names = readdirSync(join(this.world.stateDir, 'plans')).filter((name) => /^run-[\w-]+$/.test(name));
    const created = (id: string) => this.world.readPlan(id).createdAt ?? '';
    return names.sort((a, b) => created(a).localeCompare(created(b)));
  }

  /** The one run there is, as soon as there is one. */
  async run(): Promise<string> {
    const [id = ''] = await waitFor('a run', () => (this.runs().length > 0 ? this.runs() : undefined));
    return id;
  }

  log(run: string): RunLog {
    return JSON.parse(readFileSync(join(this.world.repo, '.signalbox', 'logs', `${run}.json`), 'utf8'));
  }
}

/** An agent that works alone on what it is told: `note working`, wait until it may go on, commit. */
export const WORKS = 'note working; go; commit';
