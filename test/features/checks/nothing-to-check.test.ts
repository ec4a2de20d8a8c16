import { describe, expect } from 'vitest';
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
    expect((await world.cli('status', '--plan', 'p')).out).toContain(NOTHING);
    expect((await world.cli('logs', 'p', 'a')).out).toContain(NOTHING);
    expect(world.events('p')).toContainEqual(
      expect.objectContaining({ type: 'attempt:end', phase: 'verify', note: NOTHING }),
    );
  });

  it('are shown as passed once there is something to run', async ({ world }) => {
    world.config({ checks: ['true'] });
    world.workflow('work', [{ id: 'verify', type: 'action', action: 'checks' }]);
    world.plan('p', { tickets: { a: {} } });
    const { out } = await world.cli('run', 'p', '--plain');
    expect(out).toMatch(/verify ✓/);
    expect(out).not.toContain('No checks');
  });
});
