import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ownDirectories, type Seed } from '../agents/directories-and-variables-of-clis.ts';
import { ifPossible, removeTree, unlessCode } from '../machine/files/read-and-remove-files.ts';

interface SandboxHome {
  /** Writable mounts: from, to. */
  writable: (readonly [string, string])[];
  /** The same for reading, over what may be written. */
  readable: (readonly [string, string])[];
  env: Record<string, string>;
}

const LARGEST = 16 * 1024 * 1024;
/** Directories by variable that are below the home directory by default. */
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
export async function openHome(spec: {
  /** Kept between turns; what is in it was written by an agent. */
  dir: string;
  adapter: string;
  userHome: string;
  env: Readonly<Record<string, string>>;
}): Promise<SandboxHome> {
  const { dir, userHome, env } = spec;
  const from = env.HOME && isAbsolute(env.HOME) ? env.HOME : userHome;
  const home: SandboxHome = { writable: [], readable: [], env: { HOME: userHome } };
  for (const [name, below] of Object.entries(XDG))
    if (env[name] !== undefined) home.env[name] = join(userHome, below);
  // The sandbox has its own, empty one at this path.
  for (const name of ['TMPDIR', 'TMP', 'TEMP']) if (env[name] !== undefined) home.env[name] = '/tmp';
  for (const { at, moved, seeds, shown } of ownDirectories(spec.adapter)) {
    const [name, below] = moved;
    home.env[name] = join(userHome, at, below === '' ? '' : '..');
    const value = env[name];
    const isMoved = value !== undefined && isAbsolute(value);
    const source = isMoved ? join(value, below) : join(from, at);
    const target = ownDirectory(dir, at);
    for (const seed of seeds)
      await copySeed(seed, join(source, isMoved ? seed.name : (seed.from ?? seed.name)), target);
    home.writable.push([target, join(userHome, at)]);
    for (const name of shown) {
      if (!statSync(join(source, name), { throwIfNoEntry: false })?.isDirectory()) continue;
      ownDirectory(target, name);
      home.readable.push([join(source, name), join(userHome, at, name)]);
    }
  }
  return home;
}

/** Service accounts have their home in system directories, which every program needs. */
const SYSTEM = /^\/(?:(?:usr|bin|sbin|lib\w*|etc|dev|proc|sys)(?:\/|$)|$)/;

/** The home that the account has, wherever HOME points to. */
export function accountHome(): string[] {
  // In a container the user may have no account.
  const home = unlessCode(['ERR_SYSTEM_ERROR'], () => userInfo().homedir);
  return home !== undefined && isAbsolute(home) && !SYSTEM.test(home) ? [home] : [];
}

/** Programs that the user has in the CLI's own directory, which is replaced by a copy: from, to. */
export async function keptPrograms(
  writable: SandboxHome['writable'],
  programs: readonly string[],
): Promise<(readonly [string, string])[]> {
  const mounts: (readonly [string, string])[] = [];
  for (const program of programs) {
    const place = writable.find(([, to]) => program.startsWith(`${to}/`));
    const stat = place && statSync(program, { throwIfNoEntry: false });
    if (!place || !stat) continue;
    const [target, to] = place;
    const below = relative(to, program);
    if (stat.isDirectory()) ownDirectory(target, below);
    else await writeAnew(join(ownDirectory(target, dirname(below)), basename(below)), '');
    mounts.push([program, program]);
  }
  return mounts.sort(([a], [b]) => a.length - b.length);
}

/** A directory at each step, whatever an agent put there: a link would lead our copies elsewhere. */
function ownDirectory(root: string, below: string): string {
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

async function copySeed(seed: Seed, from: string, dir: string): Promise<void> {
  const stat = statSync(from, { throwIfNoEntry: false });
  if (!stat?.isFile() || stat.size > LARGEST) return;
  const to = join(dir, seed.name);
  const there = lstatSync(to, { throwIfNoEntry: false });
  if (seed.login && there?.isFile() && there.mtimeMs > stat.mtimeMs) return;
  await writeAnew(to, without(readFileSync(from), seed.without ?? []));
}

/** Never through what is there. */
async function writeAnew(path: string, content: Buffer | string): Promise<void> {
  await removeTree(path);
  writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
}

function without(content: Buffer, keys: readonly string[]): Buffer | string {
  if (keys.length === 0) return content;
  const kept = ifPossible(() => {
    const value = JSON.parse(content.toString('utf8')) as Record<string, unknown>;
    return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
  });
  // A damaged file would not be read either.
  return JSON.stringify(kept ?? {});
}

/** Sections of a git config that have, or lead to, logins and other people's addresses. */
const SECRET =
  /^\s*\[\s*(credential|http|https|url|remote|include|includeif|sendemail|imap|gpg|github|gitlab|hub|gitea|bitbucket|lfs|core\.sshcommand)\b/i;
const LOGIN = /:\/\/[^/\s]*@|\b(?:token|password|secret|authorization|extraheader|sshcommand|askpass)\b/i;

/** The user's settings of git as a sandboxed agent may read them, without logins: from, to. */
export async function gitSettings(spec: {
  dir: string;
  userHome: string;
  env: Readonly<Record<string, string>>;
}): Promise<(readonly [string, string])[]> {
  const { userHome, env } = spec;
  const dir = ownDirectory(spec.dir, 'git');
  const xdg = env.XDG_CONFIG_HOME && isAbsolute(env.XDG_CONFIG_HOME) ? env.XDG_CONFIG_HOME : undefined;
  const config = join(xdg ?? join(userHome, '.config'), 'git');
  const inside = join(userHome, '.config', 'git');
  const global = env.GIT_CONFIG_GLOBAL;
  const filtered: [string, string, string][] = [
    ['gitconfig', join(userHome, '.gitconfig'), join(userHome, '.gitconfig')],
    ['config', join(config, 'config'), join(inside, 'config')],
    ...(global && isAbsolute(global) ? [['global', global, global] as [string, string, string]] : []),
  ];
  const mounts: [string, string][] = [];
  for (const [name, from, to] of filtered) {
    if (!isFile(from)) continue;
    await writeAnew(join(dir, name), withoutLogins(readFileSync(from, 'utf8')));
    mounts.push([join(dir, name), to]);
  }
  for (const name of ['ignore', 'attributes'])
    if (isFile(join(config, name))) mounts.push([join(config, name), join(inside, name)]);
  return mounts;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The text without the sections and lines that may hold a login. Settings for signing are removed, too, because the keys are hidden. */
export function withoutLogins(text: string): string {
  const kept: string[] = [];
  let secret = false;
  // A value may continue in the next line.
  for (const line of text.replace(/\\\r?\n/g, ' ').split('\n')) {
    if (/^\s*\[/.test(line)) secret = SECRET.test(line);
    if (!secret && !LOGIN.test(line) && !/gpgsign|signingkey/i.test(line)) kept.push(line);
  }
  return kept.join('\n');
}

const MAX_BYTES = 16 * 1024 * 1024;

/**
 * What a CLI has written into its home for one ticket, for another machine: sessions, and neither logins nor the user's settings. Secrets are
 * removed from the texts. Undefined where it is too large, or has files that are not text, in which secrets could not be found.
 */
export function packHome(dir: string, adapter: string, redact: (text: string) => string): Buffer | undefined {
  const files: Record<string, string> = {};
  let bytes = 0;
  for (const { at, seeds, shown } of ownDirectories(adapter)) {
    if (linkAbove(dir, at)) continue;
    const left = new Set([...seeds.map(({ name }) => name), ...shown]);
    for (const path of filesIn(join(dir, at), '', left)) {
      const content = readFileSync(join(dir, at, path));
      bytes += content.length;
      const text = content.toString('utf8');
      if (bytes > MAX_BYTES || text.includes('\0') || !Buffer.from(text).equals(content)) return undefined;
      files[join(at, path)] = text.split('\n').map(redact).join('\n');
    }
  }
  return Object.keys(files).length > 0 ? gzipSync(JSON.stringify(files)) : undefined;
}

/** Writes them into the home of the ticket on this machine, in place of what is there. */
export function unpackHome(dir: string, adapter: string, packed: Buffer): void {
  const files = JSON.parse(gunzipSync(packed, { maxOutputLength: 8 * MAX_BYTES }).toString('utf8')) as Record<
    string,
    string
  >;
  const own = ownDirectories(adapter).map(({ at }) => at);
  for (const at of own) {
    for (let link = linkAbove(dir, at); link; link = linkAbove(dir, at)) rmSync(link);
    rmSync(join(dir, at), { recursive: true, force: true });
  }
  for (const [path, text] of Object.entries(files)) {
    const isOwn = own.some((at) => path.startsWith(`${at}/`)) && !path.split('/').includes('..');
    if (!isOwn) continue;
    mkdirSync(dirname(join(dir, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, path), text, { mode: 0o600 });
  }
}

/** A link in place of a directory above one of a home. An agent could have made it, to reach files outside of its home. */
function linkAbove(dir: string, at: string): string | undefined {
  const names = at.split('/').slice(0, -1);
  return names
    .map((_, index) => join(dir, ...names.slice(0, index + 1)))
    .find((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink());
}

/** Plain files below a directory. Links are left out: an agent may have pointed them anywhere. */
function filesIn(root: string, below: string, left: ReadonlySet<string>): string[] {
  const stat = lstatSync(join(root, below), { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return [];
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (below === '' && left.has(entry.name)) return [];
    if (entry.isDirectory()) return filesIn(root, path, left);
    return entry.isFile() ? [path] : [];
  });
}
