import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

/**
 * The supervisor of every job: plain sh, so that it starts in a millisecond and has nothing that can fail.
 * It leads its own session, notes who it is, runs the command in the foreground (a background one would ignore
 * SIGINT), lives through the signals meant for the command, and leaves the exit record last. `exec` in a subshell
 * makes the command a program whatever its name, never a word of the shell.
 * Its files are for their owner alone; the command gets back the umask it would have had.
 * A record counts only when its closing brace and newline are there, so half a write is no record.
 */
export const SUPERVISOR = `
d=$1; in=$2; u=$3; shift 3
umask 077
trap : TERM INT HUP QUIT
field20() { shift 19; t=$1; }
if [ -r /proc/$$/stat ]; then read -r s < /proc/$$/stat; field20 \${s##*) }; else t=$(ps -o lstart= -p $$); fi
printf '%s\\n%s\\n' "$$" "$t" > "$d/pid"
(exec < "$in" > "$d/stdout" 2> "$d/stderr"; umask "$u"; exec "$@")
c=$?
printf '{"code":%d}\\n' "$c" > "$d/exit.json"
`;

const OWN = '/proc/self/fd';
/** Set on every file that Node itself opens. */
const CLOSED_ON_EXEC = 0o2000000;
const room = Buffer.alloc(64);

/**
 * Files that the parent of this process left open, such as a lock or a directory, would reach what it starts: a way around
 * the walls of a sandbox. Node takes care of the first few alone, and elsewhere than on Linux of all.
 */
function inheritedFiles(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync(OWN)
    .map(Number)
    .filter((fd) => fd > 2 && !closesOnExec(fd));
}

let inherited: number[] | undefined;

/** Starts something whose three usual files are as empty as every other that it would have inherited. */
export function withoutInherited<T>(start: (stdio: ('ignore' | number)[]) => T): T {
  // What comes later is opened by Node, which closes it for those it starts.
  inherited ??= inheritedFiles();
  const stdio = Array.from({ length: Math.max(2, ...inherited) + 1 }, (): 'ignore' | number => 'ignore');
  if (inherited.length === 0) return start(stdio);
  const nothing = openSync('/dev/null', 'r+');
  try {
    for (const fd of inherited) stdio[fd] = nothing;
    return start(stdio);
  } finally {
    closeSync(nothing);
  }
}

function closesOnExec(fd: number): boolean {
  let info: number | undefined;
  try {
    info = openSync(`${OWN}info/${fd}`, 'r');
    const text = room.toString('latin1', 0, readSync(info, room));
    const flags = /^flags:\s*([0-7]+)/m.exec(text)?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) !== 0;
  } catch (error) {
    // The listing itself was open while it was read.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  } finally {
    if (info !== undefined) closeSync(info);
  }
}
