import { readFileSync, writeSync } from 'node:fs';
import { followJob } from '../../src/machine/jobs/follow.ts';
import { type EndReason, type JobSpec, readJob, readStop, startJob } from '../../src/machine/jobs/job.ts';
import { stopJob } from '../../src/machine/jobs/stop.ts';

// The processes of the jobs' tests: started, watched and killed by them.

const say = (value: unknown) => void writeSync(1, `${JSON.stringify(value)}\n`);
const [what, path = '', more = ''] = process.argv.slice(2);
const { signal } = new AbortController();

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
