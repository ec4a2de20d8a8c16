import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Report } from '../../src/report/view-schemas.ts';
import { CliCall } from '../support/cli-call.ts';
import { git, it, setUp, waitFor } from './support.ts';

describe.concurrent('report', () => {
  it('covers 12 hours at first, then the time since one was shown on a terminal; unmerged work stays', async ({
    world,
  }) => {
    setUp(world);
    await world.cli('run', 'p');
    const first = (await world.cli('report')).out;
    expect(first).toMatch(/^Signalbox report, the last 12 hours, since .*\n1 of 1 done/);
    expect(first).toMatch(
      /Ready to merge\n {2}p\/a: .*\n {4}on branch ticket\/p\/a · 1 file changed.* · no checks ran\n/,
    );
    expect((await world.cli('report')).out).toContain('the last 12 hours');
    const place = { cwd: world.dir, env: world.env, terminal: true, columns: 100 };
    expect((await new CliCall(['report'], place).ended).out).toContain('the last 12 hours');
    const second = (await world.cli('report')).out;
    expect(second).toMatch(/^Signalbox report, since .*, when you last looked at one\n1 of 1 done\n/);
    expect(second).toMatch(/Ready to merge\n {2}p\/a: .*\n {4}on branch ticket\/p\/a · 1 file changed/);
    git(world.repo, 'merge', '--quiet', 'ticket/p/a');
    expect((await world.cli('report')).out).toMatch(/\nNothing happened, and nothing needs you\.\n$/);
    expect((await world.cli('report', '--since', '1h')).out).toContain('1 of 1 done');
    const json = await world.json<Report>('report', '--plan', 'p');
    expect(json).toMatchObject({ period: 'plan p', sections: [{ name: 'merged' }] });
    expect((await world.cli('report', '--since', 'noon')).err).toContain('--since 18:00');
    expect((await world.cli('report', '--html', '--plan', 'p')).out).toMatch(/^<!doctype html>\n/);
  });

  it('is about the repository it is called in, or all', async ({ world }) => {
    setUp(world, 'commit', { a: { status: 'failed', error: 'no' } });
    const other = join(world.dir, 'other');
    mkdirSync(join(other, '.git'), { recursive: true });
    const there = (...words: string[]) => world.invoke(['report', ...words], {}, other).ended;
    expect((await there()).out).toContain('Nothing happened');
    expect((await there('--all')).out).toContain('1 needs you');
    expect((await there('--repo', world.repo)).out).toContain('signalbox retry p a');
    expect((await there('--repo', world.dir)).err).toContain('is in no git repository');
    expect((await there('--repo', join(world.repo, 'gone'))).err).toContain('gone does not exist.');
  });

  it('is written when a run ends', async ({ world }) => {
    setUp(world);
    await world.cli('run', 'p');
    const dir = join(world.home, 'logs', 'reports');
    expect(readdirSync(dir)).toEqual(['p.md']);
    expect(readFileSync(join(dir, 'p.md'), 'utf8')).toContain('# Signalbox report, plan p\n\n1 of 1 done');
  });

  it('is written by an engine without a terminal when nothing moves any more, with what changed', async ({
    world,
  }) => {
    setUp(world, 'commit', { a: {}, b: { status: 'failed', error: 'no' } });
    const text = () => readFileSync(join(world.home, 'logs', 'reports', 'p.md'), 'utf8');
    expect((await world.cli('tick')).code).toBe(0);
    expect(text()).toContain('1 of 2 done, 1 needs you');
    expect(text()).toMatch(/on branch ticket\/p\/a · 1 file changed/);
    await world.cli('retry', 'p', 'b');
    const daemon = world.start(['daemon']);
    await waitFor('the report of the daemon', () => text().includes('2 of 2 done'));
    await daemon.kill('SIGTERM');
  });
});
