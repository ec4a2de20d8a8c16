import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Board } from '../../../src/report/view-schemas.ts';
import { it } from '../../support/index.ts';

const NOTHING = 'No checks are configured and the project has none of its own.';

describe('checks that found nothing to run', () => {
  it('say so in every view of a plan, and are not shown as passed', async ({ world }) => {
    world.workflow('work', [{ id: 'verify', type: 'action', action: 'checks' }]);
    world.plan('p', { tickets: { a: {} } });
    const { code, out } = await world.cli('run', 'p', '--plain');
    expect(code).toBe(0);
    expect(out).toContain(`· a: verify – ${NOTHING} (`);
    expect(out).toMatch(/^✓ +a +complete .*No checks are configured/m);
    expect((await world.cli('status', '--plan', 'p')).out.split(NOTHING)).toHaveLength(2);
    expect((await world.cli('status', 'p', 'a')).out).toMatch(
      /^ +verify +success .*No checks are configured/m,
    );
    expect((await world.json<Board>('top')).rows).toMatchObject([{ status: 'complete', why: NOTHING }]);
    expect((await world.cli('logs', 'p', 'a')).out).toContain(`── success: ${NOTHING}`);
    expect(world.events('p')).toContainEqual(
      expect.objectContaining({ type: 'attempt:end', phase: 'verify', note: NOTHING }),
    );
  });

  it.for([
    [
      'related-tests',
      { 'notes.txt': 'x' },
      'No test runner was recognised, so related tests cannot be found.',
    ],
    [
      'related-tests',
      { 'pytest.ini': '', 'test_a.py': '' },
      'pytest is not installed, so the tests related to',
    ],
    ['checks', { 'pytest.ini': '', 'uv.lock': '' }, 'no tests ran in 0.01s'],
  ] as const)('say so where %s has %j', async ([action, files, why], { world }) => {
    // The only pytest of this machine finds no tests.
    const bin = dirname(world.agent('uv', 'echo "no tests ran in 0.01s"; exit 5'));
    for (const name of ['node', 'git', 'sh'])
      symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name));
    world.rehearsal([
      {
        when: {},
        do: [...Object.entries(files).map(([path, text]) => ({ write: { path, text } })), { commit: 'Work' }],
      },
    ]);
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'verify' },
      { id: 'verify', type: 'action', action },
    ]);
    world.config({ defaultAgent: 'rehearsal' });
    world.plan('p', { tickets: { a: {} } });
    const { code, out } = await world.invoke(['run', 'p', '--plain'], { PATH: bin }).ended;
    expect(code, out).toBe(0);
    expect(out).toContain(`· a: verify – ${why}`);
    expect(out).not.toContain('verify ✓');
    const shown = (await world.cli('status', '--plan', 'p')).out;
    // Related tests are not all checks: what they left out is no gap of the ticket.
    if (action === 'checks') expect(shown).toContain(why);
    else expect(shown).not.toContain(why);
  });

  it('are shown as passed once there is something to run', async ({ world }) => {
    world.config({ checks: ['true'] });
    world.agent('agent', 'commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'verify' },
      { id: 'verify', type: 'action', action: 'checks' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    const { out } = await world.cli('run', 'p', '--plain');
    expect(out).toMatch(/verify ✓/);
    expect(out).not.toContain('No checks');
    expect((await world.cli('report')).out).toMatch(/on branch .* · checks passed\n/);
  });

  it('are named once where they fail', async ({ world }) => {
    world.config({ checks: ['exit 3'] });
    world.agent('agent', 'commit');
    world.workflow('work', [
      { id: 'build', type: 'agent', prompt: 'Build.', onSuccess: 'verify' },
      { id: 'verify', type: 'action', action: 'checks' },
    ]);
    world.plan('p', { tickets: { a: {} } });
    await world.cli('run', 'p');
    expect(world.ticket('p', 'a').error).toBe('verify: exit 3 exited with code 3');
  });
});
