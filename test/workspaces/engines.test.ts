import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { WorkspaceSpec } from '../../src/workspaces/workspaces.ts';
import { firstOnly } from '../support/tiers.ts';
import { bench, git, IDENTITY } from './helpers.ts';

const directory = mkdtempSync(join(tmpdir(), 'signalbox-worker-'));
const program = join(directory, 'worker.mjs');

beforeAll(async () => {
  const input = fileURLToPath(new URL('./worker.ts', import.meta.url));
  await build({ input, platform: 'node', output: { file: program, format: 'esm' }, logLevel: 'silent' });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Line = { word: string; branch: string; tip?: string; base?: string; released?: boolean };

/** Runs an engine process over some tickets; `until` kills it with SIGKILL as soon as it is true. */
async function engine(
  all: ReturnType<typeof bench>,
  specs: WorkspaceSpec[],
  until: (lines: Line[]) => boolean = () => false,
) {
  const child = spawn(process.execPath, [program, JSON.stringify(specs)], {
    env: { ...all.env, ...IDENTITY },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'close');
  const lines: Line[] = [];
  for await (const text of createInterface({ input: child.stdout })) {
    const space = text.indexOf(' ');
    lines.push({ word: text.slice(0, space), ...JSON.parse(text.slice(space)) });
    if (until(lines)) child.kill('SIGKILL');
  }
  return { lines, code: (await exit)[0] as number | null };
}

const specsOf = (all: ReturnType<typeof bench>, prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => all.spec(`${prefix}${index}`));

it('three engine processes share one repository without losing a ticket', { tags: 'full' }, async () => {
  const all = bench();
  const results = await Promise.all(['a', 'b', 'c'].map((prefix) => engine(all, specsOf(all, prefix, 10))));
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
  const lines = results.flatMap((result) => result.lines);
  const done = lines.filter(({ word }) => word === 'done');
  expect(done).toHaveLength(30);
  for (const { branch, tip, base } of done) {
    expect([git(all.repo, 'rev-parse', branch), base]).toEqual([tip, all.first]);
    expect(git(all.repo, 'rev-parse', `${branch}^`)).toBe(all.first);
  }
  expect(lines.filter(({ released }) => released)).toHaveLength(30);
  const left = git(all.repo, 'worktree', 'list', '--porcelain').match(/(?<=^worktree ).*/gm) ?? [];
  expect(left.length).toBeLessThanOrEqual(5);
  expect(git(all.repo, 'worktree', 'prune', '--dry-run')).toBe('');
});

for (const [index, message] of [5, 1, 2, 3, 8, 13].entries())
  it(`goes on after an engine was killed at its message ${message}`, firstOnly(index), async () => {
    const all = bench();
    const specs = specsOf(all, 'k', 12);
    const killed = await engine(all, specs, (lines) => lines.length >= message);
    expect(killed.code).toBe(null);
    const second = await engine(all, specs);
    expect(second.code).toBe(0);
    expect(second.lines.filter(({ released }) => released)).toHaveLength(12);
    for (const { branch, base } of second.lines.filter(({ word }) => word === 'done')) {
      expect(base).toBe(all.first);
      for (const { tip } of [...killed.lines, ...second.lines].filter(
        (line) => line.branch === branch && line.tip,
      ))
        git(all.repo, 'merge-base', '--is-ancestor', tip ?? '', branch);
    }
    expect(git(all.repo, 'worktree', 'prune', '--dry-run')).toBe('');
    expect(git(all.repo, 'fsck', '--no-dangling')).toBe('');
  });
