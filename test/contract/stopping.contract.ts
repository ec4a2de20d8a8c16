import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { stopJob } from '../../src/machine/jobs/stop-job.ts';
import { isRunning } from '../support/processes.ts';
import { waitFor } from '../support/wait-for.ts';
import { story } from '../support/world.ts';
import { type Bench, it, SELECTED, withModelServer } from './bench.ts';
import type { Cli } from './clis.ts';

withModelServer();

/** Starts a run whose tool goes on for minutes, and gives the pids of the tool and of a child it left behind. */
async function busy(bench: Bench, cli: Cli) {
  const file = join(bench.dir, 'pids');
  const tool = `(sleep 300 & echo $! > ${file}.new); echo $$ >> ${file}.new; mv ${file}.new ${file}; sleep 300`;
  bench.prepare(cli, [{ say: 'Beginning.', do: [{ shell: tool }] }, { say: 'Done.' }], { access: 'full' });
  const run = bench.start(['run', 'p']);
  const state = () => run.soFar;
  await waitFor('the tool', () => existsSync(file), { timeoutMs: 60_000, state });
  const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number);
  expect(pids).toHaveLength(2);
  for (const pid of pids) expect(isRunning(pid)).toBe(true);
  return { run, pids };
}

/** Whether a file of the CLI has what was said: of a session, only what was written down can come back. */
function isKept(home: string, said: string): boolean {
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .some((file) => existsSync(file) && readFileSync(file).includes(said));
}

async function expectNothingLeft(bench: Bench, pids: number[]): Promise<void> {
  expect(await bench.left()).toEqual([]);
  expect(pids.filter(isRunning)).toEqual([]);
}

describe.each(SELECTED)('$name', (cli) => {
  it('leaves no process behind when the run is stopped', async ({ bench }) => {
    const { run, pids } = await busy(bench, cli);
    await run.kill('SIGTERM');
    await expectNothingLeft(bench, pids);
    expect(story(bench.ticket('p', 't'))).toEqual(['build interrupted']);
  });

  it('leaves no process behind when it is killed at once', async ({ bench }) => {
    const { run, pids } = await busy(bench, cli);
    await run.kill('SIGKILL');
    await stopJob(bench.jobDir(), 'stopped', 0);
    await expectNothingLeft(bench, pids);
  });

  it('continues its session after it was killed', async ({ bench }) => {
    const { run, pids } = await busy(bench, cli);
    const home = join(bench.dir, 'user');
    await waitFor('the session’s file', () => isKept(home, 'Beginning.'), { timeoutMs: 60_000 });
    await run.kill('SIGKILL');
    await stopJob(bench.jobDir(), 'lost', 0);
    await expectNothingLeft(bench, pids);
    const ticket = await bench.run();
    expect(story(ticket)).toEqual(['build interrupted', 'build success']);
    expect(ticket.phaseHistory[1]?.sessionId).toBe(ticket.phaseHistory[0]?.sessionId);
    const seen =
      bench.requests
        .at(-1)
        ?.messages.map(({ text }) => text)
        .join('\n') ?? '';
    expect(seen).toContain('Beginning.');
    expect(seen).toContain('You were interrupted.');
  });
});
