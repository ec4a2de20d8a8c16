import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect } from 'vitest';
import { createProgram } from '../../src/cli/build-command-parser.ts';
import { Bench } from '../features/pull-requests/bench.ts';
import { testIo } from '../support/io.ts';
import { BUILD, DONE, git, it, STUCK, type World } from './support.ts';

/** A command line, the exit code, and what it prints to standard output (or error, where it prints nothing there). */
type Row = [line: string, code: number, prints: RegExp];

const GATE = { id: 'ask', type: 'gate', prompt: 'Good?', on: { yes: 'done', no: 'stuck' } };

/** Plans p (one ticket, no gate) and q (a ticket that waits at a gate after its first phase). */
function prepare(world: World): void {
  world.agent('agent', 'commit');
  world.workflow('work', [BUILD, DONE, STUCK]);
  world.workflow('asks', [{ ...BUILD, onSuccess: 'ask' }, GATE, DONE, STUCK]);
  world.plan('p', { status: 'draft', tickets: { a: {} } });
  world.plan('q', { workflow: 'asks', tickets: { b: {} } });
  writeFileSync(join(world.dir, 'bin', 'claude'), '#!/bin/sh\n', { mode: 0o755 });
  world.config({ checks: ['true'], agents: { claude: { command: join(world.dir, 'bin', 'claude') } } });
  const spec = join(world.repo, '.kiro/specs/tea');
  mkdirSync(spec, { recursive: true });
  writeFileSync(join(spec, 'tasks.md'), '# Tasks\n\n- [ ] 1. Boil water\n');
  writeFileSync(join(world.repo, 'one.md'), '# One\n');
  git(world.repo, 'add', '--all');
  git(world.repo, 'commit', '--quiet', '--message=Specs and issues');
}

const PLAIN: Row[] = [
  ['init', 0, /Next: signalbox doctor/],
  ['doctor', 0, /^✓ git /m],
  ['config', 0, /^defaultAgent/m],
  ['config path', 0, /config\.yaml$/m],
  ['config trust', 0, /^Trusted /],
  ['workflow list', 0, /^asks/m],
  ['workflow show work', 0, /^work/],
  ['workflow check work', 0, /^No problems in work\.$/m],
  ['workflow graph work', 0, /build/],
  ['skills list', 0, /^github-issues /m],
  ['skills install', 0, /\.claude\/skills/],
  ['completion bash', 0, /complete -F _signalbox signalbox/],
  ['import one.md', 0, /"title": "One"/],
  ['plan new n', 0, /Plan n is a draft/],
  ['plan add n t --title Tea', 0, /n has a ticket t\./],
  ['plan edit n t --title Coffee', 0, /n\/t is changed\./],
  ['plan remove n t', 0, /t is no longer in n\./],
  ['plan list', 0, /^plan +status/m],
  ['plan archive n', 0, /Plan n is archived/],
  ['plan delete n', 0, /\bn\b.*deleted/],
  ['plan show p', 0, /^p\b/],
  ['plan check p', 0, /can run/],
  ['plan approve p', 0, /Plan p is active/],
  ['status', 0, /^p$/m],
  ['workspace ensure p a', 0, /is on ticket\/p\/a, from main/],
  ['workspace release p a', 0, /branch ticket\/p\/a still exists/],
  ['run p', 0, /1 of 1 done/],
  ['logs p', 0, /✓ a complete/],
  ['diff p a', 0, /work-a\.txt/],
  ['sessions p a', 0, /no sessions/],
  ['resume-session p a', 2, /p\/a has no session yet\./],
  ['merge p --dry-run', 0, /1\. p\/a +ticket\/p\/a/],
  ['integrate p a', 0, /is now at/],
  ['tick', 0, /b needs attention/],
  ['pause-plan q', 0, /Plan q is paused\./],
  ['resume-plan q', 0, /Plan q is active\./],
  ['stop q', 0, /Plan q is paused\./],
  ['resume q', 0, /Plan q is active/],
  ['pause q b', 0, /q\/b is paused/],
  ['resume q b', 0, /q\/b is/],
  ['skip q b ask', 0, /q\/b is/],
  ['tick', 0, /b needs attention/],
  ['respond q b no', 0, /q\/b is/],
  ['retry q b', 0, /q\/b is ready/],
  ['cancel q b --yes', 0, /Plan q is cancelled and archived\./],
  ['report', 0, /^Signalbox report, the last 12 hours/],
  ['stats', 0, /No finished runs of issues/],
  ['clean', 0, /branch ticket\/p\/a: p\/a is complete/],
  ['checks', 0, /✓ 1 passed/],
  ['notify test', 1, /No notifications are configured/],
  ['attach', 2, /tmux/],
  ['interactive --dry-run --agent claude', 0, /^claude in /],
  ['daemon status', 1, /No daemon/],
  ['daemon --detach', 0, /Daemon \d+/],
  ['daemon stop', 0, /Daemon \d+ has stopped\./],
  ['spec check .kiro/specs/tea', 0, /Boil water/],
  ['spec .kiro/specs/tea --no-tmux --dry-run', 0, /Would run 1 of 1 units/],
  ['spec tick spec-tea 1', 65, /There is no plan "spec-tea"/],
  ['top', 0, /Running|Done/],
  ['web --port none', 2, /--port/],
  ['fleet init', 2, /address/],
  ['fleet status', 2, /Plans are files here/],
  ['fleet drain w', 2, /Plans are files here/],
  ['fleet remove w', 2, /Plans are files here/],
  ['fleet import p', 2, /Name the store of the fleet/],
  ['fleet export p', 2, /Name the store of the fleet/],
  ['worker', 2, /plans are files here/],
  ['help run', 0, /^Usage: signalbox run/],
];

const FORGE: Row[] = [
  ['forge push p a', 0, /^[0-9a-f]{40}$/m],
  ['forge pr p a', 0, /^https:\/\/github\.com\/acme\/web\/pull\/1$/m],
  ['forge sync p a', 0, /Nothing new was pushed\./],
  ['forge poll p a', 1, /waits for a review/],
  ['forge review p a', 1, /waits for a review/],
  ['forge comment p a --key k --body-file note.md', 0, /^https:/],
  ['forge answer p a', 0, /^https:/],
  ['forge budget', 0, /^github\.com: \d+ of \d+ points left/],
  ['forge merge p a', 0, /^https:/],
];

function leaves(command: Command, name = ''): string[] {
  return command.commands.flatMap((each) => {
    const full = `${name} ${each.name()}`.trim();
    const own = each.commands.length === 0 || ['spec', 'config', 'daemon'].includes(full) ? [full] : [];
    return [...own, ...leaves(each, full)];
  });
}

/** Runs them in order and returns what is not as expected. */
async function wrong(world: World, rows: readonly Row[], env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const found: string[] = [];
  for (const [line, code, prints] of rows) {
    const { out, err, ...ended } = await world.start(line.split(' '), env, world.repo).ended;
    if (ended.code !== code || !prints.test(out || err))
      found.push(`signalbox ${line} ended with ${ended.code}, not ${code} ${prints}:\n${out}${err}`);
  }
  return found;
}

describe.concurrent('the built program', () => {
  it('has a row here for every command', () => {
    const program = createProgram(testIo().io, '1.2.3');
    const lines = [...PLAIN, ...FORGE].map(([line]) => `${line} `);
    expect(leaves(program).filter((name) => !lines.some((line) => line.startsWith(`${name} `)))).toEqual([]);
  });

  it('runs every command', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    expect(await wrong(world, PLAIN)).toEqual([]);
  });

  it('runs every command about pull requests', async ({ world }) => {
    const bench = new Bench(world);
    world.plan('p', { tickets: { a: {} } });
    await bench.work('a');
    writeFileSync(join(world.repo, 'note.md'), 'A note.\n');
    expect(await wrong(world, FORGE, bench.env)).toEqual([]);
  });
});
