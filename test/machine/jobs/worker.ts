import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { followJob } from '../../../src/machine/jobs/follow-job.ts';
import {
  type EndReason,
  type JobSpec,
  readJob,
  readStop,
  startJob,
} from '../../../src/machine/jobs/start-and-read-job.ts';
import { stopJob } from '../../../src/machine/jobs/stop-job.ts';
import { shortageOf } from '../../../src/model/errors.ts';

// The processes of the jobs' tests: started, watched and killed by them.

const say = (value: unknown) => void writeSync(1, `${JSON.stringify(value)}\n`);
const [what, path = '', more = ''] = process.argv.slice(2);
const { signal } = new AbortController();

/** Takes all the room there is. */
function fill(file: string): void {
  try {
    for (;;) writeFileSync(file, Buffer.alloc(4096), { flag: 'a' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

const jobs: Record<string, () => Promise<void>> = {
  /** Starts a job and follows it, until killed. */
  async start() {
    const spec = JSON.parse(readFileSync(path, 'utf8')) as JobSpec;
    const { exited } = startJob(spec);
    const running = setInterval(() => {
      if (readJob(spec.dir).state !== 'lost') say('started');
    }, 5);
    await followJob({ dir: spec.dir, exited, wallMs: 60_000, idleMs: null, signal });
    clearInterval(running);
    setInterval(() => say('ended'), 100);
  },

  async follow() {
    say(await followJob({ dir: path, wallMs: 60_000, idleMs: null, signal }));
  },

  async stop() {
    const stopped = stopJob(path, more as EndReason, 100);
    say(readStop(path)?.reason);
    await stopped;
  },

  /** Two jobs on a small disk: one ends and one is stopped while nothing can be written to it. */
  async trouble() {
    const full = more === 'full';
    const spec = (name: string, script: string): JobSpec => {
      const argv = ['sh', '-c', script];
      const env = { PATH: process.env.PATH ?? '' };
      return { dir: join(path, name), argv, cwd: '/', env, stdin: null, stopSignal: 'SIGTERM' };
    };
    const ends = spec('ends', 'echo up; sleep 0.5; exit 9');
    const runs = spec('runs', 'echo up; sleep 1000');
    const exited = [ends, runs].map((each) => startJob(each).exited);
    for (const { dir } of [ends, runs]) while (readJob(dir).state !== 'running') await delay(5);
    if (full) fill(join(path, 'ballast'));
    else {
      // A second mount at the same place: the first has files that are open for writing.
      execFileSync('mount', ['--bind', path, path]);
      execFileSync('mount', ['-o', 'remount,bind,ro', path]);
    }
    const limits = { idleMs: null, signal };
    const [first, second] = exited;
    const followed = await followJob({ dir: ends.dir, exited: first, wallMs: 60_000, ...limits });
    const stopped = await followJob({ dir: runs.dir, exited: second, wallMs: 50, ...limits });
    const now = readJob(ends.dir);
    const files = readdirSync(ends.dir).sort();
    const began = performance.now();
    if (!full) execFileSync('umount', [path]);
    while (readJob(ends.dir).state !== 'ended') await delay(5);
    const waitedMs = performance.now() - began;
    say({ followed, now, stopped, files, later: readJob(ends.dir), waitedMs });
  },

  /** Starts a job whose supervisor is the last process that this user may have, or with another limit. */
  async crowded() {
    const spec = JSON.parse(readFileSync(path, 'utf8')) as JobSpec;
    const most = readdirSync('/proc/self/task').length + 1;
    execFileSync('prlimit', ['--pid', String(process.pid), more || `--nproc=${most}:`]);
    const { exited } = startJob(spec);
    await followJob({ dir: spec.dir, exited, wallMs: 60_000, idleMs: null, signal }).then(
      (result) => say(result),
      (error: unknown) => say({ shortage: shortageOf(error), state: readJob(spec.dir).state }),
    );
  },

  /** Starts a job and says how much memory following it took, in bytes. */
  async measure() {
    const spec = JSON.parse(readFileSync(path, 'utf8')) as JobSpec;
    let bytes = 0;
    let most = 0;
    const before = process.memoryUsage.rss();
    const onOutput = (chunk: Buffer) => {
      bytes += chunk.length;
      most = Math.max(most, process.memoryUsage.rss());
    };
    const result = await followJob({
      dir: spec.dir,
      exited: startJob(spec).exited,
      wallMs: 60_000,
      idleMs: null,
      onOutput,
      signal,
    });
    say({ bytes, growth: most - before, tail: result.stdoutTail.length, reason: result.reason });
  },
};

await jobs[what ?? '']?.();
