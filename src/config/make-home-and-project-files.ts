import { appendFileSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { InputError } from '../model/errors.ts';
import { configTemplate } from './describe-settings.ts';
import { readText } from './find-config-and-state.ts';
import { detectManifest } from './project-manifest.ts';

/** What was done, path by path: `kept` existed before and is unchanged. */
export interface Made {
  path: string;
  did: 'made' | 'kept' | 'extended';
}

const HOME_DIRECTORIES = ['state', 'logs', 'workflows', 'prompts', 'scripts'];
/** Exported logs, and the state of a run with ./signalbox.yaml: neither belongs into history. */
const IGNORED = ['logs/', 'state/'];

/** Creates what is missing of a home and changes nothing else. */
export function makeHome(home: string): Made[] {
  return [
    directory(home, 0o700),
    file(join(home, 'config.yaml'), configTemplate()),
    ...HOME_DIRECTORIES.map((name) => directory(join(home, name))),
  ];
}

/** Creates what is missing of a repository's own `.signalbox/`. */
export function makeProject(top: string): Made[] {
  const dir = join(top, '.signalbox');
  return [
    directory(dir),
    file(join(dir, 'settings.json'), json({ version: 1 })),
    file(join(dir, 'manifest.json'), json(detectManifest(top))),
    ignoreRules(join(dir, '.gitignore')),
  ];
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function directory(path: string, mode = 0o755): Made {
  return attempt(path, () => {
    if (isDirectory(path)) return 'kept';
    makeAll(path, mode);
    return 'made';
  });
}

/** One by one: making several at once, Node takes a read-only file system for a missing directory. */
function makeAll(path: string, mode: number): void {
  if (!existsSync(dirname(path))) makeAll(dirname(path), mode);
  mkdirSync(path, { mode });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function file(path: string, text: string): Made {
  return attempt(path, () => {
    try {
      writeFileSync(path, text, { flag: 'wx' });
      return 'made';
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'kept';
      throw error;
    }
  });
}

/** A person's own rules stay; only missing ones are added below them. */
function ignoreRules(path: string): Made {
  const before = readText(path);
  if (before === undefined) return file(path, `${IGNORED.join('\n')}\n`);
  const present = new Set(before.split(/\r?\n/).map((line) => line.trim().replace(/^\//, '')));
  const missing = IGNORED.filter((rule) => !present.has(rule));
  return attempt(path, () => {
    if (missing.length === 0) return 'kept';
    appendFileSync(path, `${before === '' || before.endsWith('\n') ? '' : '\n'}${missing.join('\n')}\n`);
    return 'extended';
  });
}

function attempt(path: string, make: () => Made['did']): Made {
  try {
    return { path, did: make() };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new InputError('init/failed', `Cannot create ${path} (${code}).`, {
      hint:
        code === 'EEXIST' || code === 'ENOTDIR'
          ? 'A file is where a directory should be; move it away or choose another place with --dir.'
          : code === 'EROFS'
            ? 'It is on a read-only file system; choose another place with --dir or SIGNALBOX_HOME.'
            : 'Choose another place with --dir or SIGNALBOX_HOME.',
      details: { path },
      cause: error,
    });
  }
}
