import { lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { ownPlaces, type Seed } from '../agents/index.ts';

export interface SandboxHome {
  /** What lies where inside, and may be written: from, to. */
  writable: (readonly [string, string])[];
  /** The same for reading, over what may be written. */
  readable: (readonly [string, string])[];
  env: Record<string, string>;
}

const LARGEST = 16 * 1024 * 1024;
/** Directories by variable that lie below the home directory when nobody says otherwise. */
const XDG: Readonly<Record<string, string>> = {
  XDG_DATA_HOME: '.local/share',
  XDG_CONFIG_HOME: '.config',
  XDG_CACHE_HOME: '.cache',
  XDG_STATE_HOME: '.local/state',
};

/**
 * Makes ready what a CLI keeps in its home directory, for one ticket: sessions stay from turn to turn, login and settings
 * are copies, and of the user's own files nothing can be written.
 */
export function openHome(spec: {
  /** Kept between turns; what is in it was written by an agent. */
  dir: string;
  adapter: string;
  userHome: string;
  env: Readonly<Record<string, string>>;
}): SandboxHome {
  const { dir, userHome, env } = spec;
  const own = ownPlaces(spec.adapter);
  const from = env.HOME && isAbsolute(env.HOME) ? env.HOME : userHome;
  const home: SandboxHome = { writable: [], readable: [], env: { HOME: userHome } };
  for (const [name, below] of Object.entries(XDG))
    if (env[name] !== undefined) home.env[name] = join(userHome, below);
  // The one that everybody has of their own inside.
  for (const name of ['TMPDIR', 'TMP', 'TEMP']) if (env[name] !== undefined) home.env[name] = '/tmp';
  for (const [name, below] of Object.entries(own.env)) home.env[name] = join(userHome, below);
  for (const { at, moved, seeds, shown } of own.directories) {
    const value = env[moved[0]];
    const isMoved = value !== undefined && isAbsolute(value);
    const source = isMoved ? join(value, moved[1]) : join(from, at);
    const target = ownDirectory(dir, at);
    for (const seed of seeds)
      plant(seed, join(source, isMoved ? seed.name : (seed.from ?? seed.name)), target);
    home.writable.push([target, join(userHome, at)]);
    for (const name of shown) {
      if (!statSync(join(source, name), { throwIfNoEntry: false })?.isDirectory()) continue;
      ownDirectory(target, name);
      home.readable.push([join(source, name), join(userHome, at, name)]);
    }
  }
  return home;
}

/** A directory at each step, whatever an agent put there: a link would lead our copies elsewhere. */
export function ownDirectory(root: string, below: string): string {
  let path = root;
  for (const part of ['', ...below.split('/')]) {
    path = join(path, part);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory()) continue;
    rmSync(path, { force: true });
    mkdirSync(path, { recursive: part === '', mode: 0o700 });
  }
  return path;
}

function plant(seed: Seed, from: string, dir: string): void {
  const stat = statSync(from, { throwIfNoEntry: false });
  if (!stat?.isFile() || stat.size > LARGEST) return;
  const to = join(dir, seed.name);
  const there = lstatSync(to, { throwIfNoEntry: false });
  if (seed.login && there?.isFile() && there.mtimeMs > stat.mtimeMs) return;
  writeAnew(to, without(readFileSync(from), seed.without ?? []));
}

/** Never through what is there. */
export function writeAnew(path: string, content: Buffer | string): void {
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
}

function without(content: Buffer, keys: readonly string[]): Buffer | string {
  if (keys.length === 0) return content;
  try {
    const value = JSON.parse(content.toString('utf8')) as Record<string, unknown>;
    return JSON.stringify(Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key))));
  } catch {
    // Damaged: it would not be read either.
    return '{}';
  }
}
