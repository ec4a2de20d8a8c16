import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createWorkspaces } from '../../src/workspaces/workspaces.ts';
import { git, it, type World } from '../support/index.ts';

function commitAt(world: World, seconds: number): string {
  const date = `@${seconds} +0000`;
  const by = ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid'];
  const env = { ...process.env, ...world.env, GIT_COMMITTER_DATE: date };
  execFileSync('git', [...by, 'commit', '--quiet', '--allow-empty', '--message=x'], { cwd: world.repo, env });
  return git(world.repo, 'rev-parse', 'HEAD');
}

it('the commit of a checkout at a time is the last one before it', async ({ world }) => {
  const first = git(world.repo, 'rev-parse', 'HEAD');
  const now = Math.floor(Date.now() / 1000);
  const second = commitAt(world, now + 100);
  const third = commitAt(world, now + 200);
  const { headAt } = createWorkspaces({ env: world.env });
  const at = (seconds: number) => headAt(world.repo, new Date((now + seconds) * 1000));
  const found = await Promise.all([at(50), at(100), at(150), at(250)]);
  expect(found).toEqual([first, second, second, third]);
});

it('is unknown where git keeps no log', async ({ world }) => {
  rmSync(join(world.repo, '.git/logs'), { recursive: true });
  const { headAt } = createWorkspaces({ env: world.env });
  expect(await headAt(world.repo, new Date())).toBeUndefined();
});
