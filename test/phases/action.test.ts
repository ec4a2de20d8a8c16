import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { ownIdentity } from '../../src/machine/process-identity-and-signals.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import { git, it, story, type World, waitFor } from '../support/index.ts';
import { within } from '../support/within.ts';

const BUILD = { id: 'build', type: 'agent', prompt: 'Build.', expect: { commits: true }, onSuccess: 'merge' };
const MERGE = { id: 'merge', type: 'action', action: 'integrate', onSuccess: 'done', onFailure: 'help' };
const DONE = { id: 'done', type: 'terminal' };
const HELP = { id: 'help', type: 'terminal', notify: true };

function prepare(world: World, merge: Record<string, unknown> = {}): void {
  world.agent('agent', 'commit');
  world.workflow('work', [BUILD, { ...MERGE, ...merge }, DONE, HELP]);
  world.plan('p', { tickets: { a: {} } });
}

/** Makes merges wait as for one of another process, until the returned function is called. */
function holdMerges(world: World): () => void {
  const lock = join(world.repo, '.git', 'signalbox-merge.lock');
  writeFileSync(lock, JSON.stringify(ownIdentity()));
  return () => rmSync(lock);
}

const jobOf = (world: World) => join(world.stateDir, 'jobs', 'p', 'a', 'merge.1.1');

/** Waits until the action has begun. */
const begun = (world: World) => waitFor('the action', () => existsSync(join(jobOf(world), 'command.json')));

describe.concurrent('an action', () => {
  it('is recorded like a job: output in the log, exit record, captured values', async ({ world }) => {
    prepare(world, { capture: { said: 'stdout', where: 'echo {{ branch }}' } });
    const { code, out, err } = await world.cli('run', 'p');
    expect(code, out + err).toBe(0);
    expect(JSON.parse(readFileSync(join(jobOf(world), 'exit.json'), 'utf8'))).toEqual({ code: 0 });
    expect(existsSync(join(jobOf(world), 'pid'))).toBe(false);
    expect(world.ticket('p', 'a').context).toMatchObject({
      said: expect.stringMatching(
        /^signalbox\/main is now at [0-9a-f]{10}\.\nTo bring it into your checkout: git /,
      ),
      where: 'ticket/p/a',
    });
    const log = await world.cli('logs', 'p', 'a', '--phase', 'merge');
    expect(log.out).toContain('signalbox/main is now at');
  });

  it('that fails says why, and its output is in the next prompt', async ({ world }) => {
    prepare(world);
    world.agent(
      'agent',
      `[ $SIGNALBOX_PHASE = build ] || exit 0
echo theirs > README.md; git commit -qam Theirs; git update-ref refs/heads/signalbox/main HEAD; git reset -q --hard HEAD~
echo ours > README.md; commit`,
    );
    const mend = { id: 'mend', type: 'agent', prompt: 'Mend: {{ feedback }}', onSuccess: 'help' };
    world.workflow('work', [BUILD, { ...MERGE, onFailure: 'mend' }, mend, DONE, HELP]);
    await world.cli('run', 'p');
    const conflict =
      'Conflict with the base in README.md. Merge signalbox/main into ticket/p/a, resolve, and commit.';
    const failed = world.ticket('p', 'a').phaseHistory[1];
    expect(failed).toMatchObject({ outcome: 'failure', error: { class: 'exit', message: conflict } });
    const prompt = join(world.stateDir, 'jobs', 'p', 'a', 'mend.1.1', 'prompt.md');
    expect(readFileSync(prompt, 'utf8')).toContain(`Mend: ${conflict}`);
  });

  it('is refused where only a person can help, and not tried again', async ({ world }) => {
    prepare(world, { retry: { max: 3, delaySeconds: 3600 }, on: { refused: 'help' }, onFailure: 'done' });
    git(world.repo, 'branch', 'signalbox/main');
    git(world.repo, 'worktree', 'add', '--quiet', join(world.dir, 'busy'), 'signalbox/main');
    await world.cli('run', 'p');
    expect(story(world.ticket('p', 'a'))).toEqual(['build success', 'merge failure']);
    expect(world.ticket('p', 'a')).toMatchObject({
      status: 'needs_attention',
      currentPhase: 'help',
      phaseHistory: [
        {},
        { error: { class: 'refused', message: expect.stringContaining('is checked out in') } },
      ],
    });
  });

  it.runIf(existsSync('/dev/full'))(
    'that finds the disk full waits in its attempt, and nothing else is done instead',
    async ({ world }) => {
      prepare(world, { maxRetries: 0 });
      const log = join(world.repo, '.git', 'logs', 'refs', 'heads', 'signalbox', 'main');
      mkdirSync(dirname(log), { recursive: true });
      symlinkSync('/dev/full', log);
      const run = world.invoke(['run', 'p']);
      const isHeld = ({ hold, claim }: Ticket) => hold?.kind === 'shortage' && claim === null;
      const held = await world.reaches('p', 'a', isHeld);
      expect(held).toMatchObject({ status: 'ready', currentPhase: 'merge', retries: {}, error: null });
      expect(held.hold?.reason).toMatch(
        /^the disk is full: git update-ref failed: .*signalbox\/main.*No space left/,
      );
      expect(story(held)).toEqual(['build success', 'merge running']);
      rmSync(log);
      const again = new Date().toISOString();
      expect((await world.cli('retry', 'p', 'a')).code).toBe(0);
      const { code, out, err } = await run.ended;
      expect(code, out + err).toBe(0);
      expect(story(world.ticket('p', 'a'))).toEqual(['build success', 'merge success']);
      // The wait is no part of the work.
      expect((world.ticket('p', 'a').phaseHistory[1]?.startedAt ?? '') >= again).toBe(true);
    },
  );

  it('ends at its timeout, and does nothing afterwards', async ({ world }) => {
    prepare(world, { timeoutSeconds: 0.5, on: { timeout: 'help' } });
    const release = holdMerges(world);
    const { code } = await world.cli('run', 'p');
    expect(code).toBe(1);
    expect(world.ticket('p', 'a').phaseHistory[1]).toMatchObject({
      outcome: 'timeout',
      error: { class: 'timeout', message: 'took longer than 0.5 s' },
    });
    release();
    expect(git(world.repo, 'branch', '--list', 'signalbox/main')).toBe('');
  });

  it.for(['pause', 'SIGINT'] as const)(
    'is stopped by %s within seconds, and repeated later',
    async (how, { world }) => {
      prepare(world);
      const release = holdMerges(world);
      const run = world.invoke(['run', 'p']);
      await begun(world);
      const began = performance.now();
      if (how === 'pause') expect((await world.cli('pause', 'p', 'a')).code).toBe(0);
      else await run.kill('SIGINT');
      expect(performance.now() - began).toBeLessThan(within(5_000));
      await run.ended;
      expect(world.ticket('p', 'a')).toMatchObject({ status: 'paused', claim: null });
      expect(story(world.ticket('p', 'a'))).toEqual(['build success', 'merge interrupted']);
      release();
      expect(git(world.repo, 'branch', '--list', 'signalbox/main')).toBe('');
      const resumed = how === 'pause' ? ['resume', 'p', 'a'] : ['resume-plan', 'p'];
      expect((await world.cli(...resumed)).code).toBe(0);
      await world.cli('resume', 'p', 'a');
      const { code, out, err } = await world.cli('run', 'p');
      expect(code, out + err).toBe(0);
      expect(story(world.ticket('p', 'a'))).toEqual(['build success', 'merge interrupted', 'merge success']);
    },
  );

  it('does not hold up other tickets of the same engine', async ({ world }) => {
    prepare(world);
    world.workflow('quick', [{ ...BUILD, onSuccess: 'done' }, DONE]);
    world.plan('p', { tickets: { a: {}, b: { workflow: 'quick' } } });
    const release = holdMerges(world);
    const run = world.invoke(['run', 'p']);
    await begun(world);
    await world.reaches('p', 'b', 'complete');
    release();
    expect((await run.ended).code).toBe(0);
  });

  it('is replaced by a script of its name in the user’s directory, with the arguments of the bundled one', async ({
    world,
  }) => {
    world.script('setup-worktree.sh', `echo "$@" > ${world.dir}/given`);
    world.workflow('work', [{ id: 'setup', type: 'action', action: 'setup-worktree' }]);
    world.plan('p', { tickets: { a: {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    const [repo, branch, worktree] = world.read('given').trim().split(' ');
    expect({ repo, branch }).toEqual({ repo: world.repo, branch: 'ticket/p/a' });
    expect(worktree).toContain('ticket/p/a');
  });
});

it('a ticket of local starts no node of ours besides the run', async ({ world }) => {
  const log = join(world.dir, 'nodes');
  const preload = join(world.dir, 'preload.cjs');
  writeFileSync(
    preload,
    `require('fs').appendFileSync(${JSON.stringify(log)}, process.argv.slice(1).join(' ') + '\\n')`,
  );
  world.agent(
    'agent',
    `[ $SIGNALBOX_PHASE = implement ] && commit
echo '<signalbox>{"outcome":"pass","summary":"Done.","findings":[]}</signalbox>'`,
  );
  world.config({ defaultWorkflow: 'local', checks: ['test -e README.md'] });
  world.plan('p', { tickets: { a: {} } });
  const env = { NODE_OPTIONS: `--require ${preload}` };
  const { code, out, err } = await world.start(['run', 'p'], env).ended;
  expect(code, out + err).toBe(0);
  const phases = ['setup', 'implement', 'checks', 'self_review', 'integrate', 'cleanup'];
  expect(story(world.ticket('p', 'a'))).toEqual(phases.map((phase) => `${phase} success`));
  expect(world.read('nodes').trim().split('\n')).toEqual([expect.stringMatching(/ run p$/)]);
  // A script that calls the command line is seen: the count above is no accident.
  world.script('checks.sh', '"$SIGNALBOX_NODE" "$SIGNALBOX_CLI" checks');
  world.plan('q', { tickets: { b: {} } });
  expect((await world.start(['run', 'q'], env).ended).code).toBe(0);
  expect(world.read('nodes').trim().split('\n')).toHaveLength(3);
});
