import { readFileSync, rmSync } from 'node:fs';
import { writeAtomic } from '../machine/files/atomic.ts';
import { makeDirectory } from '../machine/files/directory.ts';
import { asStorageError } from '../machine/files/storage-error.ts';
import { withLock } from '../machine/lock.ts';
import { type Claim, sayHolder } from '../model/claim.ts';
import { HeldError } from '../model/errors.ts';
import type { Holder } from './claims.ts';
import type { Layout } from './layout.ts';

/** The daemon of a state directory, if one is alive. */
export function readDaemon(layout: Layout, holder: Holder): Claim | undefined {
  const found = read(layout);
  return found && holder.isLive(found) ? found : undefined;
}

function read(layout: Layout): Claim | undefined {
  try {
    return JSON.parse(readFileSync(layout.daemon, 'utf8')) as Claim;
  } catch {
    return undefined;
  }
}

/** There is one seat for a daemon; whoever comes second is told who sits in it. */
export async function takeSeat(layout: Layout, holder: Holder, now: string): Promise<Claim> {
  try {
    makeDirectory(layout.locks);
    return await withLock(layout.lock('daemon'), () => sit(layout, holder, now));
  } catch (error) {
    throw asStorageError(error, layout.root);
  }
}

function sit(layout: Layout, holder: Holder, now: string): Claim {
  const sitting = readDaemon(layout, holder);
  if (sitting) {
    throw new HeldError('daemon/held', `A daemon already runs here: ${sayHolder(sitting)}.`, {
      hint: 'Stop it with: signalbox daemon stop',
      details: { holder: sitting },
    });
  }
  const claim = holder.claim(now);
  writeAtomic(layout.daemon, `${JSON.stringify(claim)}\n`);
  return claim;
}

export async function leaveSeat(layout: Layout, holder: Holder): Promise<void> {
  await withLock(layout.lock('daemon'), () => {
    if (read(layout)?.token === holder.token) rmSync(layout.daemon, { force: true });
  });
}
