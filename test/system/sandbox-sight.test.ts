import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { tokenFile } from '../../src/web/token-and-sessions.ts';
import { it, waitFor } from '../support/index.ts';
import { makeRepo } from '../support/repo.ts';
import { TestSite } from '../web/site.ts';
import { attempt, outsideTmp, prepare, report, worksBehindWalls } from './sandbox-support.ts';

describe('what a sandboxed agent sees', () => {
  it('sees of the home that its account has only what the settings name, and cannot write that', async ({
    world,
  }) => {
    const account = mkdtempSync(join(userInfo().homedir, '.signalbox-test-'));
    try {
      writeFileSync(join(account, 'secret.txt'), 'private');
      const shown = join(account, 'lib');
      mkdirSync(shown);
      writeFileSync(join(shown, 'tool.txt'), 'needed');
      const tries = [
        attempt('account', `cat '${account}/secret.txt'`),
        attempt('tool', `cat '${shown}/tool.txt'`),
        attempt('change', `echo x > '${shown}/tool.txt'`),
      ];
      const body = `${tries.join('\n')}\ngit add --all; git commit -qm Seen`;
      prepare(world, body, { sandboxReadable: [shown] });
      world.plan('p', { tickets: { a: {} } });
      const run = await world.cli('run', 'p');
      expect(run.code, run.out + run.err).toBe(0);
      expect(report(world)).toEqual(['account refused', 'tool worked', 'change refused']);
    } finally {
      rmSync(account, { recursive: true });
    }
  });

  it('sees no login, and nothing of other plans', async ({ world }) => {
    const user = join(world.dir, 'user');
    const put = (path: string, text: string) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    };
    const secrets = ['.config/git/credentials', '.local/share/keyrings/login', '.git-credentials'];
    for (const name of secrets) put(join(user, name), 'private');
    put(join(user, '.local/lib/node_modules/tool/index.js'), '');
    put(join(user, '.local/bin/tool'), '#!/bin/sh\n');
    put(
      join(user, '.gitconfig'),
      '[alias]\n\tst = status\n[credential]\n\thelper = store\n[http "https://x.test"]\n\textraheader = private\n',
    );
    const elsewhere = mkdtempSync(join(homedir(), '.signalbox-test-'));
    try {
      const other = makeRepo(join(elsewhere, 'repo'));
      put(join(elsewhere, 'worktrees/ticket/q/z/secret.txt'), 'private');
      prepare(
        world,
        [
          ...secrets.map((name) => attempt(name, `cat '${join(user, name)}'`)),
          attempt('other-tree', `cat '${elsewhere}/worktrees/ticket/q/z/secret.txt'`),
          attempt('other-repo', `cat '${other}/README.md'`),
          attempt('header', 'git config --get-regexp "http|credential"'),
          attempt('alias', 'git st'),
          attempt('tool', `cat '${user}/.local/lib/node_modules/tool/index.js' '${user}/.local/bin/tool'`),
          'git add --all; git commit -qm Seen',
        ].join('\n'),
      );
      world.plan('p', { tickets: { a: {} } });
      world.plan('q', { repo: other, tickets: { z: { status: 'paused' } } });
      const env = {
        PATH: `${process.env.PATH}:${user}/.local/bin`,
        GIT_CONFIG_GLOBAL: join(user, '.gitconfig'),
      };
      const run = await world.start(['run', 'p'], env).ended;
      expect(run.code, run.out + run.err).toBe(0);
      const worked = report(world).filter((line) => line.endsWith(' worked'));
      expect(worked).toEqual(['alias worked', 'tool worked']);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('sees no token of the page, and does not reach its port with one', async ({ world }) => {
    const site = await TestSite.open(world);
    const ask = (path: string) =>
      `"${process.execPath}" -e 'fetch("${site.server.url}${path}").then(() => 0, () => process.exit(1))'`;
    prepare(
      world,
      [
        attempt('token', `cat '${tokenFile(world.home)}'`),
        attempt('node', `"${process.execPath}" -e 0`),
        attempt('page', ask('')),
        attempt('signed-in', ask(`?token=${site.token}`)),
        'git add --all; git commit -qm Seen',
      ].join('\n'),
    );
    world.plan('p', { tickets: { a: {} } });
    const run = await world.cli('run', 'p');
    expect(run.code, run.out + run.err).toBe(0);
    expect(report(world)).toEqual(['token refused', 'node worked', 'page refused', 'signed-in refused']);
    expect((await site.send('/')).status).toBe(200);
    await site.close();
  });

  it('sees no worktree that another ticket gets while it works', async ({ world }) => {
    const elsewhere = mkdtempSync(join(homedir(), '.signalbox-test-'));
    try {
      const other = makeRepo(join(elsewhere, 'repo'));
      const worktreeRoot = join(elsewhere, 'trees');
      const secret = join(worktreeRoot, 'ticket/q/z/secret.txt');
      const wait = 'mkfifo wait; echo > begun; read x < wait';
      const look = attempt('other', `cat '${secret}'`);
      prepare(world, `${wait}\n${look}\ngit add report.txt; git commit -qm Seen`);
      world.agent('free', 'echo private > secret.txt; exit 1');
      world.plan('p', { tickets: { a: {} } });
      world.plan('q', { repo: other, worktreeRoot, tickets: { z: { agent: 'free' } } });
      const run = world.start(['run', 'p']);
      const tree = world.worktree('p', 'a');
      await waitFor('the agent to begin', () => existsSync(join(tree, 'begun')));
      await world.cli('run', 'q');
      expect(readFileSync(secret, 'utf8')).toBe('private\n');
      writeFileSync(join(tree, 'wait'), '\n');
      await run.ended;
      expect(report(world)).toEqual(['other refused']);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it.for(['ag', '.claude/local/ag', '.claude/ag'])('starts as ~/%s', async (name) => {
    await outsideTmp(async (world) => {
      const secret = join(world.dir, 'user', '.claude', 'secret');
      const program = join(world.dir, 'user', name);
      for (const file of [secret, program]) mkdirSync(dirname(file), { recursive: true });
      writeFileSync(secret, 'private');
      await worksBehindWalls(world, program, secret);
    });
  });

  it('starts as a program that lies in shared memory, which it sees nothing else of', async ({ world }) => {
    const shared = mkdtempSync('/dev/shm/signalbox-test-');
    try {
      mkdirSync(join(shared, 'bin'));
      const program = join(shared, 'bin', 'ag');
      writeFileSync(join(shared, 'secret'), 'private');
      await worksBehindWalls(world, program, join(shared, 'secret'));
    } finally {
      rmSync(shared, { recursive: true });
    }
  });

  it('has its job’s directory where the home of Signalbox is a link', async () => {
    await outsideTmp(async (world) => {
      prepare(
        world,
        'cat "$SIGNALBOX_PROMPT_FILE" > report.txt && git add --all && git commit -qm Read; exit $?',
      );
      renameSync(world.home, join(world.dir, 'real-home'));
      symlinkSync(join(world.dir, 'real-home'), world.home);
      world.plan('p', { tickets: { a: {} } });
      const run = await world.cli('run', 'p');
      expect(run.code, run.out + run.err).toBe(0);
      expect(report(world).join()).toContain('Build.');
    });
  });
});
