import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type FollowOptions, followJob, type JobResult } from '../../../src/machine/jobs/follow-job.ts';
import { type JobSpec, MARKER, readJob, startJob } from '../../../src/machine/jobs/start-and-read-job.ts';
import { stopJob } from '../../../src/machine/jobs/stop-job.ts';
import { markedProcesses } from '../../../src/machine/process-identity-and-signals.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A directory that is gone after the test. */
function scratch(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'jobs-')));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** One job in a directory of its own; after the test nothing of it is left. */
export class Bench {
  readonly home = scratch();
  readonly dir: string;
  #exited: FollowOptions['exited'];

  constructor(name = 'build.1.1') {
    this.dir = join(this.home, name);
    onTestFinished(() => stopJob(this.dir, 'stopped', 0));
  }

  spec(argv: readonly string[], more: Partial<JobSpec> = {}): JobSpec {
    const env = { PATH: process.env.PATH ?? '' };
    return { dir: this.dir, argv, cwd: this.home, env, stdin: null, stopSignal: 'SIGTERM', ...more };
  }

  start(argv: readonly string[], more: Partial<JobSpec> = {}): this {
    this.#exited = startJob(this.spec(argv, more)).exited;
    return this;
  }

  /** Starts a shell script. */
  sh(script: string, more: Partial<JobSpec> = {}): this {
    return this.start(['sh', '-c', script], more);
  }

  /** Follows the job to its end, as the process that started it. */
  follow(more: Partial<FollowOptions> = {}): Promise<JobResult> {
    return this.#follow({ ...(this.#exited ? { exited: this.#exited } : {}), ...more });
  }

  /** Follows it as one that found it running. */
  adopt(more: Partial<FollowOptions> = {}): Promise<JobResult> {
    return this.#follow(more);
  }

  #follow(more: Partial<FollowOptions>): Promise<JobResult> {
    const { signal } = new AbortController();
    return followJob({ dir: this.dir, wallMs: 60_000, idleMs: null, signal, ...more });
  }

  read(name: string): string {
    return readFileSync(join(this.dir, name), 'utf8');
  }

  /** Waits until the job has printed this much. */
  async prints(text: string): Promise<void> {
    await waitFor(`"${text}" in the output`, () => this.#out().includes(text), { state: () => this.#out() });
  }

  #out(): string {
    try {
      return this.read('stdout');
    } catch {
      return '';
    }
  }

  /** Pid of the supervisor. */
  async supervisor(): Promise<number> {
    const look = () => {
      const job = readJob(this.dir);
      return job.state === 'running' ? job.identity.pid : undefined;
    };
    return waitFor('the supervisor', look);
  }

  /** Every process that still belongs to the job. */
  left(): Promise<number[]> {
    return markedProcesses(`${MARKER}=${this.dir}`);
  }
}

/** Shell words that start a process in a session of its own, as tools of agents do, and print its pid. */
export function escapee(): string {
  const code = `const c = require('child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }); console.log('tool ' + c.pid); c.unref()`;
  return `'${process.execPath}' -e "${code}"`;
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
