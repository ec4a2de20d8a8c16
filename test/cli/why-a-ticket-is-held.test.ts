import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { DONE, it, type World, waitFor } from './support.ts';

const CLAUDE = fileURLToPath(new URL('./fixtures/claude', import.meta.url));

/** A person is in the session of a ticket, whose gate was answered meanwhile. */
async function inside(world: World) {
  world.terminal = true;
  world.agent('agent', 'commit');
  world.config({ agents: { claude: { command: CLAUDE } } });
  world.workflow('work', [
    { id: 'build', type: 'agent', agent: 'claude', prompt: 'Build.', onSuccess: 'ask' },
    { id: 'ask', type: 'gate', prompt: 'Good?', on: { yes: 'last', no: 'done' } },
    { id: 'last', type: 'agent', agent: 'agent', prompt: 'End.', onSuccess: 'done' },
    DONE,
  ]);
  world.plan('p', { tickets: { a: {} } });
  await world.cli('run', 'p');
  const [calls, go] = [join(world.dir, 'calls'), join(world.dir, 'go', 'claude')];
  const person = world.start(['resume-session', 'p', 'a'], { CLAUDE_CALLS: calls, CLAUDE_GO: go });
  await waitFor('the agent', () => existsSync(calls));
  await world.reaches('p', 'a', ({ claim }) => claim?.agent !== undefined);
  const pid = world.ticket('p', 'a').claim?.agent?.pid;
  return { person, why: `a person is in its session (pid ${pid})`, leave: () => writeFileSync(go, '') };
}

const count = (text: string, part: string) => text.split(part).length - 1;

describe.concurrent('a ticket that somebody else has', () => {
  it('because a person is in its session is told by a run at once, and once', { tags: 'full' }, async ({
    world,
  }) => {
    const { person, why, leave } = await inside(world);
    const run = world.start(['run', 'p', '--plain']);
    await run.says(`! a needs attention: Good? (yes | no); ${why}`);
    await run.says('→ signalbox respond p a yes');
    expect((await world.cli('respond', 'p', 'a', 'yes')).code).toBe(0);
    await run.says(`◌ a waits: ${why}`);
    leave();
    expect((await person.ended).code).toBe(0);
    const { code, out } = await run.ended;
    expect(code).toBe(0);
    expect(count(out, `◌ a waits: ${why}`)).toBe(1);
  });

  it('is told as an event, too, by a daemon, and in the table of a run that is stopped', {
    tags: 'full',
  }, async ({ world }) => {
    const { person, why, leave } = await inside(world);
    expect((await world.cli('respond', 'p', 'a', 'yes')).code).toBe(0);
    const json = world.start(['run', 'p', '--json']);
    await json.says(`"hold":{"kind":"blocked","reason":"${why}","until":null}`);
    await json.kill('SIGINT');
    expect((await world.cli('resume', 'p')).code).toBe(0);
    const daemon = world.start(['daemon', '--plain']);
    await daemon.says(`a waits: ${why}`);
    await daemon.kill('SIGTERM');
    const run = world.start(['run', 'p']);
    await run.says(`◌ a waits: ${why}`);
    await run.kill('SIGINT');
    expect((await run.ended).out).toMatch(new RegExp(`◌ +a +ready .*${why.replace(/[()]/g, '.')}`));
    leave();
    expect((await person.ended).code).toBe(0);
  });

  it('because a daemon drives it is told by a run at once', async ({ world }) => {
    world.agent('agent', 'go; commit');
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build it.' }]);
    world.plan('p', { tickets: { a: {}, b: {} } });
    const daemon = world.start(['daemon', '-c', '2']);
    await world.call('start', { ticket: 'p/a' });
    await world.call('start', { ticket: 'p/b' });
    const run = world.start(['run', 'p']);
    await run.says(`◌ a is driven by daemon (pid ${daemon.pid} on `);
    await run.says(`◌ b is driven by daemon (pid ${daemon.pid} on `);
    world.go();
    const { code, out } = await run.ended;
    expect(code).toBe(0);
    expect(count(out, '◌ a ')).toBe(1);
    await daemon.kill('SIGTERM');
  });
});
