import { expect, it } from 'vitest';
import { processLimit } from '../../src/machine/limit-processes-of-sandbox.ts';
import { bubblewrap, type SandboxView } from '../../src/sandbox/bubblewrap-command-line.ts';

const WALLS: SandboxView = {
  bwrap: '/usr/bin/bwrap',
  cwd: '/trees/a',
  network: true,
  hidden: ['/home/me', '/home/me/state', '/trees'],
  readable: [],
  writable: [],
  places: [],
  over: [],
  cgroup: null,
  prlimit: null,
};
const argv = (more: Partial<SandboxView> = {}) =>
  bubblewrap({ ...WALLS, ...more }, ['agent', '-p']).join(' ');

it('hides first, opens then, and runs the command last', () => {
  const line = argv({
    readable: ['/home/me/bin'],
    places: [['/state/home/.claude', '/home/me/.claude']],
    over: [['/x', '/trees/a/.git']],
  });
  const places = [
    '--ro-bind / /',
    '--tmpfs /home/me ',
    '--tmpfs /home/me/state',
    '--ro-bind-try /home/me/bin',
    '--bind /state/home/.claude /home/me/.claude',
    '--bind /trees/a /trees/a',
    '--ro-bind /x /trees/a/.git',
    '-- agent -p',
  ].map((part) => line.indexOf(part));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places).not.toContain(-1);
});

it.each<[string, boolean]>([
  ['/home/me/bin', true],
  ['/tmp/tools', true],
  ['/dev/shm/tools', true],
  ['/dev/shm', false],
  ['/usr/bin', false],
  ['/', false],
  ['/home', false],
  ['/home/me', false],
  ['/home/mean/bin', false],
])('%s is shown again: %s', (path, shown) => {
  expect(argv({ readable: [path] }).includes(`--ro-bind-try ${path} ${path} `)).toBe(shown);
});

it('takes the network away and bounds processes when it is told so', () => {
  expect(argv()).not.toContain('--unshare-net');
  expect(argv({ network: false })).toContain('--unshare-net');
  expect(argv({ prlimit: { command: '/usr/bin/prlimit', processes: 9 } })).toMatch(
    / --unshare-user .* -- \/usr\/bin\/prlimit --nproc=9 -- agent -p$/,
  );
  expect(bubblewrap({ ...WALLS, cgroup: '/group' }, ['x']).slice(3, 6)).toEqual([
    'signalbox-join',
    '/group',
    '/usr/bin/bwrap',
  ]);
});

it.each([
  ['6.18.44-x', 40],
  ['5.14.0', 40],
  ['5.10.0-28-amd64', 47],
  ['4.18.0', 47],
])('counts others where the kernel %s does', (kernel, limit) => {
  expect(processLimit(40, kernel, () => 7)).toBe(limit);
});
