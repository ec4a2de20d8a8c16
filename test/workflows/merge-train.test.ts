import { describe, expect } from 'vitest';
import { git, it } from '../support/index.ts';
import { Hub, path } from './hub.ts';

describe('merge --pr with tickets that wait for their merge', { timeout: 300_000 }, () => {
  it('merges what is approved, and the tickets see it by themselves', async ({ world }) => {
    const hub = new Hub(world, 'standard');
    world.plan('p', { tickets: { ok: {}, open: {} } });
    const run = hub.start();
    for (const id of ['ok', 'open']) await hub.waits(id, 'await_review');
    await hub.review('ok', 'APPROVED');
    await hub.waits('ok', 'await_merge');
    expect((await hub.cli('merge', 'p')).out).toBe('Nothing to merge.\n');
    const { code, out, err } = await hub.cli('merge', 'p', '--pr');
    expect({ code, out, err }).toMatchObject({ code: 0, out: expect.stringMatching(/^✓ p\/ok {2}/) });
    const ticket = await hub.ends('ok');
    expect(ticket.status).toBe('complete');
    expect(path(ticket).slice(-2)).toEqual(['await_merge:merged', 'cleanup']);
    expect(world.ticket('p', 'open').currentPhase).toBe('await_review');
    await hub.change('open', (pull) => Object.assign(pull, { state: 'CLOSED' }));
    await run.ended;
  });

  it('leaves one that is red with the others to its own workflow', async ({ world }) => {
    const hub = new Hub(world, 'standard');
    world.plan('p', { tickets: { ok: {} } });
    const run = hub.start();
    await hub.waits('ok', 'await_review');
    await hub.review('ok', 'APPROVED');
    await hub.waits('ok', 'await_merge');
    const before = world.ticket('p', 'ok').phaseHistory.length;
    const [file = ''] = git(world.repo, 'diff', '--name-only', 'main', hub.branch('ok')).split('\n');
    world.config({ checks: [`test ! -e ${file}`] });
    const { code, out } = await hub.cli('merge', 'p', '--pr');
    expect(code).toBe(1);
    expect(out).toMatch(/^- p\/ok {2}`test ! -e .*` exited with code 1 when merged into origin\/main/);
    expect(world.ticket('p', 'ok')).toMatchObject({ currentPhase: 'await_merge' });
    expect(world.ticket('p', 'ok').phaseHistory.length).toBeLessThanOrEqual(before + 1);
    expect(hub.pulls()[0]?.state).toBe('OPEN');
    await hub.merge('ok');
    await run.ended;
  });
});
