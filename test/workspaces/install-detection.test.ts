import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkCommands } from '../../src/engine/checks.ts';
import { frozenInstall } from '../../src/workspaces/install.ts';

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function project(files: Record<string, string>): string {
  const dir = mkdtempSync(join(tmpdir(), 'signalbox-install-'));
  dirs.push(dir);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

const PACKAGE = '{"scripts": {"test": "true"}}';
const DECLARED = '{"packageManager": "yarn@1.22.0", "scripts": {"test": "true"}}';
const BOTH = { 'package-lock.json': '', 'pnpm-lock.yaml': '' };

describe('who installs the dependencies of a worktree and runs its scripts', () => {
  it.each([
    ['nobody', { 'Cargo.toml': '' }, null, undefined],
    ['nobody without a lock file', { 'package.json': PACKAGE }, 'npm', undefined],
    ['the only lock file', { 'package.json': PACKAGE, 'bun.lockb': '' }, null, 'bun'],
    ['the only lock file, whoever is wanted', { 'package.json': PACKAGE, 'yarn.lock': '' }, 'npm', 'yarn'],
    ['the only lock file, whoever is declared', { 'package.json': DECLARED, 'bun.lock': '' }, null, 'bun'],
    ['of several the wanted one', { 'package.json': PACKAGE, ...BOTH }, 'npm', 'npm'],
    ['of several the declared one', { 'package.json': DECLARED, ...BOTH, 'yarn.lock': '' }, null, 'yarn'],
    ['of several the one that init would write down', { 'package.json': PACKAGE, ...BOTH }, null, 'pnpm'],
    ['nobody that is unknown', { 'package.json': PACKAGE, 'yarn.lock': '' }, 'cargo', 'yarn'],
  ])('%s', (_, files, wanted, manager) => {
    const dir = project(files as Record<string, string>);
    expect(frozenInstall(dir, wanted)?.command.split(' ')[0]).toBe(manager);
    if (manager && wanted === null) expect(checkCommands(null, dir)).toEqual([`${manager} run test`]);
  });
});
