import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { BUILD, DONE, it, refusal, STUCK, setUp } from './support.ts';

describe.concurrent('what commands say', () => {
  it('of a ticket that is resumed while its plan is paused: nobody goes on with it', async ({ world }) => {
    setUp(world, 'commit', { a: { status: 'paused' } });
    await world.cli('pause-plan', 'p');
    const { out } = await world.cli('resume', 'p', 'a');
    expect(out).toContain('Its plan is paused. Continue with: signalbox resume p');
  });

  it('of a run is about its own plan', async ({ world }) => {
    setUp(world, 'commit', { a: {} });
    world.plan('cycle', { tickets: { a: { blockedBy: ['b'] }, b: { blockedBy: ['a'] } } });
    const { out, err, code } = await world.cli('run', 'p');
    expect(code).toBe(0);
    expect(out + err).not.toContain('wait for each other');
  });

  it('of a run counts tickets whose file is broken', async ({ world }) => {
    setUp(world, 'commit', { a: {} });
    writeFileSync(world.ticketFile('p', 'a'), '{');
    const { out, code } = await world.cli('run', 'p');
    expect(code).toBe(1);
    expect(out).toContain('0 of 1 done');
  });

  it('of a plan without tickets is that it cannot be run', async ({ world }) => {
    setUp(world, 'commit', {});
    world.plan('p', { tickets: {} });
    const ended = await world.cli('run', 'p');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('Plan "p" has no tickets.');
  });

  it('of two tickets on one branch is told before anything runs', async ({ world }) => {
    setUp(world, 'commit', { a: { branch: 'same' }, b: { branch: 'same' } });
    const ended = await world.cli('run', 'p');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('Ticket "b" has the same branch as "a": same.');
    expect(world.calls('start')).toEqual([]);
  });

  it('of phases that do not exist names those that do', async ({ world }) => {
    setUp(world, 'commit', { a: { skipPhases: ['bild'] }, b: { currentPhase: 'nowhere' } });
    const { out, code } = await world.cli('plan', 'check', 'p');
    expect(code).toBe(1);
    expect(out).toContain('has no phase "bild". Did you mean "build"? Its phases: build, done, stuck.');
    expect(out).toContain('has no phase "nowhere".');
    const ended = await world.cli('logs', 'p', 'a', '--phase', 'zork');
    expect(ended.code).toBe(2);
    expect(refusal(ended)).toContain('a has no attempt of phase "zork".');
  });

  it('of a workflow includes the agents that its phases name', async ({ world }) => {
    setUp(world, 'commit', {});
    world.workflow('named', [{ ...BUILD, agent: 'agnt' }, DONE, STUCK]);
    world.workflow('turns', [{ ...BUILD, agent: 'codex', maxTurns: 3 }, DONE, STUCK]);
    const named = await world.cli('workflow', 'check', 'named');
    expect(named.code).toBe(1);
    expect(named.out).toMatch(/named\.yaml:\d+:\d+: Agent "agnt" is not configured\. Did you mean "agent"\?/);
    const turns = await world.cli('workflow', 'check', 'turns');
    expect(turns.out).toContain('Agent "codex": maxTurns: the codex adapter cannot count turns');
  });

  it('of a workflow includes scripts that cannot be executed', async ({ world }) => {
    setUp(world, 'commit', {});
    world.workflow('plain', [{ id: 'x', type: 'script', command: 'plain.sh', onSuccess: 'done' }, DONE]);
    const file = join(world.dir, 'home', 'scripts', 'plain.sh');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '#!/bin/sh\n');
    const before = await world.cli('workflow', 'check', 'plain');
    expect(before.out).toContain(`The script ${file} is not executable.\n`);
    expect(before.out).toContain(`chmod +x ${file}`);
    chmodSync(file, 0o755);
    expect((await world.cli('workflow', 'check', 'plain')).code).toBe(0);
  });
});
