import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { git, type World } from '../../support/index.ts';

export const BUILD = { id: 'build', type: 'agent', prompt: 'Build.' };
export const branchesOf = (world: World) =>
  git(world.repo, 'branch', '--format=%(refname:short)').split('\n');

/** A program in the world's own directory, which is first on the PATH that is returned. */
export function program(world: World, name: string, text: string): NodeJS.ProcessEnv {
  const bin = join(world.dir, 'programs');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(bin, name), 0o755);
  return { PATH: `${bin}:${world.env.PATH}` };
}
