import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

const OWN = '/proc/self/fd';
/** Set on every file that Node itself opens. */
const CLOSED_ON_EXEC = 0o2000000;
const room = Buffer.alloc(64);

/**
 * Files that whoever started this process left open, a lock or a directory, would reach what it starts: a way around
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
