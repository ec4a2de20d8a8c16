// Installs pinned releases of the coding-agent CLIs into a cache of their own, outside node_modules.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { NODE, releaseOf } from './pinned.mjs';

const INSTALL_MS = 10 * 60_000;

/** Where the CLIs are kept: SIGNALBOX_AGENTS_DIR, else the user's cache. */
export function cacheDir(env = process.env) {
  if (env.SIGNALBOX_AGENTS_DIR) return env.SIGNALBOX_AGENTS_DIR;
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'signalbox-agents');
}

/** The command of an installed `name` or `name@version`. Its name is the CLI's own, so that the adapter is found by it. */
export function commandOf(asked, env = process.env) {
  const { name, ...release } = releaseOf(asked);
  return join(placeOf(name, release, cacheDir(env)), 'bin', name);
}

/** Installs what is missing and returns the command. Throws with npm's last words when that fails. */
export function install(asked, { env = process.env, say = () => undefined } = {}) {
  const cache = cacheDir(env);
  const node = join(provide('node', NODE, cache, env, say), NODE.bin);
  const { name, ...release } = releaseOf(asked);
  provide(name, release, cache, env, say, (dir, home) => {
    const file = join(dir, 'bin', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      `#!/bin/sh\nPATH='${dirname(node)}':"$PATH" exec '${join(home, release.bin)}' "$@"\n`,
    );
    chmodSync(file, 0o755);
  });
  return commandOf(asked, env);
}

function placeOf(name, { version }, cache) {
  return join(cache, `${name}-${version}`);
}

/**
 * Installs a package of npm into a directory of the cache and returns that. Built beside and then moved into place, so that an
 * install that was cut off is never taken for a whole one.
 */
export function provide(
  name,
  pinned,
  cache = cacheDir(),
  env = process.env,
  say = () => undefined,
  finish = () => undefined,
) {
  const home = placeOf(name, pinned, cache);
  if (existsSync(home)) return home;
  const dir = `${home}.${process.pid}`;
  say(`installing ${pinned.package}@${pinned.version} into ${home}`);
  mkdirSync(dir, { recursive: true });
  try {
    writeFileSync(join(dir, 'package.json'), '{"private":true}\n');
    const args = ['install', '--no-audit', '--no-fund', '--no-save', '--loglevel=error'];
    const { status, stderr, error } = spawnSync('npm', [...args, `${pinned.package}@${pinned.version}`], {
      cwd: dir,
      env,
      encoding: 'utf8',
      timeout: INSTALL_MS,
    });
    if (status !== 0) throw new Error(`npm could not install ${name}: ${error?.message ?? stderr.trim()}`);
    if (!existsSync(join(dir, pinned.bin))) throw new Error(`${name} has no ${pinned.bin} after its install`);
    finish(dir, home);
    renameSync(dir, home);
  } catch (problem) {
    rmSync(dir, { recursive: true, force: true });
    // Another process may have installed it first.
    if (!existsSync(home)) throw problem;
  }
  return home;
}
