import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FleetWorld } from '../support/fleet.ts';

/** Notes how it was called and what its home has, and remembers the call in a session file, as Claude Code does. */
const CLI = `if [ "$1" = --version ]; then echo 99.0.0; exit; fi
cat > /dev/null
{ echo "$SIGNALBOX_PHASE: $*"; cat ~/.claude/projects/own/s-1.jsonl 2>&1; cat ~/.claude/.credentials.json; } >> report.txt
mkdir -p ~/.claude/projects/own; echo "{\\"said\\":\\"in $SIGNALBOX_PHASE\\",\\"key\\":\\"ghp_0123456789012345678901234567890123456789\\"}" >> ~/.claude/projects/own/s-1.jsonl
git add --all; git commit -qm "Work of $SIGNALBOX_PHASE"
echo '{"type":"system","subtype":"init","session_id":"s-1"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s-1"}'`;

it('the session of a sandboxed agent continues on another machine, without logins and secrets', async () => {
  const fleet = await FleetWorld.open();
  const { world, database } = fleet;
  const program = join(world.dir, 'bin', 'claude');
  writeFileSync(program, `#!/bin/sh\n${CLI}\n`, { mode: 0o755 });
  const agent = { adapter: 'claude', command: program, sandbox: 'bwrap' };
  world.config({ defaultAgent: 'agent', agents: { agent } });
  const user = join(world.dir, 'user', '.claude');
  mkdirSync(user, { recursive: true });
  const logIn = (name: string) => writeFileSync(join(user, '.credentials.json'), `{"login":"${name}"}\n`);
  const phase = { type: 'agent', prompt: 'Do it.', session: 'continue' };
  world.workflow('work', [
    { ...phase, id: 'build', onSuccess: 'decide' },
    { id: 'decide', type: 'gate', on: { go: 'polish' } },
    { ...phase, id: 'polish' },
  ]);
  world.plan('p', { repo: 'acme/scratch', tickets: { a: {} } });
  await fleet.upload('p');
  // Worktrees have the same path on both machines.
  const trees = join(world.dir, 'trees');
  const homes = [fleet.machineWithClone(), fleet.machineWithClone()] as const;
  for (const home of homes) {
    const file = join(home, 'config.yaml');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), worktreeRoot: trees }));
  }

  logIn('first');
  const first = await fleet.worker(homes[0]);
  await fleet.reaches('p', 'a', 'needs_attention');
  await first.kill('SIGINT');
  const [row] = await database.query<{ agent: string; session: string }>(
    'select agent, session from signalbox.sessions',
  );
  expect(row).toEqual({ agent: 'agent', session: 's-1' });
  // The other machine has neither its worktree nor its login.
  rmSync(trees, { recursive: true });
  logIn('other');
  const other = await fleet.worker(homes[1]);
  expect(await fleet.cli('respond', 'p', 'a', 'go')).toMatchObject({ code: 0 });
  await fleet.reaches('p', 'a', 'complete');
  const { stdout } = { stdout: (await fleet.cli('diff', 'p', 'a')).out };
  const polish = stdout.slice(stdout.indexOf('polish:'));
  expect(polish).toContain('--resume s-1');
  expect(polish).toContain('in build');
  expect(polish).toContain('"login":"other"');
  expect(polish).not.toMatch(/"login":"first"|ghp_0123/);
  await other.kill('SIGINT');
});
