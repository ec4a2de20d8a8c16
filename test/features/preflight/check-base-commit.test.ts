import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { IssueWorld } from '../../cli/issue-world.ts';
import { git, it, type World, waitFor, worktreesOf } from '../../support/index.ts';
import { tasks, withoutWaits, writeSpec } from '../spec-runs/support.ts';

const WORK = [
  {
    id: 'build',
    type: 'agent',
    prompt: 'Build.{% if base_failures %} Already failing: {{ base_failures }}{% endif %}',
    onSuccess: 'verify',
  },
  { id: 'verify', type: 'action', action: 'checks' },
];

/** A check that notes where it ran, and fails where there is a file called BROKEN. */
function prepare(world: World, more: Record<string, unknown> = {}): void {
  const check = `echo "$PWD" >> ${world.dir}/checked; test ! -e BROKEN || { echo it is broken; exit 3; }`;
  world.config({ baseCheck: 'warn', checks: [check], ...more });
  world.agent('agent', 'rm -f BROKEN; commit');
  world.workflow('work', WORK);
  world.plan('p', { tickets: { a: {} } });
}

function breakBase(world: World): void {
  writeFileSync(join(world.repo, 'BROKEN'), '');
  git(world.repo, 'add', '--all');
  git(world.repo, 'commit', '--quiet', '--message=Break it');
}

const checked = (world: World) => (world.exists('checked') ? world.read('checked').trim().split('\n') : []);
/** How often a worktree of no ticket was checked. */
const onBase = (world: World) => checked(world).filter((path) => path.includes('/.train/')).length;

describe.concurrent('the checks of a base', () => {
  it('run once for each commit, and leave nothing behind', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    world.plan('q', { tickets: { a: {} } });
    const first = await world.cli('run', 'p');
    expect(first.code, first.out + first.err).toBe(0);
    expect(first.out).toMatch(/· p: preparing main \([0-9a-f]{7}\) to run its checks once/);
    expect(onBase(world)).toBe(1);
    expect((await world.cli('run', 'q')).out).not.toContain('to run its checks');
    expect(onBase(world)).toBe(1);
    expect(worktreesOf(world.repo)).toEqual([]);
    expect(existsSync(join(world.worktrees, '.train'))).toBe(false);
    world.plan('r', { tickets: { a: {} } });
    git(world.repo, 'commit', '--quiet', '--allow-empty', '--message=Move');
    await world.cli('run', 'r');
    expect(onBase(world)).toBe(2);
    // Other commands are another question.
    world.config({ checks: ['true'] });
    world.plan('s', { tickets: { a: {} } });
    expect((await world.cli('run', 's')).out).toContain('to run its checks once');
  });

  it('that fail are a warning before the agents start, and given to prompts', async ({ world }) => {
    prepare(world);
    breakBase(world);
    world.workflow('shipped', [
      { id: 'build', type: 'agent', promptTemplate: 'implement.md', onSuccess: 'verify' },
      { id: 'verify', type: 'action', action: 'checks' },
    ]);
    world.plan('p', { tickets: { a: {}, b: { workflow: 'shipped' } } });
    const { code, out } = await world.cli('run', 'p', '--plain');
    expect(code).toBe(0);
    const lines = out.split('\n');
    const warned = lines.findIndex((line) =>
      /^! p: Base: the checks of main \([0-9a-f]{7}\) fail before any work: /.test(line),
    );
    expect(lines[warned]).toContain('exited with code 3');
    expect(lines.findIndex((line) => line.includes('build started'))).toBeGreaterThan(warned);
    expect(warned).toBeGreaterThan(-1);
    expect(world.promptOf('p', 'a', 'build.1.1')).toMatch(
      /^Build\. Already failing: .*exited with code 3\n\nit is broken$/s,
    );
    expect(world.promptOf('p', 'b', 'build.1.1')).toMatch(
      /<already-failing>\n.*it is broken\n<\/already-failing>/s,
    );
  });

  it('that passed give prompts nothing', { tags: 'full' }, async ({ world }) => {
    prepare(world);
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(world.promptOf('p', 'a', 'build.1.1')).toBe('Build.');
  });

  it('refuse the start with `baseCheck: require`, and run again only when ten minutes are over', async ({
    world,
  }) => {
    prepare(world, { baseCheck: 'require' });
    breakBase(world);
    const { code, err } = await world.cli('run', 'p');
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringMatching(/❌ Base: the checks of main .* fail before any work/),
    });
    expect(err).toContain('--no-base-check');
    expect(world.ticket('p', 'a')).toMatchObject({ status: 'queued', phaseHistory: [] });
    expect(git(world.repo, 'branch', '--format=%(refname:short)')).toBe('main');
    expect(worktreesOf(world.repo)).toEqual([]);
    expect(world.events('p')).toEqual([]);
    expect(onBase(world)).toBe(1);
    expect(err).toMatch(/They ran at \d\d:\d\d:\d\d and run again ten minutes later\./);
    const again = await world.cli('run', 'p');
    expect(again).toMatchObject({ code: 2, err });
    expect(onBase(world)).toBe(1);
    const file = join(world.home, 'state', 'bases', 'results.json');
    const at = new Date(Date.now() - 601_000).toISOString();
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"at": "[^"]+"/, `"at": "${at}"`));
    expect((await world.cli('run', 'p')).code).toBe(2);
    expect(onBase(world)).toBe(2);
  });

  it('are left out with --no-base-check', async ({ world }) => {
    prepare(world, { baseCheck: 'require' });
    breakBase(world);
    expect((await world.cli('run', 'p', '--no-base-check')).code).toBe(0);
    expect(onBase(world)).toBe(0);
  });

  it('are left out where the workflow has no checks, or a ticket skips them', async ({ world }) => {
    prepare(world);
    world.workflow('plain', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    world.plan('p', { tickets: { a: { workflow: 'plain' }, b: { skipPhases: ['verify'] } } });
    expect((await world.cli('run', 'p')).code).toBe(0);
    expect(checked(world)).toEqual([]);
  });

  it('use commands of the repository’s own settings only when it is trusted', { tags: 'full' }, async ({
    world,
  }) => {
    prepare(world, { checks: null });
    mkdirSync(join(world.repo, '.signalbox'));
    const settings = JSON.stringify({ checks: [`echo evil > ${world.dir}/evil`] });
    writeFileSync(join(world.repo, '.signalbox', 'settings.json'), settings);
    git(world.repo, 'add', '--all');
    git(world.repo, 'commit', '--quiet', '--message=Settings');
    await world.cli('run', 'p');
    expect(world.exists('evil')).toBe(false);
    await world.cli('config', 'trust', world.repo);
    world.plan('q', { tickets: { a: {} } });
    const { out, err } = await world.cli('run', 'q');
    expect(world.exists('evil'), out + err).toBe(true);
  });

  it('run before issues and specs, too', { tags: 'full' }, async ({ world }) => {
    prepare(world, { baseCheck: 'require' });
    breakBase(world);
    const issues = new IssueWorld(world).write('a.md', '# A\n');
    const run = await issues.cli('run', 'a.md', '--no-pr', '--phases', 'exec');
    expect(run).toMatchObject({ code: 2, err: expect.stringContaining('❌ Base: ') });
    const dir = writeSpec(world, tasks('One'));
    const spec = await world.cli('spec', dir);
    expect(spec).toMatchObject({ code: 5, err: expect.stringContaining('❌ Base: ') });
    expect(git(world.repo, 'branch', '--format=%(refname:short)')).toBe('main');
    withoutWaits(world);
    world.agent('agent', 'exit 1');
    const before = onBase(world);
    const skipped = await world.cli(
      'spec',
      dir,
      '--no-tmux',
      '--no-base-check',
      '--delay',
      '0',
      '--max-attempts',
      '1',
    );
    expect(skipped).toMatchObject({ code: 2, err: expect.not.stringContaining('Base: ') });
    expect(onBase(world)).toBe(before);
  });

  it('in a daemon, hold the plan alone and stop with it', async ({ world }) => {
    prepare(world, { baseCheck: 'require', pollInterval: 0.2 });
    breakBase(world);
    world.workflow('plain', [{ id: 'build', type: 'agent', prompt: 'Build.' }]);
    world.plan('good', { tickets: { a: { workflow: 'plain' } } });
    const daemon = world.invoke(['daemon']);
    await world.reaches('good', 'a', 'complete');
    const { hold } = await world.reaches('p', 'a', (ticket) => ticket.hold);
    expect(hold).toMatchObject({
      kind: 'broken',
      reason: expect.stringContaining('Base: the checks of main'),
    });
    world.plan('next', { tickets: { a: { workflow: 'plain' } } });
    await world.reaches('next', 'a', 'complete');
    expect(onBase(world)).toBe(1);
    await daemon.kill('SIGTERM');
  });

  it('are stopped by Ctrl-C with all their processes', { tags: 'full' }, async ({ world }) => {
    prepare(world, { checks: [`echo $$ > ${world.dir}/pid; exec sleep 600`] });
    const run = world.start(['run', 'p']);
    const pid = await waitFor('the check', () => Number(world.read('pid')));
    const { code } = await run.kill('SIGINT');
    expect(code).toBe(130);
    await waitFor('the check to end', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
    expect(world.calls('start')).toEqual([]);
    expect(worktreesOf(world.repo)).toEqual([]);
  });
});
