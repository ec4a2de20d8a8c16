import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Exit } from './arguments.mjs';

const WAIT = new Int32Array(new SharedArrayBuffer(4));

/** Reads the state, lets `change` work on it and writes it back, one process at a time. */
export function update(file, change) {
  lock(`${file}.lock`);
  try {
    const state = JSON.parse(readFileSync(file, 'utf8'));
    const before = JSON.stringify(state, null, 1);
    const result = change(state);
    const after = JSON.stringify(state, null, 1);
    // A call that only reads leaves the file as it is: its time tells when something happened.
    if (after !== before) replace(file, after);
    return result;
  } finally {
    rmSync(`${file}.lock`, { force: true });
  }
}

/** The number of this call among those of its kind, from 1; only within `update`. */
export function countCall(file, kind) {
  const counts = existsSync(`${file}.counts`) ? JSON.parse(readFileSync(`${file}.counts`, 'utf8')) : {};
  counts[kind] = (counts[kind] ?? 0) + 1;
  replace(`${file}.counts`, JSON.stringify(counts));
  return counts[kind];
}

function replace(file, text) {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/** A lock is never seen without its holder, and one whose holder was killed lets nobody wait. */
function lock(path) {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    for (let tries = 0; tries < 2_000; tries += 1) {
      try {
        linkSync(own, path);
        return;
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
        if (isDead(path)) rmSync(path, { force: true });
        else Atomics.wait(WAIT, 0, 0, 5);
      }
    }
  } finally {
    rmSync(own, { force: true });
  }
  throw new Error(`${path} is held by another process`);
}

function isDead(path) {
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

export function hostOf(state) {
  return state.host ?? 'github.com';
}

/** The repository a command is about: named, or the current one. Hidden ones are as good as absent. */
export function repositoryOf(state, named) {
  const name = (named ?? state.current)
    .replace(/^https?:\/\//, '')
    .split('/')
    .slice(-2)
    .join('/');
  const found = findRepository(state, name);
  if (!found)
    throw new Exit(1, `GraphQL: Could not resolve to a Repository with the name '${name}'. (repository)\n`);
  return found;
}

export function findRepository(state, name) {
  const found = state.repositories.find((each) =>
    [each.nameWithOwner, each.formerly].some((known) => known?.toLowerCase() === name.toLowerCase()),
  );
  return found?.hidden ? undefined : found;
}
