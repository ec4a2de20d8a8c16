import { expect, it } from 'vitest';
import { GitError } from '../../src/git/run-git.ts';

it.each([
  ['fatal: not a git repository', 'fatal: not a git repository'],
  ['warning: x\nerror: first\nfatal: last\nhint: y', 'fatal: last'],
  [
    'error: object 1a2b: missingEmail: invalid author/committer line\nfatal: fsck error in packed object\nfatal: fetch-pack: invalid index-pack output',
    'error: object 1a2b: missingEmail: invalid author/committer line',
  ],
  [
    'error: object 1a2b: missingEmail: invalid author/committer line\nfatal: fsck error in packed object\nfatal: index-pack failed',
    'error: object 1a2b: missingEmail: invalid author/committer line',
  ],
  ['fatal: index-pack failed', 'fatal: index-pack failed'],
  ['', 'exit code 128'],
])('of %j it says what went wrong', (stderr, said) => {
  expect(new GitError(['fetch'], { code: 128, stderr }).message).toBe(`git fetch failed: ${said}`);
});
