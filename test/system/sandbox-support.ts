import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { git, World } from '../support/index.ts';
import { makeRepo } from '../support/repo.ts';

export const WORK = { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true } };

export function prepare(world: World, body: string, more: Record<string, unknown> = {}): void {
  world.agent('agent', body, { sandbox: 'bwrap', ...more });
  world.workflow('work', [WORK]);
}

/** Tries something and notes in the worktree whether it went well. */
export const attempt = (name: string, command: string) =>
  `if (${command}) >/dev/null 2>&1; then echo '${name} worked' >> report.txt; else echo '${name} refused' >> report.txt; fi`;

/** What Claude Code says when all is well. */
export const ANSWER =
  `echo '{"type":"system","subtype":"init","session_id":"s-1"}'\n` +
  `echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-1"}'`;

/** In a world that is not hidden already for lying among temporary files. */
export async function outsideTmp(work: (world: World) => Promise<void>): Promise<void> {
  const before = process.env.TMPDIR;
  const root = mkdtempSync(join(homedir(), '.signalbox-test-'));
  // What repositories are copied from stays among temporary files.
  makeRepo(join(root, 'first'));
  process.env.TMPDIR = root;
  const world = new World();
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  try {
    await work(world);
  } finally {
    await world.close();
    rmSync(root, { recursive: true, force: true });
  }
}

export function report(world: World, id = 'a'): string[] {
  return git(world.repo, 'show', `ticket/p/${id}:report.txt`).trim().split('\n');
}

/** Puts an agent at the path and runs a ticket with it: it works, and does not see the secret. */
export async function worksBehindWalls(world: World, program: string, secret: string): Promise<void> {
  const version = 'if [ "$1" = --version ]; then echo 99.0.0; exit; fi';
  const work = [attempt('secret', `cat '${secret}'`), 'git add --all', 'git commit -qm Begun', ANSWER];
  const body = [version, ...work];
  writeFileSync(program, `#!/bin/sh\n${body.join('\n')}\n`, { mode: 0o755 });
  const agent = { adapter: 'claude', command: program, sandbox: 'bwrap' };
  world.config({ defaultAgent: 'agent', agents: { agent } });
  world.workflow('work', [WORK]);
  world.plan('p', { tickets: { a: {} } });
  const run = await world.cli('run', 'p');
  expect(run.code, run.out + run.err).toBe(0);
  expect(report(world)).toEqual(['secret refused']);
}
