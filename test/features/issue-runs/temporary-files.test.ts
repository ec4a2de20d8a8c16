import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { EXEC_FLAGS, it, NumberedWorld, titled } from './support.ts';

describe('state, log and statistics', () => {
  it('are written beside where they belong: the place for temporary files may be missing or elsewhere', async ({
    world,
  }) => {
    world.agent('agent', 'commit');
    const issues = new NumberedWorld(world, ...titled(1));
    const env = { ...issues.env, TMPDIR: join(world.dir, 'nowhere') };
    const { code, out } = await world.invoke(['run', '1', ...EXEC_FLAGS], env, world.repo).ended;
    expect(code, out).toBe(0);
    const run = await issues.run();
    expect(world.ticket(run, '1').status).toBe('complete');
    expect(issues.log(run).summary).toMatchObject({ passed: 1, aborted: false });
    const stats = await world.invoke(['stats', '--json'], env, world.repo).ended;
    expect(JSON.parse(stats.out).issues).toMatchObject({ total: 1, passed: 1 });
    expect(world.exists('nowhere')).toBe(false);
  });
});
