import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { GhOptions } from '../../src/github/gh/run-gh.ts';
import type { WorkItem } from '../../src/issues/work-item.ts';
import { atTestEnd } from '../support/ends.ts';
import { FakeGh } from '../support/gh/fake-gh.ts';
import { GIT_ENV, git } from '../support/repo.ts';

const dirs: string[] = [];
atTestEnd(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

/** A directory of its own for one test. */
export function scratch(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-sources-')));
  dirs.push(dir);
  return dir;
}

export function write(dir: string, name: string, text: string | Uint8Array): string {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** A checkout whose origin is at `remote`, and the scripted gh. */
export function checkout(remote = 'https://github.com/acme/web.git'): {
  dir: string;
  fake: FakeGh;
  options: GhOptions;
} {
  const dir = scratch();
  const cwd = join(dir, 'work');
  mkdirSync(cwd);
  git(cwd, 'init', '--quiet', '--template=');
  if (remote !== '') git(cwd, 'remote', 'add', 'origin', remote);
  const fake = new FakeGh(join(dir, 'github'));
  return {
    dir: cwd,
    fake,
    options: { cwd, env: { ...GIT_ENV, ...fake.env, HOME: dir }, gh: FakeGh.command },
  };
}

export function workItem(key: string, dependsOn: string[] = []): WorkItem {
  return {
    key,
    id: key,
    number: null,
    title: key,
    body: '',
    labels: [],
    acceptanceCriteria: [],
    url: null,
    state: 'open',
    dependsOn,
    repository: null,
  };
}
