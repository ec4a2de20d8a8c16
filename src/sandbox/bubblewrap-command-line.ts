import { isInside } from '../machine/paths-and-user-home.ts';

/** What a sandboxed process may see of the file system; everything else can be read, but not written. */
export interface SandboxView {
  bwrap: string;
  /** Where it works and may write. */
  cwd: string;
  network: boolean;
  /** Directories that seem empty. */
  hidden: readonly string[];
  /** Of what is hidden, what can be read all the same. */
  readable: readonly string[];
  writable: readonly string[];
  /** Mounts at another path inside than outside: from, to. */
  places: readonly (readonly [string, string])[];
  /** Files and directories that are mounted over others, read-only: from, to. */
  over: readonly (readonly [string, string])[];
  /** Joined before anything else, where processes can be counted. */
  cgroup: string | null;
  /** Maximum number of processes, where they cannot be counted in a group. */
  prlimit: { command: string; processes: number } | null;
}

/** Parts of /proc through which root could still reach the machine. */
const PROC = ['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus'];
/** The sandbox has its own, empty ones of these. */
export const PRIVATE = ['/tmp', '/var/tmp', '/run', '/dev/shm'];
const JOIN = 'echo $$ > "$1/cgroup.procs" || exit 125; shift; exec "$@"';

/** The command line that runs another one in the sandbox. Later mounts cover earlier ones, so their order matters. */
export function bubblewrap(view: SandboxView, argv: readonly string[]): string[] {
  const args = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];
  for (const path of PROC) args.push('--ro-bind-try', path, path);
  const hidden = [...PRIVATE, ...view.hidden];
  for (const path of hidden) args.push('--tmpfs', path);
  // Where the names of hosts are looked up on many systems.
  args.push('--ro-bind-try', '/run/systemd/resolve', '/run/systemd/resolve');
  for (const path of view.readable.filter((each) => isOpened(each, hidden)))
    args.push('--ro-bind-try', path, path);
  for (const [from, to] of view.places) args.push('--bind', from, to);
  for (const path of view.writable) args.push('--bind-try', path, path);
  args.push('--bind', view.cwd, view.cwd);
  for (const [from, to] of view.over) args.push('--ro-bind', from, to);
  args.push('--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try');
  if (!view.network) args.push('--unshare-net');
  // Where a limit is set inside, it must not count what runs outside.
  if (view.prlimit) args.push('--unshare-user');
  args.push('--cap-drop', 'ALL', '--die-with-parent', '--chdir', view.cwd, '--');
  const limit = view.prlimit ? [view.prlimit.command, `--nproc=${view.prlimit.processes}`, '--'] : [];
  const inside = [view.bwrap, ...args, ...limit, ...argv];
  return view.cgroup === null ? inside : ['/bin/sh', '-c', JOIN, 'signalbox-join', view.cgroup, ...inside];
}

/** It is inside a hidden path, and showing it shows no hidden path as a whole. */
function isOpened(path: string, hidden: readonly string[]): boolean {
  return hidden.some((each) => isInside(path, each)) && !hidden.some((each) => isInside(each, path));
}
