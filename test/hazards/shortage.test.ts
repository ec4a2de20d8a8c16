import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { readText } from '../../src/machine/files/read-and-remove-files.ts';
import { shortageOf } from '../../src/model/errors.ts';
import type { Ticket } from '../../src/model/ticket.ts';
import { shell } from '../cli/support.ts';
import { it, story, type World } from '../support/index.ts';

const UNSHARE = process.getuid?.() === 0 ? 'unshare --mount' : 'unshare --map-root-user --mount';
const mayMount = spawnSync('/bin/sh', ['-c', `${UNSHARE} mount -t tmpfs none /mnt`]).status === 0;
const isHeld = ({ hold, claim }: Ticket) => hold?.kind === 'shortage' && claim === null;

/** Mounts a disk that is full, runs the plan, and makes room when it is asked to. */
const ON_FULL_DISK = `
mount -t tmpfs -o size=64k none disk || exit
head -c 1m /dev/zero > disk/ballast 2> /dev/null
$SIGNALBOX run p & run=$!
until [ -e room ]; do [ -d disk ] || exit; sleep 0.1; done
rm disk/ballast
mount -o remount,size=64m disk
$SIGNALBOX retry p a
wait $run
`;

/** Mounts disks for worktrees and for the repository, and fills and clears them when it is asked to. */
const ON_SMALL_DISKS = `
until_there() { until [ -e $1 ]; do [ -d go ] || exit; sleep 0.1; done; }
mount -t tmpfs -o size=256k none worktrees || exit
head -c 400k /dev/urandom > repo/big
git -C repo add big && git -C repo commit -q -m Big || exit
cp -a repo/. disk && mount -t tmpfs -o size=8m none repo && cp -a disk/. repo || exit
$SIGNALBOX run p & run=$!
until_there room-for-worktrees
mount -o remount,size=8m worktrees
until_there fill-repository
dd if=/dev/zero of=repo/ballast bs=512 2> /dev/null
touch go/a
until_there room-in-repository
rm repo/ballast
wait $run
`;

/** Mounts a disk, runs the plan, and makes room when it is asked to. */
const ON_DISK_THAT_FILLS = `
mount -t tmpfs -o size=4m none disk || exit
$SIGNALBOX run p & run=$!
until [ -e room ]; do [ -d disk ] || exit; sleep 0.1; done
rm disk/ballast
$SIGNALBOX retry p a
wait $run
`;

/** Fills the disk of the repository, merges, runs the plan, and makes room when it is asked to. */
const ON_FULL_REPOSITORY = `
mkdir -p repo/spec && echo '- [ ] 1. A' > repo/spec/tasks.md
git -C repo add spec && git -C repo commit -q -m Spec || exit
cp -a repo/. disk && mount -t tmpfs -o size=8m none repo && cp -a disk/. repo || exit
$SIGNALBOX run done > done.out 2>&1 || exit
dd if=/dev/zero of=repo/ballast bs=512 2> /dev/null
$SIGNALBOX merge done
$SIGNALBOX spec repo/spec --backend agent
$SIGNALBOX run p & run=$!
until [ -e room ]; do [ -d disk ] || exit; sleep 0.1; done
rm repo/ballast
$SIGNALBOX retry p a
wait $run
`;

const BUILD = { id: 'build', type: 'agent', prompt: 'Build.', maxRetries: 0 };
const CHECKED = [
  { ...BUILD, onSuccess: 'check' },
  { id: 'check', type: 'action', action: 'checks', maxRetries: 0 },
];

/** A shell command that fills the disk and fails, once. */
const FILL = ({ dir }: World) =>
  `[ -e ${dir}/filled ] || head -c 8m /dev/zero > ${dir}/disk/ballast || { touch ${dir}/filled; exit 1; }`;

interface Program {
  who: string;
  work: Record<string, unknown>[];
  agent?: (fill: string) => string;
  config: (fill: string) => Record<string, unknown>;
  held: RegExp;
  before: string[];
  after: string[];
}

const PROGRAMS: readonly Program[] = [
  {
    who: 'an agent',
    work: [BUILD],
    agent: (fill) => `${fill}; commit`,
    config: () => ({}),
    held: /\/disk\/a; build: .*No space left on device/s,
    before: ['build interrupted'],
    after: ['build interrupted', 'build success'],
  },
  {
    who: 'checks',
    work: CHECKED,
    config: (fill) => ({ checks: [fill] }),
    held: /\/disk\/a; check: .*exited with code 1/s,
    before: ['build success', 'check interrupted'],
    after: ['build success', 'check interrupted', 'check success'],
  },
  {
    who: 'a setup command',
    work: [BUILD],
    config: (fill) => ({ hooks: { afterCreate: [`(${fill}) 2> /dev/null`] } }),
    held: /\/disk\/a; The setup command .* ended with exit code 1/s,
    before: [],
    after: ['build success'],
  },
];

async function meetsFullDisk(
  world: World,
  { work, agent, config, held: why, before, after }: Program,
): Promise<void> {
  const fill = FILL(world);
  world.agent('agent', agent?.(fill) ?? 'commit');
  world.workflow('work', work);
  world.config({ baseCheck: 'off', ...config(fill) });
  mkdirSync(join(world.dir, 'disk'));
  world.plan('p', { tickets: { a: { worktree: join(world.dir, 'disk', 'a') } } });
  writeFileSync(join(world.dir, 'run.sh'), ON_DISK_THAT_FILLS);
  const run = shell(world, `exec ${UNSHARE} sh run.sh`);
  const held = await world.reaches('p', 'a', isHeld);
  expect(held).toMatchObject({ status: 'ready', retries: {}, error: null });
  expect(held.hold?.reason).toMatch(/^the disk is full: there is no room for /);
  expect(held.hold?.reason).toMatch(why);
  const isHeldAgain = (ticket: Ticket) => isHeld(ticket) && ticket.hold?.until !== held.hold?.until;
  expect((await world.cli('retry', 'p', 'a')).code).toBe(0);
  expect(story(await world.reaches('p', 'a', isHeldAgain))).toEqual(before);
  writeFileSync(join(world.dir, 'room'), '');
  const ended = await run;
  expect(ended.code, ended.out + ended.err).toBe(0);
  expect(story(world.ticket('p', 'a'))).toEqual(after);
}

const END = { type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: 's' };

describe('a shortage', () => {
  it.skipIf(!mayMount).for(PROGRAMS.slice(0, 1))(
    'of disk that makes $who fail is a wait: it runs again when there is room, and not before',
    (row, { world }) => meetsFullDisk(world, row),
  );
  it.skipIf(!mayMount).for(PROGRAMS.slice(1))(
    'of disk that makes $who fail is a wait: it runs again when there is room, and not before',
    { tags: 'full' },
    (row, { world }) => meetsFullDisk(world, row),
  );

  it.skipIf(!mayMount)(
    'of disk says nothing about the base of the work, whose checks run again',
    {
      tags: 'full',
    },
    async ({ world }) => {
      world.agent('agent', 'commit');
      world.workflow('work', CHECKED);
      mkdirSync(join(world.dir, 'disk'));
      world.config({ baseCheck: 'warn', worktreeRoot: join(world.dir, 'disk'), checks: [FILL(world)] });
      world.plan('p', { tickets: { a: {} } });
      writeFileSync(join(world.dir, 'run.sh'), ON_DISK_THAT_FILLS);
      const run = shell(world, `exec ${UNSHARE} sh run.sh`);
      await world.reaches('p', 'a', isHeld);
      writeFileSync(join(world.dir, 'room'), '');
      const { code, out, err } = await run;
      expect(code, out + err).toBe(0);
      expect(out).toMatch(/the checks of main cannot be run: .* the disk is full/);
      expect(out + err).not.toContain('fail before any work');
      world.plan('q', { tickets: { a: {} } });
      expect((await world.cli('run', 'q')).out).toContain('to run its checks once');
    },
  );

  it.skipIf(!mayMount)(
    'of disk in the repository is a wait before the checks of the base, and merges and specs say why they cannot begin',
    async ({ world }) => {
      world.agent('agent', 'commit');
      world.workflow('work', CHECKED);
      mkdirSync(join(world.dir, 'disk'));
      world.config({ baseCheck: 'warn', checks: ['true'] });
      world.plan('done', { baseCheck: false, tickets: { a: {} } });
      world.plan('p', { tickets: { a: {} } });
      writeFileSync(join(world.dir, 'run.sh'), ON_FULL_REPOSITORY);
      const run = shell(world, `exec ${UNSHARE} sh run.sh`);
      const held = await world.reaches('p', 'a', isHeld);
      expect(held).toMatchObject({ status: 'ready', retries: {}, error: null, phaseHistory: [] });
      writeFileSync(join(world.dir, 'room'), '');
      const { code, out, err } = await run;
      expect(code, out + err).toBe(0);
      expect(out).toMatch(
        /the checks of main cannot be run: Cannot write to the directory \S+: the disk is full/,
      );
      expect(err.match(/❌ Cannot write to the directory \S+: the disk is full\.\n/g)).toHaveLength(2);
      expect(err).not.toContain('ENOSPC');
      expect(story(world.ticket('p', 'a')).at(-1)).toBe('check success');
    },
  );

  it('for which an agent cannot begin is a wait: no attempt is consumed until the model has answered', async ({
    world,
  }) => {
    const fail = 'echo "uv_thread_create: Resource temporarily unavailable" >&2; kill -ABRT $$';
    world.agent('agent', `[ -e ${world.dir}/room ] || { ${fail}; }; commit; echo '${JSON.stringify(END)}'`, {
      adapter: 'claude',
    });
    world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', maxRetries: 0 }]);
    world.plan('p', { tickets: { a: {} } });
    const run = world.invoke(['run', 'p']);
    const held = await world.reaches('p', 'a', isHeld);
    expect(held).toMatchObject({ status: 'ready', retries: {}, error: null });
    expect(held.hold?.reason).toBe(
      'no further process can be started: agent: uv_thread_create: Resource temporarily unavailable',
    );
    writeFileSync(join(world.dir, 'room'), '');
    expect((await world.cli('retry', 'p', 'a')).code).toBe(0);
    expect((await run.ended).code).toBe(0);
    expect(story(world.ticket('p', 'a'))).toEqual(['build interrupted', 'build success']);
  });

  it.skipIf(!mayMount)(
    'of disk for worktrees is a wait: others continue, and no attempt is consumed',
    async ({ world }) => {
      world.agent('agent', 'commit');
      world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', maxRetries: 0 }]);
      const disk = join(world.dir, 'disk');
      mkdirSync(disk);
      world.plan('p', {
        tickets: { a: { worktree: join(disk, 'a') }, b: { worktree: join(world.dir, 'elsewhere', 'b') } },
      });
      writeFileSync(join(world.dir, 'run.sh'), ON_FULL_DISK);
      const run = shell(world, `exec ${UNSHARE} sh run.sh`);
      const held = await world.reaches('p', 'a', isHeld);
      expect(held).toMatchObject({ status: 'ready', retries: {}, error: null, phaseHistory: [] });
      expect(held.hold?.reason).toMatch(/^the disk is full: .*No space left on device/s);
      expect(Date.parse(held.hold?.until ?? '') - Date.parse(held.hold?.since ?? '')).toBe(5_000);
      await world.reaches('p', 'b', 'complete');
      expect((await world.cli('status', '--plan', 'p')).out).toContain('the disk is full');
      writeFileSync(join(world.dir, 'room'), '');
      const ended = await run;
      expect(ended.code, ended.out + ended.err).toBe(0);
      expect(story(world.ticket('p', 'a'))).toEqual(['build success']);
    },
  );

  it.skipIf(!mayMount)(
    'of disk in the middle of a checkout, or at a merge, is a wait that ends by itself',
    { tags: 'full' },
    async ({ world }) => {
      world.agent('agent', 'commit; note built; go');
      const merge = { id: 'merge', type: 'action', action: 'integrate', onSuccess: 'done' };
      const build = { id: 'build', type: 'agent', prompt: 'Build.', maxRetries: 0, onSuccess: 'merge' };
      world.workflow('work', [build, merge, { id: 'done', type: 'terminal' }]);
      for (const name of ['worktrees', 'disk']) mkdirSync(join(world.dir, name));
      world.plan('p', { tickets: { a: { worktree: join(world.dir, 'worktrees', 'a') } } });
      writeFileSync(join(world.dir, 'run.sh'), ON_SMALL_DISKS);
      const run = shell(world, `exec ${UNSHARE} sh run.sh`);
      const half = await world.reaches('p', 'a', isHeld);
      expect(half).toMatchObject({ retries: {}, error: null, phaseHistory: [] });
      expect(half.hold?.reason).toMatch(
        /^the disk is full: Cannot create the worktree \S+\/worktrees\/a: git switch failed/,
      );
      writeFileSync(join(world.dir, 'room-for-worktrees'), '');
      await world.call('built');
      writeFileSync(join(world.dir, 'fill-repository'), '');
      const at = (phase: string) => (ticket: Ticket) => ticket.currentPhase === phase && isHeld(ticket);
      const held = await world.reaches('p', 'a', at('merge'));
      expect(held.hold?.reason).toMatch(/^the disk is full: .*\.git\//);
      expect(story(held)).toEqual(['build success', 'merge running']);
      expect((await world.cli('status', '--plan', 'p')).out).toContain('the disk is full');
      writeFileSync(join(world.dir, 'room-in-repository'), '');
      const ended = await run;
      expect(ended.code, ended.out + ended.err).toBe(0);
      expect(story(world.ticket('p', 'a'))).toEqual(['build success', 'merge success']);
    },
  );

  it('of open files is never reported as a missing git', { tags: 'full' }, async ({ world }) => {
    // How many files are open before git is started is not known.
    const limits = [28, 27, 26, 25, 24, 23, 22, 21, 20];
    world.agent('agent', 'commit');
    world.workflow('work', [BUILD]);
    for (const limit of limits) world.plan(`p${limit}`, { tickets: { a: {} } });
    const { out } = await shell(
      world,
      `for n in ${limits.join(' ')}; do (
         ulimit -n $n; $SIGNALBOX doctor; $SIGNALBOX run p$n > run.$n 2>&1 & run=$!
         until grep -q "too many files" run.$n || ! kill -0 $run; do sleep 0.05; done
         kill $run; wait $run
       ) 2> /dev/null; done; cat run.*`,
    );
    expect(out).toMatch(/git +\S+\/git spawn \S+ EMFILE/);
    expect(out).toContain('waits until');
    expect(out).not.toMatch(/Install git|❌ git cannot be started/);
  });

  it.runIf(process.platform === 'linux')(
    'of open files in a running engine is a wait: nothing fails, and finished work is not done again',
    {
      tags: 'full',
    },
    async ({ world }) => {
      world.agent('agent', 'note working; go; commit');
      world.config({ maxConcurrency: 1 });
      world.workflow('work', [{ id: 'build', type: 'agent', prompt: 'Build.', maxRetries: 0 }]);
      world.plan('p', { tickets: { a: {}, b: {} } });
      const run = world.start(['run', 'p', '--plain']);
      await world.call('working');
      const open = readdirSync(`/proc/${run.pid}/fd`).map(Number);
      // Those that it inherited may have any number.
      const own = open.filter((fd) => fd < 2 * open.length).sort((a, b) => a - b);
      const allow = (files: number) =>
        expect(spawnSync('prlimit', ['--pid', String(run.pid), `--nofile=${files}:`]).status).toBe(0);
      allow(own.at(-8) ?? 0);
      world.go();
      await run.says('too many files are open');
      await world.call('end');
      allow(1024);
      const { code, out, err } = await run.ended;
      expect(code, out + err).toBe(0);
      expect(out + err).not.toContain('✗ build');
      expect(world.calls('start', { ticket: 'p/a' })).toHaveLength(1);
      expect(story(world.ticket('p', 'a'))).toEqual(['build success']);
      expect(story(world.ticket('p', 'b')).at(-1)).toBe('build success');
    },
  );

  it('is recognized by what the system or git says', () => {
    for (const [said, what] of [
      ['spawn git EMFILE', 'too many files are open'],
      ['spawn /bin/sh EAGAIN', 'no further process can be started'],
      ['sh: 0: Cannot fork', 'no further process can be started'],
      ['ENOMEM: not enough memory, read', 'there is not enough memory'],
      ["{ errno: -24, code: 'EMFILE', syscall: 'open' }", 'too many files are open'],
      ['npm error code ENOSPC', 'the disk is full'],
      [
        "Error: ENOSPC: System limit for number of file watchers reached, watch '/a'",
        'no further file can be watched',
      ],
      [' ERR_PNPM_ENOSPC  ENOSPC: no space left on device, write', 'the disk is full'],
      ['fatal: Out of memory, malloc failed', 'there is not enough memory'],
      ['error: unable to write file x: No space left on device', 'the disk is full'],
      ['error: unable to write file x', 'the disk is full'],
      ['fatal: unable to write new index file', 'the disk is full'],
    ] as const) {
      const cause = Object.assign(new Error('git switch failed'), { stderr: said });
      for (const error of [new Error(said), cause, new Error('outer', { cause })])
        expect(shortageOf(error)).toMatch(new RegExp(`^${what}: `));
    }
    for (const [raw, plain] of [
      ["EMFILE: too many open files, scandir '/s/plans'", "too many files are open: cannot read '/s/plans'"],
      ['spawn /bin/sh EMFILE', 'too many files are open: /bin/sh cannot be started'],
      ['git cannot be started: spawn git EMFILE.', 'too many files are open: git cannot be started.'],
      ['ENOSPC: no space left on device, write', 'the disk is full: cannot write'],
    ] as const)
      expect(shortageOf(new Error(raw))).toBe(plain);
    for (const other of [
      'fatal: not a git repository',
      'error: unable to write file x: Permission denied',
      'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
      'The base branch fix-EMFILE does not exist.',
      'There is no workflow "ENOSPC".',
      '/worktrees/EAGAIN: not empty',
      'error: could not apply 1234567... Handle ENOMEM in the cache',
    ])
      expect(shortageOf(new Error(other))).toBeUndefined();
  });

  it('is none because of the name of a file', async ({ world }) => {
    const name = 'fix-enospc-emfile-eagain-enomem-no space left on device';
    const missing = await readFile(join(world.dir, name, 'a')).catch((error: unknown) => error);
    expect(missing).toMatchObject({ code: 'ENOENT', message: expect.stringContaining(name) });
    expect(shortageOf(missing)).toBeUndefined();
    expect(shortageOf(new Error('outer', { cause: missing }))).toBeUndefined();
    expect(readText(join(world.dir, name))).toBeUndefined();

    world.agent('agent', 'commit');
    world.workflow('work', [BUILD]);
    world.plan('p', { tickets: { 'fix-enospc': {} } });
    expect((await world.cli('run', 'p')).code).toBe(0);
  });
});
