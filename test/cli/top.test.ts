import { describe, expect } from 'vitest';
import { it } from '../support/index.ts';

const FAILED = { status: 'failed', error: 'nothing was committed', currentPhase: 'build' } as const;

describe('top', () => {
  it('prints one frame where no terminal is, with every ticket in its section', async ({ world }) => {
    world.plan('p', {
      tickets: { a: FAILED, b: { title: 'Fix it' }, c: { status: 'complete' } },
    });
    const { out, code } = await world.cli('top');
    expect(code).toBe(0);
    expect(out).not.toContain('\u001b');
    expect(out).toMatch(/^no engine is running · 0 of \d+ running · \$0\.00 today$/m);
    expect(out).toMatch(/^1 needs you · 0 running · 1 waiting · 1 done$/m);
    expect(out).toMatch(
      /Need you \(1\)\n +✗ a .*nothing was committed\nWaiting \(1\)\n +◌ b .*\nDone \(1\)\n +✓ c/,
    );
  });

  it('prints the board as JSON, with the same reasons as status', async ({ world }) => {
    world.plan('p', { tickets: { a: FAILED, b: {} } });
    const board = await world.json<{ rows: { ticketId: string; why: string; next: string }[] }>('top');
    const [status] =
      await world.json<{ tickets: { ticketId: string; why: string; next: string }[] }[]>('status');
    expect(board).toMatchObject({ counts: { 'need you': 1, running: 0, waiting: 1, done: 0 }, limits: [] });
    const reasons = (rows: readonly { ticketId: string; why: string; next: string }[] = []) =>
      rows.map(({ ticketId, why, next }) => ({ ticketId, why, next }));
    expect(reasons(board.rows)).toEqual(reasons(status?.tickets));
    const help = (await world.cli('top', '--help')).out.replaceAll(/\s+/g, ' ');
    expect(help).toContain(`{${Object.keys(board).join(', ')}}`);
  });

  it('shows one plan, also one that is finished, and says where there are none', async ({ world }) => {
    const empty = await world.cli('top');
    expect(empty.out).toContain('No open plans.');
    world.plan('old', { status: 'complete', tickets: { a: { status: 'complete' } } });
    world.plan('p', { tickets: { b: {} } });
    const one = await world.cli('top', 'old');
    expect(one.out).toMatch(/0 waiting · 1 done/);
    expect((await world.cli('top')).out).toMatch(/1 waiting · 0 done/);
    expect((await world.cli('top', 'none')).err).toContain('There is no plan "none".');
  });
});
