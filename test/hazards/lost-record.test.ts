import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import type { Ticket } from '../../src/model/ticket.ts';
import { SmallDisk } from '../cli/small-disk.ts';
import { it, story, type World, waitFor } from '../support/index.ts';

const END = { type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: 's' };

/** An agent has ended, its engine was killed, and nothing says how it ended. */
async function loseRecord(world: World, prints: string): Promise<void> {
  world.agent('agent', `commit; ${prints}`, { adapter: 'claude' });
  world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } }]);
  world.plan('p', { tickets: { a: {} } });
  await world.start(['run', 'p'], { SIGNALBOX_CRASH_AT: 'attempt:performed' }).ended;
  rmSync(join(world.stateDir, 'jobs/p/a/build.1.1/exit.json'));
}

it('a finished agent without an exit record is known by its end event, and not run again', async ({
  world,
}) => {
  await loseRecord(world, `echo '${JSON.stringify(END)}'`);
  const { code, out, err } = await world.cli('run', 'p');
  expect(code, out + err).toBe(0);
  expect(story(world.ticket('p', 'a'))).toEqual(['build success']);
  expect(world.calls('start')).toHaveLength(1);
});

it.for([
  { what: 'with the storage is not run again: a person is asked', failed: true, begun: true },
  { what: 'with the storage runs again if it had not begun', failed: true, begun: false },
  { what: 'in any other way runs again', failed: false, begun: true },
])('a script whose end is lost $what', async ({ failed, begun }, { world }) => {
  const calls = join(world.dir, 'calls');
  world.script('count.sh', `echo >> ${calls}`);
  world.workflow('work', [{ id: 'count', type: 'script', command: 'count.sh' }]);
  world.plan('p', { tickets: { a: {} } });
  await world.start(['run', 'p'], { SIGNALBOX_CRASH_AT: 'attempt:performed' }).ended;
  const job = join(world.stateDir, 'jobs/p/a/count.1.1');
  rmSync(join(job, 'exit.json'));
  if (!begun) writeFileSync(join(job, 'pid'), ' ');
  // An engine leaves this file when it could not write for a while.
  if (failed) writeFileSync(join(world.stateDir, 'storage-failed'), '');
  await world.cli('run', 'p');
  const isAsked = failed && begun;
  expect(world.ticket('p', 'a').status).toBe(isAsked ? 'needs_attention' : 'complete');
  expect(readFileSync(calls, 'utf8')).toHaveLength(isAsked ? 1 : 2);
});

/** A run whose state directory cannot be written any more, while the agent of `a` is at work. */
async function withoutDisk(world: World, agent: string) {
  world.agent('agent', agent);
  world.workflow('work', [
    { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, onSuccess: 'done' },
    { id: 'done', type: 'terminal' },
  ]);
  world.plan('p', { tickets: { a: {}, b: {} } });
  const disk = await SmallDisk.mount(world);
  onTestFinished(() => disk.unmount());
  const out = join(world.dir, 'out');
  const run = disk.cli('run', 'p', '--plain', '>', out);
  for (const ticket of ['p/a', 'p/b']) await world.call('working', { ticket });
  await disk.readOnly();
  world.go('b');
  await waitFor('the trouble', () => readFileSync(out, 'utf8').includes('Nothing new starts'));
  const ticket = (id = 'a') =>
    JSON.parse(readFileSync(disk.path(world.ticketFile('p', id)), 'utf8')) as Ticket;
  const loseAgent = () => {
    const pid = Number.parseInt(
      readFileSync(disk.path(join(world.stateDir, 'jobs/p/a/build.1.1/pid')), 'utf8'),
      10,
    );
    if (pid > 1) process.kill(-pid, 'SIGKILL');
  };
  return { disk, run, ticket, loseAgent, said: () => readFileSync(out, 'utf8') };
}

describe('an agent whose end is lost while the state cannot be written', () => {
  it('is not run again once it has committed: a person is asked', async ({ world }) => {
    const { disk, run, ticket, loseAgent, said } = await withoutDisk(world, 'commit; note working; go');
    loseAgent();
    await disk.writable();
    const { code, err } = await run;
    expect(code, said() + err).toBe(1);
    expect(ticket()).toMatchObject({ status: 'needs_attention', claim: null, retries: {} });
    expect(ticket().error).toContain(
      'signalbox retry p a (do it again) or signalbox skip p a done (it is done)',
    );
    expect(story(ticket('b'))).toEqual(['build success']);
    expect(world.calls('start', { ticket: 'p/a' })).toHaveLength(1);
    expect((await disk.cli('skip', 'p', 'a', 'done')).code).toBe(0);
    expect(ticket().status).toBe('complete');
  });

  it('or cannot print its result, is not run again once it has committed; otherwise no attempt is consumed', async ({
    world,
  }) => {
    const again = join(world.dir, 'again');
    const fail = `[ -e ${again} ] || { note failing; exit 1; }`;
    const { disk, run, ticket, said } = await withoutDisk(
      world,
      `[ $SIGNALBOX_TICKET = b ] || commit; note working; go; ${fail}; commit`,
    );
    world.go('a');
    await world.call('failing', { ticket: 'p/a' });
    await disk.writable();
    const isHeld = () => ticket('b').hold?.kind === 'shortage' && ticket('b').claim === null;
    await waitFor('b to wait', isHeld, { state: said });
    expect(ticket('b')).toMatchObject({ status: 'ready', retries: {}, error: null });
    expect(ticket('b').hold?.reason).toMatch(/; build: .*exit code 1/);
    writeFileSync(again, '');
    expect((await disk.cli('retry', 'p', 'b')).code).toBe(0);
    expect((await run).code, said()).toBe(1);
    expect(story(ticket('b'))).toEqual(['build interrupted', 'build success']);
    expect(ticket()).toMatchObject({ status: 'needs_attention', claim: null, retries: {} });
    expect(ticket().error).toContain('signalbox retry p a (do it again) or signalbox skip p a done');
    expect(world.calls('start', { ticket: 'p/a' })).toHaveLength(1);
  });

  it('is run again where it has committed nothing', { tags: 'full' }, async ({ world }) => {
    const { disk, run, ticket, loseAgent, said } = await withoutDisk(world, 'note working; go; commit');
    loseAgent();
    await disk.writable();
    world.go();
    const { code, err } = await run;
    expect(code, said() + err).toBe(0);
    expect(story(ticket())).toEqual(['build interrupted', 'build success']);
  });

  it('is asked about by the next engine, too', { tags: 'full' }, async ({ world }) => {
    const { disk, run, ticket, loseAgent } = await withoutDisk(world, 'commit; note working; go');
    await disk.writable();
    await waitFor('the end of b', () => ticket('b').status === 'complete');
    process.kill(ticket().claim?.pid ?? 0, 'SIGKILL');
    loseAgent();
    await run;
    const next = await disk.cli('run', 'p');
    expect(next.code, next.out + next.err).toBe(1);
    expect(ticket()).toMatchObject({ status: 'needs_attention', claim: null });
    expect(world.calls('start', { ticket: 'p/a' })).toHaveLength(1);
  });
});
