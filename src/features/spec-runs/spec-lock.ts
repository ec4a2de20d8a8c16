import { existsSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EngineContext } from '../../engine/context.ts';
import { cannotWrite } from '../../git/context-and-locks.ts';
import { withLock } from '../../machine/file-lock.ts';
import { makeDirectory } from '../../machine/files/make-directory-and-handle-storage-errors.ts';
import { readJson } from '../../machine/files/read-and-remove-files.ts';
import { writeAtomic } from '../../machine/files/write-atomic-and-note-facts.ts';
import { readJob } from '../../machine/jobs/start-and-read-job.ts';
import { machineIn } from '../../machine/machine-files-and-locks.ts';
import { isAlive } from '../../machine/process-identity-and-signals.ts';
import { HeldError } from '../../model/errors.ts';
import { digest } from '../../model/ids-and-branch-names.ts';
import {
  type Claim,
  LEASE_MS,
  onceLeaseIsOver,
  RENEW_MS,
  sayHolder,
} from '../../model/lease-and-claim-messages.ts';
import type { Plan } from '../../model/plan.ts';
import { type Hold, openAttempt } from '../../model/ticket.ts';
import { openStore } from '../../store/open-file-store-with-schemas.ts';

/** The holder of a spec, for runs that do not share a state directory. */
interface SpecLock extends Claim {
  plan: string;
  stateDir: string;
}

/** Files of the locks that this process holds, by plan. */
const held = new Map<string, { files: string[]; timer: NodeJS.Timeout }>();

/** What has to be free for a plan: its spec, and the branch or checkout that it works in. */
interface SpecPlace {
  name: string;
  dir: string;
  repo: string;
  /** The branch, or the checkout itself. */
  tree: string;
}

export function placeOf(plan: Plan, branch: string | null): SpecPlace | undefined {
  const kept = plan.spec;
  if (!kept || !plan.repo) return undefined;
  return { ...kept, repo: plan.repo, tree: plan.workspace === 'checkout' ? plan.repo : (branch ?? '') };
}

/** Refuses a spec whose directory or tree another run has, also one with another state directory. */
export async function refuseLocked(engine: EngineContext, planId: string, place: SpecPlace): Promise<void> {
  if (engine.store.fleet) return;
  for (const file of await filesOf(engine, place)) refuse(engine, planId, place, file);
}

/**
 * Locks a spec and its tree for this process. Calling it again changes nothing. With `first` the plan does not exist yet, so
 * its claim cannot stop a second run that begins at the same time. On a fleet, the claims in the store are enough.
 */
export async function lockSpec(
  engine: EngineContext,
  planId: string,
  place: SpecPlace,
  { first = false } = {},
): Promise<void> {
  const key = keyOf(engine, planId);
  if (held.has(key) || engine.store.fleet) return;
  const files = await filesOf(engine, place);
  const lock: SpecLock = {
    ...engine.holder.claim(engine.now()),
    plan: planId,
    stateDir: engine.settings.stateDir,
  };
  const taken: string[] = [];
  let dir = '';
  try {
    for (const file of files) {
      dir = dirname(file);
      makeDirectory(dir);
      await withLock(`${file}.lock`, () => {
        refuse(engine, first ? null : planId, place, file);
        writeAtomic(file, `${JSON.stringify(lock)}\n`);
      });
      taken.push(file);
    }
  } catch (error) {
    for (const file of taken) rmSync(file, { force: true });
    throw cannotWrite(dir, error);
  }
  const timer = setInterval(() => renew(files), RENEW_MS);
  timer.unref();
  held.set(key, { files, timer });
}

/** A run with another state directory does not wake this one when it ends. */
const CHECK_MS = 10_000;

/** Locks the spec of a plan for this process, or returns a hold that names the run that has it. */
export async function waitForLock(engine: EngineContext, plan: Plan, branch: string): Promise<Hold | null> {
  const place = placeOf(plan, branch);
  if (!place) return null;
  try {
    await lockSpec(engine, plan.id, place);
    return null;
  } catch (error) {
    if (!(error instanceof HeldError)) throw error;
    const until = new Date(Date.parse(engine.now()) + CHECK_MS).toISOString();
    return { kind: 'blocked', reason: error.message.replace(/\.$/, ''), until, lock: true };
  }
}

export function unlockSpec(engine: EngineContext, planId: string): void {
  const own = held.get(keyOf(engine, planId));
  if (!own) return;
  held.delete(keyOf(engine, planId));
  clearInterval(own.timer);
  for (const file of own.files)
    if (readJson<SpecLock>(file)?.token === engine.holder.token) rmSync(file, { force: true });
}

function keyOf({ holder }: EngineContext, planId: string): string {
  return `${holder.token} ${planId}`;
}

/** Updates the time of locks: other hosts see by it whether a lock is held. */
function renew(files: readonly string[]): void {
  const now = new Date();
  for (const file of files) if (existsSync(file)) utimesSync(file, now, now);
}

async function filesOf({ workspaces }: EngineContext, { dir, repo, tree }: SpecPlace): Promise<string[]> {
  const { commonDir } = await workspaces.checkRepo(repo);
  // A spec may be in another repository than the work.
  const own = await workspaces.checkRepo(dir).catch(() => ({ commonDir }));
  return [
    join(own.commonDir, 'signalbox', `spec-${digest(dir)}.json`),
    join(commonDir, 'signalbox', `tree-${digest(tree)}.json`),
  ];
}

/** Refuses a lock that another run holds. Runs of one plan in one state directory use the plan's claims instead. */
function refuse(engine: EngineContext, planId: string | null, { name }: SpecPlace, file: string): void {
  const lock = readJson<SpecLock>(file);
  if (
    !lock ||
    lock.token === engine.holder.token ||
    (lock.plan === planId && lock.stateDir === engine.settings.stateDir)
  )
    return;
  const where = `Its state is in ${lock.stateDir}.`;
  const there = `SIGNALBOX_STATE_DIR=${lock.stateDir} signalbox`;
  const lease = isAlive(lock) === undefined ? leaseOf(file) : undefined;
  if (lease ?? isAlive(lock))
    throw new HeldError('spec/held', `Spec "${name}" is already being run by ${sayHolder(lock)}.`, {
      hint: `${where} ${lease === undefined ? `Watch it with: ${there} status --plan ${lock.plan}` : onceLeaseIsOver(lease, `${there} resume ${lock.plan}`)}`,
      details: { holder: lock },
    });
  if (!agentLives(lock)) return;
  throw new HeldError('spec/held', `${sayHolder(lock)} is gone, but its agent still works on "${name}".`, {
    hint: `${where} Continue there: ${there} resume ${lock.plan}`,
    details: { holder: lock },
  });
}

function leaseOf(file: string): number {
  const seen = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Math.max(0, seen + LEASE_MS - Date.now());
}

/** Whether an agent of a killed run is still running. */
function agentLives({ stateDir, plan }: SpecLock): boolean {
  if (!existsSync(stateDir)) return false;
  const store = openStore(stateDir, { once: true });
  const machine = machineIn(stateDir);
  return store.tickets(plan).some((ticket) => {
    const open = openAttempt(ticket);
    return open !== undefined && readJob(machine.job(ticket, open)).state === 'running';
  });
}
