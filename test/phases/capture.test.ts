import { existsSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { it, story } from '../support/index.ts';

const HOSTILE = `'; touch $HOME/pwned; echo "$(touch pwned2)" \`touch pwned3\` \\ {{ planId }}`;

describe('capture', () => {
  it.concurrent('takes stdout, a command or a field of the result, for later phases', async ({ world }) => {
    world.agent(
      'agent',
      `echo '<signalbox>{"outcome":"success","pr":{"number":7,"tags":["a","b"]}}</signalbox>'; commit`,
    );
    world.script('version.sh', 'echo " 1.2.3 "; echo noise >&2');
    const output = {
      type: 'object',
      properties: {
        pr: {
          type: 'object',
          properties: { number: { type: 'integer' }, tags: { type: 'array', items: { type: 'string' } } },
        },
      },
    };
    world.workflow('work', [
      {
        id: 'version',
        type: 'script',
        command: 'version.sh',
        capture: { version: 'stdout', head: 'git rev-parse HEAD' },
        onSuccess: 'build',
      },
      {
        id: 'build',
        type: 'agent',
        prompt: 'Build {{ version }}.',
        output,
        capture: { number: 'result.pr.number', tags: 'result.pr.tags' },
        onSuccess: 'tell',
      },
      {
        id: 'tell',
        type: 'agent',
        prompt: '{{ number }} {{ tags | join: "+" }} {{ context.version }} {{ head }}',
      },
    ]);
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const { context, base } = world.ticket('p', 'a');
    expect(context).toEqual({ version: '1.2.3', head: base?.commit, number: 7, tags: ['a', 'b'] });
    expect(world.promptOf('p', 'a', 'build.1.1')).toContain('Build 1.2.3.');
    expect(world.promptOf('p', 'a', 'tell.1.1')).toBe(`7 a+b 1.2.3 ${base?.commit}`);
  });

  it.concurrent('values never become shell, wherever they stand in a command', async ({ world }) => {
    world.script('fine.sh', ':');
    const capture = {
      bare: 'printf %s {{ title }}',
      double: 'printf %s "<{{ title }}>"',
      single: "printf %s '<{{ title }}>'",
    };
    world.workflow('work', [{ id: 'build', type: 'script', command: 'fine.sh', capture }]);
    world.plan('p', { tickets: { a: { title: HOSTILE } } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.ticket('p', 'a').context).toEqual({
      bare: HOSTILE,
      double: `<${HOSTILE}>`,
      single: `<${HOSTILE}>`,
    });
    expect(existsSync(`${world.dir}/user/pwned`)).toBe(false);
  });

  it.concurrent('a failing command fails the phase, which is tried again and then takes its edge', async ({
    world,
  }) => {
    world.script('fine.sh', ':');
    world.workflow('work', [
      {
        id: 'build',
        type: 'script',
        command: 'fine.sh',
        capture: { x: 'echo partial; echo "no such remote" >&2; exit 4' },
        maxRetries: 1,
        onFailure: 'person',
      },
      { id: 'person', type: 'terminal', notify: true },
    ]);
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    const ticket = world.ticket('p', 'a');
    expect(story(ticket)).toEqual(['build failure', 'build failure']);
    expect(ticket.error).toContain('capture "x" exited with code 4: no such remote');
    expect(ticket.context).toEqual({});
    expect(ticket.currentPhase).toBe('person');
  });

  it.concurrent('of a poll is taken when it is ready, and only then', async ({ world }) => {
    world.script(
      'look.sh',
      `echo "state $(grep -c 'start p/a wait' '${world.dir}/agents.log')"; [ -e '${world.dir}/ready' ] || { : > '${world.dir}/ready'; exit 1; }`,
    );
    world.workflow('work', [
      {
        id: 'wait',
        type: 'poll',
        command: 'look.sh',
        args: ['{{ ticketId }}'],
        intervalSeconds: 0.05,
        capture: { state: 'stdout', where: 'pwd' },
      },
    ]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const ticket = world.ticket('p', 'a');
    expect(ticket.context).toEqual({ state: 'state 2', where: world.worktree('p', 'a') });
    expect(ticket.phaseHistory).toMatchObject([{ status: 'success', checks: 1 }]);
  });

  it.concurrent('a command under way when the engine dies is not run a second time', async ({ world }) => {
    world.script('fine.sh', ':');
    const command = `echo x >> ${world.dir}/captured; until [ -e ${world.dir}/enough ]; do sleep 0.02; done; wc -l < ${world.dir}/captured`;
    world.workflow('work', [
      { id: 'build', type: 'script', command: 'fine.sh', capture: { times: command } },
    ]);
    world.plan('p', { tickets: { a: {} } });
    const first = world.start(['run', 'p']);
    await world.until('captured');
    await first.kill('SIGKILL');
    world.append('enough', '');
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.ticket('p', 'a').context).toEqual({ times: '1' });
    expect(world.calls('start')).toHaveLength(1);
  });
});
