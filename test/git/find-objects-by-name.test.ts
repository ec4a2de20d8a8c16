import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { expect, it } from 'vitest';
import { findRepo } from '../../src/git/find-repository.ts';
import { branchRef, readRef, readRefs } from '../../src/git/refs.ts';
import { createGit } from '../../src/git/run-git.ts';
import { processStart } from '../../src/machine/process-identity-and-signals.ts';
import { within } from '../support/within.ts';
import { bench, commit, git } from '../workspaces/helpers.ts';

async function opened(program?: string) {
  const all = bench();
  const asked = createGit({ env: all.env, ...(program ? { git: program } : {}) });
  return { ...all, at: { ...(await findRepo(asked, all.repo)), git: asked } };
}

it('finds refs as they are, also when they were made, moved, packed or deleted since', async () => {
  const { at, repo, first } = await opened();
  const tip = () => readRef(at, branchRef('x'));
  expect(await tip()).toBeUndefined();
  git(repo, 'branch', 'x');
  expect(await tip()).toBe(first);
  const next = commit(repo, { n: '1' });
  git(repo, 'branch', '--force', 'x', 'main');
  expect(await tip()).toBe(next);
  git(repo, 'pack-refs', '--all');
  git(repo, 'gc', '--quiet');
  expect(await readRefs(at, [branchRef('x'), branchRef('y')])).toEqual(new Map([[branchRef('x'), next]]));
  git(repo, 'branch', '--quiet', '-D', 'x');
  expect(await tip()).toBeUndefined();
});

it('takes no name that ends like an abbreviated commit for that commit', async () => {
  const { at, first } = await opened();
  expect(await readRef(at, branchRef(`fix-g${first.slice(0, 8)}`))).toBeUndefined();
});

it('starts one process for many questions', async () => {
  const { root } = bench();
  const log = join(root, 'calls');
  const program = join(root, 'counting-git');
  writeFileSync(program, `#!/bin/sh\necho "$1" >> ${log}\nexec git "$@"\n`, { mode: 0o755 });
  const { at, first } = await opened(program);
  const tips = await Promise.all(Array.from({ length: 50 }, () => readRef(at, branchRef('main'))));
  expect(new Set(tips)).toEqual(new Set([first]));
  const calls = readFileSync(log, 'utf8').trim().split('\n');
  expect(calls.filter((name) => name === 'cat-file')).toHaveLength(1);
});

it('answers that nothing is there once the repository is deleted', async () => {
  const { at, repo, first } = await opened();
  expect(await readRef(at, branchRef('main'))).toBe(first);
  rmSync(repo, { recursive: true });
  expect(await at.git.resolve(at, [branchRef('main')])).toEqual([undefined]);
});

it('is asked otherwise where its process cannot answer', async () => {
  const { root } = bench();
  const program = join(root, 'refusing-git');
  writeFileSync(program, `#!/bin/sh\n[ "$1" = cat-file ] && exit 1\nexec git "$@"\n`, { mode: 0o755 });
  const { at, first } = await opened(program);
  expect(await readRef(at, branchRef('main'))).toBe(first);
});

it('does not keep our process alive, and ends with it', async () => {
  const { root, repo } = bench();
  const pid = join(root, 'pid');
  const program = join(root, 'noting-git');
  writeFileSync(program, `#!/bin/sh\n[ "$1" = cat-file ] && echo $$ > ${pid}\nexec git "$@"\n`, {
    mode: 0o755,
  });
  const script = join(root, 'ask.mjs');
  const modules = ['run-git.ts', 'refs.ts', 'find-repository.ts'].map((name) =>
    join(import.meta.dirname, '../../src/git', name),
  );
  const entry = join(root, 'ask.ts');
  writeFileSync(
    entry,
    `import { createGit } from ${JSON.stringify(modules[0])};
import { readRef } from ${JSON.stringify(modules[1])};
import { findRepo } from ${JSON.stringify(modules[2])};
const git = createGit({ env: process.env, git: ${JSON.stringify(program)} });
console.log(await readRef({ ...(await findRepo(git, ${JSON.stringify(repo)})), git }, 'refs/heads/main'));
`,
  );
  await build({
    input: entry,
    platform: 'node',
    output: { file: script, format: 'esm' },
    logLevel: 'silent',
  });
  const out = execFileSync(process.execPath, [script], { encoding: 'utf8' }).trim().split('\n');
  expect(out[0]).toBe(git(repo, 'rev-parse', 'main'));
  const reader = Number(readFileSync(pid, 'utf8'));
  await expect.poll(() => processStart(reader), { timeout: within(20_000) }).toBeUndefined();
});
