import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Running } from '../support/cli.ts';
import { atFileEnd } from '../support/ends.ts';
import type { World } from '../support/index.ts';

export { git, it, story, type World, waitFor, worktreesOf } from '../support/index.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FIXTURES = join(ROOT, 'test', 'fixtures', 'v0.1');

let unpacked: string | undefined;

atFileEnd(() => {
  if (unpacked) rmSync(unpacked, { recursive: true, force: true });
  unpacked = undefined;
});

/** Starts a command of version 0.1. */
export function startOld(
  world: World,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd = world.dir,
): Running {
  if (!unpacked) {
    unpacked = mkdtempSync(join(tmpdir(), 'signalbox-test-old-'));
    unpack('program.tar.gz', unpacked);
  }
  // A setting that 0.1 does not know.
  world.config({ baseCheck: undefined });
  return world.start(args, env, cwd, join(unpacked, 'package', 'dist', 'cli.cjs'));
}

/** What 0.1 printed of its home with `--json`; lines of a log as a list. */
export interface Printed {
  args: string;
  printed: unknown;
}

/**
 * Puts the home, repository and worktrees of version 0.1 in place of the world's own. The program was updated where it
 * is installed, so the scripts that pinned workflows name are those of this build.
 */
export function layOut(world: World): { printed: Printed[]; stopped: string } {
  for (const dir of [world.home, world.repo, join(world.dir, 'user')]) world.remove(dir);
  unpack('home.tar.gz', world.dir);
  const places = { '@ROOT@': world.dir, '@PROGRAM@': ROOT.replace(/\/$/, ''), '@HOST@': hostname() };
  for (const entry of readdirSync(world.dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    // Every byte is one character, so that binary files stay as they are.
    const text = readFileSync(file, 'latin1');
    let placed = text;
    for (const [name, path] of Object.entries(places))
      placed = placed.replaceAll(name, Buffer.from(path).toString('latin1'));
    if (placed !== text) writeFileSync(file, placed, 'latin1');
  }
  const runs = readdirSync(join(world.stateDir, 'plans')).filter((name) => name.startsWith('run-'));
  const printed = JSON.parse(readFileSync(join(world.dir, 'printed.json'), 'utf8')) as Printed[];
  return { printed, stopped: runs.sort().at(-1) ?? '' };
}

function unpack(archive: string, to: string): void {
  execFileSync('tar', ['-xzmf', join(FIXTURES, archive), '-C', to, '--no-same-owner']);
}
